"""Three threads that are never alike: one sleeps, one waits for a lock, one is busy.

    states.py [SECONDS]

The main thread waits for them in join(). Prints the seconds each thread lived and the processor
time each used, by thread name.
"""
import json
import sys
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
facts = {}


def told(work, name):
    start, cpu_start = time.perf_counter(), time.thread_time()
    work()
    facts[name] = {
        "wall_s": time.perf_counter() - start,
        "cpu_s": time.thread_time() - cpu_start,
    }


def sleep_through():
    time.sleep(SECONDS)


def wait_for_lock():
    held = threading.Lock()
    held.acquire()
    held.acquire(timeout=SECONDS)


def spin():
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        pass


def main():
    threads = [
        threading.Thread(target=told, args=(work, name), name=name)
        for name, work in (("sleeper", sleep_through), ("waiter", wait_for_lock), ("busy", spin))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(facts))


if __name__ == "__main__":
    main()

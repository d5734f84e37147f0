"""64 threads that wait for an event, beside a main thread that is busy. Prints how long, all together.

    idle_threads.py [SECONDS]
"""
import json
import sys
import threading
import time

THREADS = 64
over = threading.Event()
waited_s = []


def wait_for_the_end():
    start = time.perf_counter()
    over.wait()
    waited_s.append(time.perf_counter() - start)


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass
    return time.perf_counter() - start


def main():
    threads = [threading.Thread(target=wait_for_the_end, name=f"idle-{i}") for i in range(THREADS)]
    for thread in threads:
        thread.start()
    spent = spin(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"threads": THREADS, "spin_s": spent, "waited_s": sum(waited_s)}))


if __name__ == "__main__":
    main()

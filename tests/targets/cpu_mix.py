"""Threads that compute with and without the GIL, and sleep in between.

    cpu_mix.py [SECONDS]

Prints the processor time of the whole process so far, as the kernel has it, and of each thread.
"""
import hashlib
import json
import sys
import threading
import time

thread_cpu_s = {}
BLOCK = bytes(1 << 20)


def until_over(work, over_at):
    while time.perf_counter() < over_at:
        work()
    thread_cpu_s[threading.current_thread().name] = time.thread_time()


def hash_a_block():
    hashlib.sha256(BLOCK).digest()


def count_and_sleep():
    for _ in range(20_000):
        pass
    time.sleep(0.002)


def count():
    for _ in range(20_000):
        pass


def main():
    over_at = time.perf_counter() + (float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    work = {"hasher": hash_a_block, "napper": count_and_sleep, "counter": count}
    threads = [
        threading.Thread(target=until_over, args=(function, over_at), name=name)
        for name, function in work.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"cpu_s": time.process_time(), "thread_cpu_s": thread_cpu_s}))


if __name__ == "__main__":
    main()

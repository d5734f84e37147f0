"""Threads that are over at once, one after the other, and then none for a while.

    threads_then_none.py [COUNT [ALONE_S]]

Prints its processor time, and ends at once.
"""
import json
import os
import sys
import threading
import time

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
ALONE_S = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1


def brief_life():
    total = 0
    for i in range(2000):
        total += i


def main():
    for _ in range(COUNT):
        thread = threading.Thread(target=brief_life)
        thread.start()
        thread.join()
    until = time.perf_counter() + ALONE_S
    while time.perf_counter() < until:
        pass
    print(json.dumps({"cpu_s": time.process_time()}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

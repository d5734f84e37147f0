"""Threads that live one millisecond each, or as long as is said, one at a time, all the while.

    brief.py [SECONDS [LIFE_SECONDS]]

Prints how many there were, wall and processor time from the first to the last line of each,
summed, the processor time of their whole lives, and that of the main thread.
"""
import json
import sys
import threading
import time

LIFE_S = float(sys.argv[2]) if len(sys.argv) > 2 else 0.001
lived_s, cpu_s = [], []


def brief_life():
    start, cpu_start = time.perf_counter(), time.thread_time()
    while time.perf_counter() - start < LIFE_S:
        pass
    cpu_s.append(time.thread_time() - cpu_start)
    lived_s.append(time.perf_counter() - start)


def main():
    until = time.perf_counter() + (float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    start = time.perf_counter()
    while time.perf_counter() < until:
        thread = threading.Thread(target=brief_life)
        thread.start()
        thread.join()
    facts = {
        "threads": len(lived_s),
        "lived_s": sum(lived_s),
        "brief_cpu_s": sum(cpu_s),
        "threads_cpu_s": time.process_time() - time.thread_time(),
        "main_cpu_s": time.thread_time(),
        "wall_s": time.perf_counter() - start,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()

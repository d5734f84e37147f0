"""Threads that live a few milliseconds each, four at a time, all the while.

    thread_churn.py [SECONDS]

Prints how many threads there were, the wall and processor time they spent in `brief_life`,
summed, the processor time of their whole lives, and that of the main thread.
"""
import json
import sys
import threading
import time

spent_s, cpu_s = [], []


def brief_life():
    start, cpu_start = time.perf_counter(), time.thread_time()
    while time.perf_counter() - start < 0.002:
        pass
    cpu_s.append(time.thread_time() - cpu_start)
    spent_s.append(time.perf_counter() - start)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    start = time.perf_counter()
    count = 0
    while time.perf_counter() - start < seconds:
        threads = [threading.Thread(target=brief_life, name=f"brief-{i}") for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        count += len(threads)
    facts = {
        "threads": count,
        "brief_s": sum(spent_s),
        "brief_cpu_s": sum(cpu_s),
        "threads_cpu_s": time.process_time() - time.thread_time(),
        "main_cpu_s": time.thread_time(),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()

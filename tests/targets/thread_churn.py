"""Threads that live a few milliseconds each, four at a time, all the while.

    thread_churn.py [SECONDS]

Prints how many threads there were and the wall time they spent in `brief_life`, summed.
"""
import json
import sys
import threading
import time

spent_s = []


def brief_life():
    start = time.perf_counter()
    while time.perf_counter() - start < 0.002:
        pass
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
    print(json.dumps({"threads": count, "brief_s": sum(spent_s)}))


if __name__ == "__main__":
    main()

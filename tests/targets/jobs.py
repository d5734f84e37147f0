"""joblib.Parallel with COUNT workers, each busy in `work`.  jobs.py COUNT"""
import json
import os
import sys
import time

import joblib


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return os.getpid()


def main():
    count = int(sys.argv[1])
    pids = joblib.Parallel(n_jobs=count)(joblib.delayed(work)(0.2) for _ in range(4 * count))
    print(json.dumps({"parent": os.getpid(), "children": sorted(set(pids))}))


if __name__ == "__main__":
    main()

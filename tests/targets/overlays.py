"""One thread that in turn runs with and without the GIL, collects garbage and handles exceptions.

    overlays.py [SECONDS]

Prints the seconds spent in each function, and those spent in the collector as its callbacks say.
"""
import gc
import hashlib
import json
import sys
import time
from collections import Counter

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
TURN_S = 0.02
BLOCK = bytes(1 << 20)
spent_s = Counter()
collected = {"start": 0.0, "sum_s": 0.0}


def on_collection(phase, info):
    if phase == "start":
        collected["start"] = time.perf_counter()
    else:
        collected["sum_s"] += time.perf_counter() - collected["start"]


def spin(seconds=TURN_S):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def hash_without_gil():
    until = time.perf_counter() + TURN_S
    while time.perf_counter() < until:
        hashlib.sha256(BLOCK).digest()


def collect():
    gc.collect()


def handle():
    try:
        raise KeyError("one to handle")
    except KeyError:
        spin()


def failing():
    try:
        raise KeyError("one to handle in a generator")
    except KeyError:
        spin()
        yield


def handle_in_generator():
    for _ in failing():
        pass


def main():
    gc.disable()
    garbage = [[[] for _ in range(10)] for _ in range(20_000)]
    works = [spin, hash_without_gil, collect, handle, handle_in_generator]
    gc.callbacks.append(on_collection)
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        for work in works:
            start = time.perf_counter()
            work()
            spent_s[work.__name__] += time.perf_counter() - start
    print(json.dumps({"spent_s": spent_s, "collected_s": collected["sum_s"], "n": len(garbage)}))


if __name__ == "__main__":
    main()

"""A program whose stack tells the time: in the n-th millisecond it is in the function slot_n.

    slots.py SECONDS

Prints {"start_ns": CLOCK_MONOTONIC of slot 0} and begins.
"""
import json
import sys
import time

SLOT_NS = 1_000_000

clock = time.monotonic_ns


def main():
    count = int(float(sys.argv[1]) * 1000)
    slots = {}
    for i in range(count):
        exec(f"def slot_{i}(until):\n    while clock() < until:\n        pass\n", globals(), slots)
    start_ns = clock()
    print(json.dumps({"start_ns": start_ns}), flush=True)
    for i in range(count):
        slots[f"slot_{i}"](start_ns + (i + 1) * SLOT_NS)


main()

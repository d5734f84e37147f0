"""Two functions in slices of random length, a few tenths of a millisecond; prints when each began.

    slices.py SHARE SECONDS SEED

Prints {"slices": [[begin_ns, in_part], …], "end_ns": …} in CLOCK_MONOTONIC: the truth of any
part of the run.
"""
import json
import random
import sys
import time

clock = time.monotonic_ns
CYCLE_NS = 500_000


def part(until):
    while clock() < until:
        pass


def rest(until):
    while clock() < until:
        pass


def main():
    share, seconds, seed = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    slices = []
    end = clock() + int(seconds * 1e9)
    while clock() < end:
        for function, of_it in ((part, share), (rest, 1 - share)):
            begin = clock()
            slices.append([begin, function is part])
            function(begin + int(rng.expovariate(1) * of_it * CYCLE_NS))
    print(json.dumps({"slices": slices, "end_ns": clock()}))


if __name__ == "__main__":
    main()

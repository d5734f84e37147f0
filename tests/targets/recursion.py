"""`down` calls itself 1, 2, 10, 100, 500 and 1,000 deep, and at each bottom `bottom` spins. The depths
take turns: none is missed by who stands still for a moment.

    recursion.py [SECONDS_AT_EACH_BOTTOM]

Prints the seconds spent at the bottom of each depth (the number of `down` frames above it).
"""
import json
import sys
import time

DEPTHS = (1, 2, 10, 100, 500, 1000)
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
TURNS = 5


def bottom():
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS / TURNS:
        pass
    return time.perf_counter() - start


def down(depth):
    if depth == 1:
        return bottom()
    return down(depth - 1)


def main():
    sys.setrecursionlimit(2000)
    bottom_s = dict.fromkeys(DEPTHS, 0.0)
    for depth in DEPTHS * TURNS:
        bottom_s[depth] += down(depth)
    print(json.dumps({"bottom_s": bottom_s}))


if __name__ == "__main__":
    main()

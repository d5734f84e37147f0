"""Periodic work at the sampler's own default period: 0.3 ms of every millisecond in `early`.

    lockstep.py [SECONDS]

A sampler with even intervals sees one of the two functions only. Prints the seconds in each.
"""
import json
import sys
import time

PERIOD_S = 0.001
EARLY_S = 0.0003
clock = time.perf_counter


def early(until):
    while clock() < until:
        pass


def late(until):
    while clock() < until:
        pass


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    spent = {"early": 0.0, "late": 0.0}
    start = clock()
    for period in range(int(seconds / PERIOD_S)):
        begin = start + period * PERIOD_S
        before = clock()
        early(begin + EARLY_S)
        middle = clock()
        late(begin + PERIOD_S)
        spent["early"] += middle - before
        spent["late"] += clock() - middle
    print(json.dumps({"spent_s": spent, "wall_s": clock() - start}))


if __name__ == "__main__":
    main()

"""What regions, timed functions and marks add to a program: CPU ns each.

    regions.py PACKAGE REPEATS

The loops take turns with one that does the same without; the least of each is taken, since whatever
comes between adds. Prints {what: ns}.
"""
import json
import sys
import time

sys.path.insert(0, sys.argv[1])

import cairn  # noqa: E402

COUNT = 20000
clock = time.process_time


def plain(number):
    return number


@cairn.timed
def timed(number):
    return number


def loop():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        pass
    return clock() - begun


def loop_region():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        with cairn.region("name"):
            pass
    return clock() - begun


def loop_mark():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        cairn.mark(frame=17)
    return clock() - begun


def loop_plain():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        plain(1)
    return clock() - begun


def loop_timed():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        timed(1)
    return clock() - begun


PAIRS = {"region": (loop_region, loop), "timed": (loop_timed, loop_plain), "mark": (loop_mark, loop)}
least = {}
for _ in range(int(sys.argv[2])):
    for function in (loop, loop_region, loop_mark, loop_plain, loop_timed):
        least[function] = min(least.get(function, 1e9), function())
print(json.dumps({what: 1e9 * (least[a] - least[b]) / COUNT for what, (a, b) in PAIRS.items()}))

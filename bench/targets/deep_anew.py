"""A stack 203 Python frames deep, time and again, each time at places where no stack was before.

    deep_anew.py [SECONDS]

Until 3.10 frames are objects on the heap, and one that something still refers to is not used again:
so each stack is kept. Memory grows by about 100 KiB for each, 3 ms apart.
"""
import sys
import time

LEVELS = 200
EACH_S = 0.003

clock = time.perf_counter
kept = []


def spin():
    kept.append(sys._getframe())
    end = clock() + EACH_S
    while clock() < end:
        pass


def level(n):
    if n == 1:
        return spin()
    return level(n - 1)


def main():
    start = clock()
    while clock() - start < float(sys.argv[1] if len(sys.argv) > 1 else 1):
        level(LEVELS)


main()

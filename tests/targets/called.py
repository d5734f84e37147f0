"""For embeds.c: a function that threads made by C call, each time with a new thread state.

    called.py SECONDS

Says at the end how long each thread was in it.
"""
import atexit
import json
import sys
import time

clock = time.perf_counter
end = clock() + float(sys.argv[1])
spent = {}


def spin(until):
    while clock() < until:
        pass


def called(number):
    start = clock()
    spin(start + 0.003)
    spent[number] = spent.get(number, 0) + clock() - start
    return clock() < end


atexit.register(lambda: print(json.dumps({"spent_s": spent})))

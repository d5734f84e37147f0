"""What it costs to count calls: CPU ns added to each by cProfile and by cairn.cprofile.

    calls.py PACKAGE REPEATS

The two and a run without either take turns; the least of each is taken, since whatever comes
between adds. Prints {what: {tool: ns}}; "python" is a call and return of a Python function where
calls of C are not asked for, "c" a call of a builtin, "resume" a generator's resume and yield.
"""
import json
import sys
import time

sys.path.insert(0, sys.argv[1])

import cProfile  # noqa: E402

import cairn.cprofile  # noqa: E402

COUNT = 50000
TOOLS = {"none": None, "cProfile": cProfile.Profile, "cairn": cairn.cprofile.Profile}
clock = time.process_time


def empty():
    pass


def python():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        empty()
    return clock() - begun


def c():
    numbers, function, nothing = range(COUNT), len, ()
    begun = clock()
    for _ in numbers:
        function(nothing)
    return clock() - begun


def counting():
    for i in range(COUNT):
        yield i


def resume():
    begun = clock()
    for _ in counting():
        pass
    return clock() - begun


def cost(work, tool, options):
    if tool is None:
        return work()
    profile = tool()
    profile.enable(**options)
    try:
        return work()
    finally:
        profile.disable()


def measured(work, options, repeats):
    least = dict.fromkeys(TOOLS, float("inf"))
    for _ in range(repeats):
        for name, tool in TOOLS.items():
            least[name] = min(least[name], cost(work, tool, options))
    alone = least.pop("none")
    return {name: (time - alone) / COUNT * 1e9 for name, time in least.items()}


repeats = int(sys.argv[2])
print(json.dumps({
    "python": measured(python, {"builtins": False}, repeats),
    "python and c": measured(python, {}, repeats),
    "c": measured(c, {}, repeats),
    "resume": measured(resume, {"builtins": False}, repeats),
}))  # fmt: skip

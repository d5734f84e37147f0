"""What it costs to count and time lines: CPU ns added to each by line_profiler, where it can be
imported, and by cairn.line_profiler.

    lines.py PACKAGE REPEATS

The two and a run without either take turns; the least of each is taken, since whatever comes
between adds. Prints {what: {tool: ns}}; "line" is one of a function that was chosen, "other line"
and "other call" are of code that was not.
"""
import json
import sys
import time

sys.path.insert(0, sys.argv[1])

import cairn.line_profiler  # noqa: E402

TOOLS = {"none": None, "cairn": cairn.line_profiler.LineProfiler}
try:
    from line_profiler import LineProfiler

    TOOLS["line_profiler"] = LineProfiler
except ImportError:
    pass

COUNT = 20000
clock = time.process_time


def chosen():
    i = 0
    while i < COUNT:
        a = i
        b = a
        c = b  # noqa: F841
        i += 1


def not_chosen():
    i = 0
    while i < COUNT:
        a = i
        b = a
        c = b  # noqa: F841
        i += 1


def empty():
    pass


def calls():
    for _ in range(COUNT):
        empty()


WORK = {"line": (chosen, 5), "other line": (not_chosen, 5), "other call": (calls, 1)}


def cost(work, tool):
    profiler = tool(chosen) if tool else None
    if profiler:
        profiler.enable()
    try:
        begun = clock()
        work()
        return clock() - begun
    finally:
        if profiler:
            profiler.disable()


def measured(work, lines, repeats):
    least = dict.fromkeys(TOOLS, float("inf"))
    for _ in range(repeats):
        for name, tool in TOOLS.items():
            least[name] = min(least[name], cost(work, tool))
    none = least.pop("none")
    return {name: (seconds - none) / COUNT / lines * 1e9 for name, seconds in least.items()}


print(json.dumps({key: measured(*what, int(sys.argv[2])) for key, what in WORK.items()}))

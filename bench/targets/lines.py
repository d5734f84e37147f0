"""What it costs to count lines: CPU ns that a loop takes under one tool, the least of REPEATS.

    lines.py PACKAGE REPEATS TOOL [FOLDER OF bare.c]

TOOL is none, line_profiler, cairn (cairn.line_profiler), timed or hybrid: these two count into a
folder, as `cairn run --lines` and `--lines=hybrid` do, for which the program begins anew. bare is what
tells of lines, with nobody behind it; bare-clock looks at the clock each time. Prints
{what: ns}; "line" is one of a function that was chosen, "other line" and "other call" are of code
that was not.
"""
import json
import os
import shutil
import sys
import tempfile
import time

PACKAGE, REPEATS, TOOL = sys.argv[1], int(sys.argv[2]), sys.argv[3]
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


def begin_anew():
    """As the command starts a program; the folder's name goes along for the end."""
    folder = tempfile.mkdtemp(prefix="cairn-bench-")
    with open(f"{folder}/wanted", "w") as file:
        file.write("lines\nin chosen\n" + ("hybrid\n" if TOOL == "hybrid" else ""))
    if hasattr(sys, "orig_argv"):
        words = sys.orig_argv
    else:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
    site = f"{PACKAGE}/cairn/_site"
    os.execve(sys.executable, words, {**os.environ, "CAIRN_SPOOL": folder, "PYTHONPATH": site,
                                      "BENCH_FOLDER": folder})  # fmt: skip


def least(work, lines):
    found = float("inf")
    for _ in range(REPEATS):
        begun = clock()
        work()
        found = min(found, clock() - begun)
    return found / COUNT / lines * 1e9


def profiler():
    sys.path.insert(0, PACKAGE)
    if TOOL == "cairn":
        from cairn.line_profiler import LineProfiler
    else:
        from line_profiler import LineProfiler
    return LineProfiler(chosen)


def bare():
    sys.path.insert(0, sys.argv[4])
    import _bare

    _bare.clock(TOOL == "bare-clock")
    if sys.version_info < (3, 12):
        return _bare.trace(True)
    told = sys.monitoring
    told.use_tool_id(told.PROFILER_ID, "bare")
    told.register_callback(told.PROFILER_ID, told.events.LINE, _bare.nothing)
    told.set_local_events(told.PROFILER_ID, chosen.__code__, told.events.LINE)


if TOOL in ("timed", "hybrid") and "BENCH_FOLDER" not in os.environ:
    begin_anew()
if TOOL in ("cairn", "line_profiler"):
    kept = profiler()
    kept.enable()
if TOOL.startswith("bare"):
    WORK = {"line": WORK["line"]}  # others have no events from 3.12 on, and until then the same
    bare()
print(json.dumps({key: least(*what) for key, what in WORK.items()}))
sys.stdout.flush()
if "BENCH_FOLDER" in os.environ:
    shutil.rmtree(os.environ["BENCH_FOLDER"])

"""How much longer real programs take that call all the time, while their calls are counted.

    programs.py PACKAGE REPEATS FOLDER [FOLDER OF VIZTRACER]

FOLDER has what pip put there: pyperformance, whose benchmarks are asked for their functions by a
`pyperf` that notes them instead of running them, and packages with their own input. Each tool has
its turn on each program, which is made to take LEAST_S without any; the least CPU time of each is
taken, since whatever comes between adds. Prints {"programs": {program: {tool: seconds}},
"lacking": {program: why}}. "python" is without calls of C, "all" with them.
"""
import glob
import io
import json
import math
import os
import runpy
import shutil
import sys
import tempfile
import time
import types

sys.path[:0] = [sys.argv[1], *sys.argv[3:]]

import cProfile  # noqa: E402

import cairn._exact  # noqa: E402
import cairn.cprofile  # noqa: E402

try:
    from viztracer import VizTracer
except ImportError:
    VizTracer = None

KERNELS = {  # of pyperformance: the arguments of its script
    "richards": (), "deltablue": (), "go": (), "hexiom": (), "deepcopy": (), "generators": (),
    "raytrace": ("--width", "40", "--height", "40"), "chaos": ("--width", "48", "--height", "48"),
    "logging": ("format",), "docutils": (), "sqlglot_v2": ("parse",),
}
FILES = ("argparse.py", "dataclasses.py", "textwrap.py")  # of the interpreter's own library
LEAST_S = 0.1  # of a run without any tool
clock = time.process_time


class Runner:
    """What pyperf's benchmarks take for a runner."""

    def __init__(self, add_cmdline_args=None, **unused):
        import argparse
        self.argparser = argparse.ArgumentParser()
        self.metadata, self.work = {}, []
        Runner.made = self

    def parse_args(self):
        return self.argparser.parse_args()

    def bench_func(self, name, function, *args, **unused):
        self.work.append((function, args))

    def bench_time_func(self, name, function, *args, **unused):
        self.work.append((function, (1, *args)))


def kernel(name, args):
    """A function that does the work of a benchmark once."""
    [script] = glob.glob(f"{sys.argv[3]}/pyperformance/data-files/benchmarks/bm_{name}/run_benchmark.py")
    sys.modules["pyperf"] = types.SimpleNamespace(Runner=Runner, perf_counter=time.perf_counter)
    old, sys.argv = sys.argv, [script, *args]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv = old
    work = Runner.made.work
    if name == "docutils":  # all of its documentation takes long: a chapter
        work = [(function, (loops, root / "howto")) for function, (loops, root) in work]

    def once():
        for function, given in work:
            function(*given)
    return once


def texts():
    for name in FILES:
        with open(os.path.join(os.path.dirname(os.__file__), name), encoding="utf-8") as file:
            yield file.read()


def of_pyflakes():
    from pyflakes import api, reporter
    read = list(texts())

    def once():
        for text in read:
            api.check(text, "checked", reporter.Reporter(io.StringIO(), io.StringIO()))
    return once


def of_pygments():
    from pygments import formatters, highlight, lexers
    read = list(texts())

    def once():
        for text in read:
            highlight(text, lexers.PythonLexer(), formatters.HtmlFormatter())
    return once


class Recorded:
    """What `cairn trace` does to a program, with the calls of C or without."""

    def __init__(self, builtins):
        self.folder = tempfile.mkdtemp()
        self.profiler = cairn._exact.Profiler(builtins=builtins)

    def enable(self):
        self.profiler.record(self.folder, [])

    def disable(self):
        self.profiler.end()
        shutil.rmtree(self.folder)


class Traced:
    def __init__(self, builtins):
        self.tracer = VizTracer(tracer_entries=1000000, ignore_c_function=not builtins, verbose=0)
        self.enable = self.tracer.start

    def disable(self):
        self.tracer.stop()
        self.tracer.clear()


class Nothing:
    def enable(self):
        pass

    disable = enable


TOOLS = {
    "none": Nothing,
    "python: cairn": lambda: Recorded(False),
    "python: cProfile": lambda: cProfile.Profile(builtins=False),
    "all: cairn": lambda: Recorded(True),
    "all: cProfile": cProfile.Profile,
    "all: cairn cprofile": cairn.cprofile.Profile,
}
if VizTracer:
    TOOLS["python: viztracer"] = lambda: Traced(False)
    TOOLS["all: viztracer"] = lambda: Traced(True)


def cost(work, times, make):
    tool = make()
    tool.enable()
    begun = clock()
    try:
        for _ in range(times):
            work()
    finally:
        taken = clock() - begun
        tool.disable()
    return taken


def programs():
    for name, args in KERNELS.items():
        yield name, lambda name=name, args=args: kernel(name, args)
    yield "pyflakes", of_pyflakes
    yield "pygments", of_pygments


def main():
    found, lacking = {}, {}
    for name, prepare in programs():
        try:
            work = prepare()
            cost(work, 1, Nothing)  # what is done once in a process
            times = math.ceil(LEAST_S / cost(work, 1, Nothing))
        except Exception as why:  # of another version, or not to be had for this interpreter
            lacking[name] = repr(why)[:100]
            continue
        least = dict.fromkeys(TOOLS, float("inf"))
        for _ in range(int(sys.argv[2])):
            for tool, make in TOOLS.items():
                least[tool] = min(least[tool], cost(work, times, make))
        found[name] = least
    print(json.dumps({"programs": found, "lacking": lacking}))


main()

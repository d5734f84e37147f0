"""Small programs of which the profilers of CPython tell something wrong, and what Cairn tells.

usage: peers_wrong.py PACKAGE: prints {case: {"right", "peer", "cairn"}} as JSON. What the peer tells
wrong on some versions only is judged by the test. `peers_wrong.py alone` runs the works that the test
has counted from outside, and nothing else.
"""
import functools
import json
import pstats
import sys


def numbers():
    for i in range(5):
        yield i


def goes_through():
    list(numbers())


class First:
    def run(self):
        return 1


class Second:
    def run(self):
        return 2


def runs_both():
    for _ in range(2):
        First().run()
    for _ in range(7):
        Second().run()


if sys.argv[1] == "alone":
    goes_through()
    runs_both()
    sys.exit(0)

sys.path.insert(0, sys.argv[1])

import cProfile  # noqa: E402

import cairn.cprofile  # noqa: E402
import cairn.line_profiler  # noqa: E402

PEER, OURS = cProfile.Profile, cairn.cprofile.Profile
MONITORS = sys.version_info >= (3, 12)


def rows_of(profile, work):
    profile.enable()
    work()
    profile.disable()
    profile.create_stats()
    return profile.stats


def calls_by_name(stats):
    calls = {}
    for key, row in stats.items():
        calls[key[2]] = calls.get(key[2], 0) + row[1]
    return calls


def flags():
    """builtins=False and subcalls=False, given to Profile()."""

    def inner():
        return len(())

    def outer():
        inner()

    def kept(kind):
        stats = rows_of(kind(builtins=False, subcalls=False), outer)
        return [any("len" in key[2] for key in stats), any(row[4] for row in stats.values())]

    return {"right": [False, False], "peer": kept(PEER), "cairn": kept(OURS)}


def lambdas():
    """Two functions of one name on one line."""
    one, other = (lambda: 1), (lambda: 2)

    def work():
        for _ in range(3):
            one()
        for _ in range(5):
            other()

    def told(kind):
        return calls_by_name(rows_of(kind(), work))["<lambda>"]

    return {"right": 8, "peer": told(PEER), "cairn": told(OURS)}


def types():
    """Calls of classes that are written in C, and of what a partial stands for."""

    def add(one, other):
        return one + other

    def work():
        partly = functools.partial(add, 1)
        for text in ("1", "2", "3"):
            partly(int(text))

    def told(profile):
        calls = calls_by_name(rows_of(profile, work))
        return [calls.get(name, 0) for name in ("<class 'int'>", "<class 'functools.partial'>", "add")]

    ours = OURS(types=True) if MONITORS else OURS()
    return {"right": [3, 1, 3], "peer": told(PEER()), "cairn": told(ours)}


def one_line():
    """A function on one line; without it 3.13 and later tell no LINE event of its own."""

    def short(): return 1  # noqa: E704

    hits = []
    if MONITORS:
        monitoring = sys.monitoring
        monitoring.use_tool_id(1, "peer")
        monitoring.register_callback(1, monitoring.events.LINE, lambda code, line: hits.append(line))
        monitoring.set_local_events(1, short.__code__, monitoring.events.LINE)
    for _ in range(4):
        short()
    if MONITORS:
        monitoring.set_local_events(1, short.__code__, 0)
        monitoring.free_tool_id(1)
    lines = cairn.line_profiler.LineProfiler(short)
    with lines:
        for _ in range(4):
            short()
    (rows,) = lines.get_stats().timings.values()
    return {"right": 4, "peer": len(hits), "cairn": sum(hit for _, hit, _ in rows)}


def generators():
    """How often a body began, and how often it went on."""

    def told(kind):
        return calls_by_name(rows_of(kind(), goes_through))["numbers"]

    return {"right": 6, "peer": told(PEER), "cairn": told(OURS)}


def names():
    """Methods of one name: pstats' own view of them by name, against the rows."""

    def rows(kind):
        return sorted(row[1] for key, row in rows_of(kind(), runs_both).items() if key[2] == "run")

    peer = None
    if hasattr(pstats.Stats, "get_stats_profile"):
        profile = PEER()
        rows_of(profile, runs_both)
        peer = pstats.Stats(profile).get_stats_profile().func_profiles["run"].ncalls
    return {"right": [2, 7], "peer": peer, "cairn": rows(OURS)}


def twins():
    """Two functions with equal bytecode and names, in lines."""

    def make(source):
        space = {}
        exec(compile(source, f"<{len(source)}>", "exec"), space)
        return space["work"]

    one, other = make("def work(n):\n    for _ in range(n):\n        pass\n"), make(
        "def work(n):\n    for _ in range(n):\n        pass\n\n"
    )
    before = one.__code__, other.__code__
    lines = cairn.line_profiler.LineProfiler(one, other)
    with lines:
        one(1)
        other(10)
    hits = sorted(sum(hit for _, hit, _ in rows) for rows in lines.get_stats().timings.values())
    same = [one.__code__ is before[0], other.__code__ is before[1], one.__code__.co_code == other.__code__.co_code]
    return {"right": [[3, 21], [True] * 3], "peer": None, "cairn": [hits, same]}


print(json.dumps({case.__name__: case() for case in (flags, lambdas, types, one_line, generators, names, twins)}))

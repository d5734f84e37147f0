"""Calls of greenlets that switch in the midst of one another, counted by a tracer in Python and by
cairn.cprofile.

usage: greenlet_calls.py PACKAGE: prints {"reference": …, "cairn": …, "python": …, "cProfile": …}, each
{function: [calls, primitive calls, {caller: calls}]}, as JSON; "python" is cairn.cprofile without
builtins. Exits with 77 where there is no greenlet.
       greenlet_calls.py alone: does the work and prints nothing.
"""
import json
import sys
from functools import partial

try:
    from greenlet import GreenletExit, getcurrent, greenlet
except ImportError:
    print("greenlet is not installed", file=sys.stderr)
    sys.exit(77)

ROUNDS = 50


def leaf():
    return 1


def descend(n):
    """Switches away at the bottom, as often as it is come back to from there."""
    leaf()
    if n:
        return descend(n - 1)
    return away()


def away():
    getcurrent().parent.switch()
    return leaf()


def body(n):
    for _ in range(ROUNDS):
        descend(n)


def fails():
    leaf()
    raise KeyError("on purpose")


def failing():
    try:
        away()
    finally:
        fails()


def stopped():
    try:
        while True:
            away()
    except GreenletExit:
        leaf()


def hands_over(pair, other):
    """Switches to another than its parent, in the midst of itself."""
    for _ in range(ROUNDS):
        leaf()
        pair[other].switch()
        leaf()


def starts(n):
    """A greenlet within a greenlet that runs the same code: none of it is recursion."""
    if n:
        inner = greenlet(starts)
        inner.switch(n - 1)
        leaf()
        inner.switch()
    away()


def twice(value):
    away()
    return leaf() + value


def mapped():
    """Switched away from where C calls it."""
    sum(map(twice, range(5)))
    leaf()


def yields():
    for i in range(5):
        away()
        yield i
        leaf()


def exhausts():
    for _ in yields():
        leaf()


def work():
    pair = []
    pair += [greenlet(partial(hands_over, pair, 1)), greenlet(partial(hands_over, pair, 0))]
    while not all(one.dead for one in pair):
        for one in pair:
            if not one.dead:
                one.switch()
    others = [greenlet(starts), greenlet(mapped), greenlet(exhausts), greenlet(mapped)]
    for one in others:
        one.switch(*[2] * (one is others[0]))
    while any(not one.dead for one in others):
        for one in others:
            if not one.dead:
                one.switch()
    running = [greenlet(body) for _ in range(3)]
    for depth, one in enumerate(running, 1):
        one.switch(depth)
    while any(not one.dead for one in running):
        for one in running:
            if not one.dead:
                one.switch()
    failed = greenlet(failing)
    failed.switch()
    try:
        failed.switch()
    except KeyError:
        leaf()
    ended = greenlet(stopped)
    ended.switch()
    ended.throw()
    leaf()


WORK = (leaf, descend, away, body, fails, failing, stopped, hands_over, starts, twice, mapped, yields)
FUNCTIONS = {f.__code__: f.__name__ for f in (*WORK, exhausts, work)}


class Reference:
    """Who was called by whom, as the frames themselves say; a call is primitive when no frame below it
    runs the same code."""

    def __init__(self):
        self.rows = {}

    def event(self, frame, what, arg):
        if what != "call" or frame.f_code not in FUNCTIONS:
            return
        row = self.rows.setdefault(FUNCTIONS[frame.f_code], [0, 0, {}])
        row[0] += 1
        below, again = frame.f_back, False
        while below is not None:
            again |= below.f_code is frame.f_code
            below = below.f_back
        row[1] += not again
        caller = frame.f_back and FUNCTIONS.get(frame.f_back.f_code)
        if caller:
            row[2][caller] = row[2].get(caller, 0) + 1

    def run(self):
        sys.setprofile(self.event)
        work()
        sys.setprofile(None)
        return self.rows


def profiled(kind, **options):
    profile = kind(**options)
    profile.enable()
    work()
    profile.disable()
    profile.create_stats()
    return {
        key[2]: [value[1], value[0],
                 {k[2]: v[0] for k, v in value[4].items() if k[2] in FUNCTIONS.values()}]
        for key, value in profile.stats.items() if key[2] in FUNCTIONS.values()
    }  # fmt: skip


if sys.argv[1] == "alone":
    work()
    sys.exit()

sys.path.insert(0, sys.argv[1])

import cProfile  # noqa: E402

import cairn.cprofile  # noqa: E402

print(json.dumps({
    "reference": Reference().run(),
    "cairn": profiled(cairn.cprofile.Profile),
    "python": profiled(cairn.cprofile.Profile, builtins=False),
    "cProfile": profiled(cProfile.Profile),
}))  # fmt: skip

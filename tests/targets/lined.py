"""Lines, counted by cairn.line_profiler and by a tracer in Python, and with times that are known.

    lined.py PACKAGES counts|times|threads

counts: {"cairn": {function: {line: hits}}, "reference": the same}. times: {what: [told, true]}, in s.
threads: hits and time of each line, and how long all calls took together.
"""
import asyncio
import json
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
from cairn.line_profiler import LineProfiler  # noqa: E402

clock = time.perf_counter


def loops(n):
    total = 0
    for i in range(n):
        if i % 3:
            total += i
        else:
            total -= 1
    while n > 0:
        n -= 1
    return total


def recursive(n):
    if n == 0:
        return 0
    return recursive(n - 1) + 1


def mutual(n):
    return other(n - 1) if n else 0


def other(n):
    return mutual(n - 1) if n else 0


def generator(n):
    for i in range(n):
        try:
            yield i
        finally:
            pass


def drives():
    for value in generator(4):
        if value == 2:
            break
    made = generator(3)
    next(made)
    try:
        made.throw(KeyError)
    except KeyError:
        pass
    made.close()
    return list(generator(2))


def fails(n):
    try:
        raises(n)
    except ValueError:
        return 1
    else:
        return 2
    finally:
        n = 0


def raises(n):
    if n:
        raise ValueError(n)


one_line = lambda: 1  # noqa: E731


async def waits(n):
    for _ in range(n):
        await asyncio.sleep(0)
    return n


async def gathers():
    return await asyncio.gather(waits(3), waits(2))


def many_lines(a, b):
    return max(
        a,
        b,
        one_line(),
    )


FUNCTIONS = [loops, recursive, mutual, other, generator, drives, fails, raises, one_line, waits,
             gathers, many_lines]  # fmt: skip


def work():
    loops(10)
    recursive(30)
    mutual(7)
    drives()
    fails(0), fails(1)
    for _ in range(5):
        one_line()
    asyncio.run(gathers())
    many_lines(1, 2)


def told_by(profiler):
    return {
        key[2].rpartition(".")[2]: {line: hits for line, hits, _ in rows}
        for key, rows in profiler.get_stats().timings.items()
    }


def reference():
    codes = {function.__code__: function.__name__.strip("<>") for function in FUNCTIONS}
    seen = {}

    def local(frame, event, arg):
        if event == "line":
            lines = seen.setdefault(frame.f_code.co_name, {})
            lines[frame.f_lineno] = lines.get(frame.f_lineno, 0) + 1
        return local

    def enter(frame, event, arg):
        return local if frame.f_code in codes else None

    sys.settrace(enter)
    work()
    sys.settrace(None)
    return seen


def counts():
    profiler = LineProfiler(*FUNCTIONS)
    with profiler:
        work()
    first = told_by(profiler)
    work()  # it is off
    return {"cairn": first, "again": told_by(profiler), "reference": reference()}


def sleeps(n):
    if n == 0:
        time.sleep(0.02)
        return
    sleeps(n - 1)


def slow_generator():
    for _ in range(3):
        time.sleep(0.002)
        yield
        time.sleep(0.003)


def drives_slowly():
    for _ in slow_generator():
        time.sleep(0.01)


def times():
    profiler = LineProfiler(sleeps, slow_generator, drives_slowly)
    begun = clock()
    with profiler:
        sleeps(3)
        middle = clock()
        drives_slowly()
    spent = [middle - begun, clock() - middle]
    rows = {}
    for (_, first, name), lines in profiler.get_stats().timings.items():
        for line, _, took in lines:
            rows[f"{name.rpartition('.')[2]}+{line - first}"] = took * 1e-9
    return {"rows": rows, "spent": spent}


def step(pause):
    time.sleep(pause)
    return pause


def threads():
    profiler = LineProfiler(step)

    spent = []

    def run(pause, times):
        for _ in range(times):
            begun = clock()
            step(pause)
            spent.append(clock() - begun)

    with profiler:
        both = [threading.Thread(target=run, args=words) for words in ((0.01, 10), (0.02, 5))]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    [rows] = profiler.get_stats().timings.values()
    return [[hits, took * 1e-9] for _, hits, took in rows], sum(spent)


print(json.dumps(globals()[sys.argv[2]]()))

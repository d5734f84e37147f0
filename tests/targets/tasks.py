"""asyncio tasks that know their own truth: who waits at which line for how long, and who runs.

    tasks.py [SECONDS] [uvloop] [slow]

Each task sleeps or computes in a way that its name tells, and adds up what it did by its own
clock. At the end one JSON object says so; a line is named by the comment that marks it.
"""
import json
import sys
import time

import slow_import

if "slow" in sys.argv[2:]:
    slow_import.of("asyncio.tasks", 0.7)

import asyncio

SPENT = {}


def add(task, what, since):
    now = time.perf_counter()
    row = SPENT.setdefault(task, {"running_s": 0.0, "waiting_s": {}})
    if what == "running":
        row["running_s"] += now - since
    else:
        row["waiting_s"][what] = row["waiting_s"].get(what, 0.0) + now - since
    return now


async def inner(seconds):
    await asyncio.sleep(seconds)  # line: inner


async def middle(seconds):
    await inner(seconds)  # line: middle


async def nested(until):
    at = time.perf_counter()
    while at < until:
        await middle(0.05)
        at = add("nested", "inner", at)


async def two_lines(until):
    at = time.perf_counter()
    while at < until:
        await asyncio.sleep(0.09)  # line: long
        at = add("two_lines", "long", at)
        await asyncio.sleep(0.03)  # line: short
        at = add("two_lines", "short", at)


def compute(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def computing(until):
    at = time.perf_counter()
    while at < until:
        compute(0.03)
        at = add("computing", "running", at)
        await asyncio.sleep(0.03)  # line: rest
        at = add("computing", "rest", at)


async def nameless(seconds):
    await asyncio.sleep(seconds)  # line: nameless


async def numbers(until):
    while time.perf_counter() < until:
        await asyncio.sleep(0.02)  # line: generator
        yield 1


async def iterates(until):
    async for _ in numbers(until):
        pass


async def gathers(seconds):
    at = time.perf_counter()
    await asyncio.gather(*(nameless(seconds) for _ in range(5)))  # line: gather
    add("gathers", "gather", at)


class Together:
    """What is used of asyncio.TaskGroup, for the versions that have none."""

    def __init__(self):
        self.tasks = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.gather(*self.tasks)  # line: together

    def create_task(self, coroutine, name):
        self.tasks.append(asyncio.create_task(coroutine, name=name))


async def main(seconds):
    until = time.perf_counter() + seconds
    async with getattr(asyncio, "TaskGroup", Together)() as group:  # line: group
        group.create_task(nested(until), name="nested")
        group.create_task(two_lines(until), name="two_lines")
        group.create_task(computing(until), name="computing")
        group.create_task(iterates(until), name="iterates")
        group.create_task(gathers(seconds), name="gathers")
    print(json.dumps({"loop": type(asyncio.get_running_loop()).__module__, "tasks": SPENT}))


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    if "uvloop" in sys.argv[2:]:
        import uvloop

        uvloop.run(main(length))
    else:
        asyncio.run(main(length))

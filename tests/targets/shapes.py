"""Comprehensions, generators, async tasks and lines of one expression, each for a known time.

    shapes.py [SECONDS [LONGEST]]

LONGEST: seconds of one spin, of which it takes a sixth at least. Each shape spins in a function of its own, called through the shape. Prints the seconds spent in
each shape, and for `expression` by the line of its sub-expression.
"""
import asyncio
import json
import random
import sys
import time

clock = time.perf_counter
spent = {}
lines = {}


def spin(shape, seconds):
    start = clock()
    while clock() - start < seconds:
        pass
    spent[shape] = spent.get(shape, 0.0) + clock() - start
    return 1


def spin_on(line, seconds):
    before = spent.get("expression", 0.0)
    spin("expression", seconds)
    lines[line] = lines.get(line, 0.0) + spent["expression"] - before
    return 1


def list_shape(a):
    return [spin("list_shape", a) for _ in range(2)]


def dict_shape(a):
    return {i: spin("dict_shape", a) for i in range(2)}


def numbers(a):
    for _ in range(3):
        yield spin("numbers", a)


def relay(a):
    yield from numbers(a)


def expression(a, line):
    return (
        spin_on(line + 2, a)
        + sum(
            (
                spin_on(line + 5, 2 * a),
                spin_on(line + 6, 3 * a),
            )
        )
        + spin_on(
            line + 9, 4 * a
        )
    )


async def first_task(a):
    for _ in range(2):
        spin("first_task", a)
        await asyncio.sleep(0)


async def second_task(a):
    for _ in range(3):
        spin("second_task", a)
        await asyncio.sleep(0)


async def both(a):
    await asyncio.gather(first_task(a), second_task(a))


def main():
    until = clock() + (float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    longest = float(sys.argv[2]) if len(sys.argv) > 2 else 0.003
    rng = random.Random(1)
    loop = asyncio.new_event_loop()
    line = expression.__code__.co_firstlineno
    while clock() < until:
        a = rng.uniform(longest / 6, longest)
        list_shape(a)
        dict_shape(a)
        sum(relay(a))
        expression(a / 2, line)
        loop.run_until_complete(both(a))
    loop.close()
    print(json.dumps({"spent_s": spent, "line_s": lines}))


if __name__ == "__main__":
    main()

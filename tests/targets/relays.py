"""Generators that are resumed by C on somebody's behalf, or from functions that live for a moment.

    relays.py [SECONDS]

Prints the legal pairs caller -> callee among its own functions.
"""
import asyncio
import itertools
import json
import sys
import time


def odd(n):
    for i in range(n):
        yield 2 * i + 1


def even(n):
    for i in range(n):
        yield 2 * i


def draw(source):
    return next(source)


def hand_to_hand(n):
    one, other = odd(n), even(n)
    for _ in range(n):
        draw(one)
        draw(other)


def side_by_side(n):
    for _ in zip(odd(n), even(n)):
        pass


def twice(value):
    return 2 * value


def mapped(n):
    return sum(map(twice, itertools.chain(odd(n), even(n))))


def nested(n):
    if n:
        yield from nested(n - 1)
    yield n


def unwound(n):
    return [x for _ in range(n) for x in nested(6)]


async def ticks(n):
    for i in range(n):
        yield i


async def follow(n):
    async for _ in ticks(n):
        pass


async def both(n):
    await asyncio.gather(follow(n), follow(n))


def looped(n):
    asyncio.run(both(n))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        hand_to_hand(200)
        side_by_side(200)
        mapped(200)
        unwound(50)
        looped(50)
    legal = [
        ["<module>", "main"],
        ["main", "hand_to_hand"],
        ["hand_to_hand", "odd"],  # a call that makes the generator and returns it
        ["hand_to_hand", "even"],
        ["hand_to_hand", "draw"],
        ["draw", "odd"],
        ["draw", "even"],
        ["main", "odd"],  # closed when the function that held it is over, until 3.12
        ["main", "even"],
        ["main", "side_by_side"],
        ["side_by_side", "odd"],
        ["side_by_side", "even"],
        ["main", "mapped"],
        ["mapped", "odd"],
        ["mapped", "even"],
        ["mapped", "twice"],
        ["main", "unwound"],
        ["unwound", "unwound.<locals>.<listcomp>"],  # until 3.11
        ["unwound.<locals>.<listcomp>", "nested"],
        ["unwound", "nested"],
        ["nested", "nested"],
        ["main", "looped"],
        ["looped", "both"],
        ["looped", "follow"],
        ["both", "follow"],
        ["follow", "ticks"],
    ]
    print(json.dumps({"legal": legal}))


if __name__ == "__main__":
    main()

"""What is run while the frame that held an object is taken down, on behalf of whoever called that.

    finalizers.py [SECONDS]

Prints the seconds spent so below each function.
"""
import json
import random
import sys
import time

clock = time.perf_counter
spent = {}


def spin(below, seconds):
    start = clock()
    while clock() - start < seconds:
        pass
    spent[below] = spent.get(below, 0.0) + clock() - start


class Held:
    def __init__(self, below):
        self.below = below

    def __del__(self):
        spin(self.below, random.uniform(50e-6, 250e-6))


def keeps(below):
    held = Held(below)
    return held.below


def keeps_two(below):
    first, second = Held(below), [Held(below)]
    return first, len(second)


def called():
    keeps("called")


def called_for_two():
    keeps_two("called_for_two")


def by_key():
    sorted(["by_key"] * 3, key=keeps)


def made():
    class Made:
        def __init__(self):
            held = Held("made")
            self.below = held.below

    Made()


def numbers(below):
    held = Held(below)
    yield held.below


def iterated():
    for _ in numbers("iterated"):
        pass


def fails(below):
    held = Held(below)
    raise ValueError(held.below)


def caught():
    try:
        fails("caught")
    except ValueError:
        pass


async def waits(below):
    held = Held(below)
    return held.below


def driven():
    try:
        waits("driven").send(None)
    except StopIteration:
        pass


async def holds(below):
    return keeps(below)


def awaited():
    try:
        holds("awaited").send(None)
    except StopIteration:
        pass


def numbers_of(below):
    yield keeps(below)


def resumed():
    for _ in numbers_of("resumed"):
        pass


def cleans_up(below):
    try:
        yield
    finally:
        spin(below, random.uniform(50e-6, 250e-6))


def leaves_open(below):
    left = cleans_up(below)
    next(left)
    return 1


def left_open():
    leaves_open("left_open")


class Chained:
    def __del__(self):
        inner = Held("one_after_the_other")
        inner.seen = True


def keeps_chained():
    held = Chained()
    held.seen = True


def one_after_the_other():
    keeps_chained()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    start = clock()
    while clock() - start < seconds:
        for run in (
            called,
            called_for_two,
            by_key,
            made,
            iterated,
            caught,
            driven,
            awaited,
            resumed,
            left_open,
            one_after_the_other,
        ):
            run()
    print(json.dumps({"spent_s": spent}))


if __name__ == "__main__":
    main()

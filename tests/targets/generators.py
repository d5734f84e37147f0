"""Generators and coroutines that hand over all the time: frames that live off the data stack.

    generators.py [SECONDS]

Prints the legal pairs caller -> callee among its own functions.
"""
import json
import sys
import time


def numbers(n):
    for i in range(n):
        yield small(i)


def small(i):
    return i & 7


def relay(n):
    yield from numbers(n)


def pull(n):
    return sum(item for item in relay(n))


class Turn:
    def __await__(self):
        yield small(1)


async def ping(n):
    for _ in range(n):
        await Turn()


async def pong(n):
    await ping(n)


def drive(n):
    coroutine = pong(n)
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pull(200)
        drive(200)
    legal = [
        ["<module>", "main"],
        ["<module>", "Turn"],  # the body of the class
        ["main", "pull"],
        ["pull", "pull.<locals>.<genexpr>"],
        ["pull", "relay"],  # a call that makes the generator and returns it
        ["pull.<locals>.<genexpr>", "relay"],
        ["relay", "numbers"],
        ["numbers", "small"],
        ["main", "drive"],
        ["drive", "pong"],
        ["pong", "ping"],
        ["ping", "Turn.__await__"],
        ["Turn.__await__", "small"],
    ]
    print(json.dumps({"legal": legal}))


if __name__ == "__main__":
    main()

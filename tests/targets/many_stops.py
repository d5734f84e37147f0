"""Asks the kernel from many places on many kinds of stacks, for ever, in the same order:
tests/unit/moments.c lets it go on from one to the next. It stops itself before that begins."""
import contextlib
import os
import signal

ask = os.getppid


def leaf():
    return ask()


def twin():
    return ask()


def calls():
    leaf()
    twin()
    return leaf() + ask()


def recursion(depth):
    if depth % 7 == 0:
        ask()
    return recursion(depth - 1) + 1 if depth else leaf()


def items(count):
    for i in range(count):
        ask()
        yield i


def relay(count):
    yield from items(count)
    yield leaf()


def generators():
    for _ in relay(2):
        ask()
    return sum(items(2)) + len([twin() for _ in items(2)])


def interleaved():
    first, second = relay(2), items(3)
    for _ in zip(first, second):
        leaf()
    first.close()


class Awaited:
    def __await__(self):
        ask()
        yield
        return leaf()


async def inner():
    await Awaited()
    return twin()


async def outer():
    await inner()
    ask()


def coroutines():
    task = outer()
    with contextlib.suppress(StopIteration):
        task.send(None)
        leaf()
        task.send(None)


def thrower(depth):
    if not depth:
        ask()
        raise KeyError
    try:
        thrower(depth - 1)
    finally:
        twin()


def exceptions():
    try:
        thrower(3)
    except KeyError:
        leaf()


class Dying:
    def __del__(self):
        ask()


def callbacks():
    sorted([2, 1], key=lambda value: leaf() + value)
    list(map(lambda value: twin(), [1, 2]))
    Dying()
    with manager():
        ask()


@contextlib.contextmanager
def manager():
    ask()
    try:
        yield
    finally:
        leaf()


def main():
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        ask()
        calls()
        recursion(30)
        generators()
        interleaved()
        coroutines()
        exceptions()
        callbacks()


main()

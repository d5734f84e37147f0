"""Stops itself at two known points, over and over: for recording page sets (make_pages).

First under a generator that C drives, then below a recursion over several data-stack chunks and a
callback from C. tests/unit/test_pages.c knows both stacks.
"""
import os
import signal
import threading


def halt():
    os.kill(os.getpid(), signal.SIGSTOP)


def leaf_a(n):
    halt()
    return n


def items(n):
    for i in range(n):
        yield leaf_a(i)


def outer_a():
    return sum(items(1))


def leaf_b(x):
    halt()
    return x


def outer_b():
    return sorted([1], key=leaf_b)


def deep(n):
    return deep(n - 1) if n else outer_b()


def main():
    threading.current_thread().name = "päge ✓"
    while True:
        outer_a()
        deep(200)


main()

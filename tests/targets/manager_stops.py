"""Asks the kernel from both halves of a context manager, for ever: one generator, whom __enter__
resumes first and __exit__ then. For tests/unit/moments.c, as many_stops.py."""
import contextlib
import os
import signal

ask = os.getppid


def leaf():
    return ask()


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
        leaf()
        with manager():
            ask()


main()

"""Goes from an interpreter into another one and from there into a third, and back, over and over,
with system calls on the way; for ever, by the same way: tests/unit/moments.c knows it. It
stops itself before that begins."""
import os
import signal
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INNER = """
import os

def inner():
    os.getppid()
"""
MIDDLE = f"""
import os

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def middle():
    os.getppid()
    interpreters.run_string(nested, "inner()")
    os.getppid()

nested = NEW
interpreters.run_string(nested, {INNER!r})
"""


def new_call():
    if sys.version_info >= (3, 13):
        return "interpreters.create('legacy')"
    if sys.version_info >= (3, 9):
        return "interpreters.create(isolated=False)"
    return "interpreters.create()"


def outer():
    os.getppid()


def main():
    made = eval(new_call())
    interpreters.run_string(made, MIDDLE.replace("NEW", new_call()))
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        outer()
        interpreters.run_string(made, "middle()")


main()

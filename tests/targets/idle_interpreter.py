"""Waits for the end of its input, while another interpreter, made later, is there and runs nothing."""
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters


def wait_for_the_end():
    print("ready", flush=True)
    sys.stdin.read()


kept = interpreters.create()
wait_for_the_end()

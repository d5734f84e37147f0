"""Counts its own work, piece by piece, until it is sent SIGTERM; then says when each was done.

    counting.py

Writes to stdout, as 64-bit numbers of the machine: how many pieces there were, and the time at the
end of each (CLOCK_MONOTONIC, ns). A piece is about 0.2 ms of calls, lists and numbers.
"""
import signal
import sys
import time
from array import array

LOOPS = 150

clock = time.monotonic_ns
times = array("q", [clock()])
over = []


def inner(values, n):
    values.append(n & 0xFF)
    return len(values)


def middle(n):
    values = [n, n + 1]
    return inner(values, n) + sum(values)


def piece():
    total = 0
    for n in range(LOOPS):
        total += middle(n)
    return total


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: over.append(number))
    while not over:
        piece()
        times.append(clock())
    sys.stdout.buffer.write(array("q", [len(times)]).tobytes() + times.tobytes())


main()

"""Four threads that all do the same, until they are killed.

    four_threads.py churn|wait

churn: short calls all the time, three families of three functions by turns, so that hardly two
looks find the same stack with the same instruction. wait: they wait for a lock, and so does the
main thread, after the 0.3 s of work by which the bench sees that a program has started. The main
thread is one of the four.
"""
import sys
import threading
import time

THREADS = 4
STARTED_S = 0.32


def short(a):
    return a + 1


def long(a, b, c):
    d = e = f = a
    return [a, b, c, d, e, f]


def other(*args, **kwargs):
    return args or kwargs


def short_two(a):
    return short(a) + short(a)


def long_two(a):
    b = long(a, a, a)
    return long(b, a, b)


def other_two(a, *, b=0):
    return other(a, b, c=a) and other(b)


def churn():
    n = 0
    while True:
        n += 1
        short_two(n)
        long_two(n)
        other_two(n, b=n)


def wait():
    over.wait()


over = threading.Event()
work = {"churn": churn, "wait": wait}[sys.argv[1]]
if work is wait:
    while time.process_time() < STARTED_S:
        pass
for _ in range(THREADS - 1):
    threading.Thread(target=work, daemon=True).start()
work()

"""What a page has to tell of when calls, lines and instructions are counted: recursion, a generator,
two threads, regions, marks, and a constant that is nobody's business.

    paged.py [ROUNDS]
"""
import sys
import threading

import cairn

SECRET = "zaphod's own constant"


def leaf(n):
    return sum(i * i for i in range(n))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n > 0 and even(n - 1)


def steps(n):
    for i in range(n):
        yield leaf(i)


def secret():
    return len("zaphod's own constant") + len(SECRET)


def other():
    for _ in range(3):
        leaf(500)
        fib(5)


def main():
    thread = threading.Thread(target=other, name="other")
    thread.start()
    for round in range(int(sys.argv[1]) if len(sys.argv) > 1 else 6):
        with cairn.region("load"):
            leaf(3000)
        with cairn.region("work it" if round % 2 else "work"):
            fib(9)
            even(7)
            list(steps(10))
        cairn.mark(frame=round, who="zaphod's mark")
    secret()
    thread.join()


main()

"""Two greenlets that switch all the time, each with stacks of its own.

    greenlets.py [SECONDS]

Exits with 77 and says so when the interpreter has no greenlet.
"""
import json
import sys
import time

try:
    from greenlet import greenlet
except ImportError:
    print("greenlet is not installed", file=sys.stderr)
    sys.exit(77)


def left_leaf():
    return left_body.other.switch()


def left_body():
    while True:
        left_leaf()


def right_leaf():
    return right_body.other.switch()


def right_body(until):
    while time.perf_counter() < until:
        right_leaf()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    left, right = greenlet(left_body), greenlet(right_body)
    left_body.other, right_body.other = right, left
    right.switch(time.perf_counter() + seconds)
    legal = [["<module>", "main"], ["left_body", "left_leaf"], ["right_body", "right_leaf"]]
    print(json.dumps({"legal": legal, "roots": ["left_body", "right_body"]}))


main()

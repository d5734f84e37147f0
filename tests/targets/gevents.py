"""Three gevent greenlets that hand over through the hub all the time.

    gevents.py [SECONDS]

Exits with 77 and says so when the interpreter has no gevent.
"""
import json
import sys
import time

try:
    import gevent
except ImportError:
    print("gevent is not installed", file=sys.stderr)
    sys.exit(77)


def pause():
    gevent.sleep(0)


def first(until):
    while time.perf_counter() < until:
        pause()


def second(until):
    while time.perf_counter() < until:
        pause()


def third(until):
    while time.perf_counter() < until:
        pause()


def main():
    until = time.perf_counter() + (float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    gevent.joinall([gevent.spawn(body, until) for body in (first, second, third)])
    legal = [
        ["<module>", "main"],
        ["main", "main.<locals>.<listcomp>"],  # until 3.11
        ["first", "pause"],
        ["second", "pause"],
        ["third", "pause"],
    ]
    print(json.dumps({"legal": legal, "roots": ["first", "second", "third"]}))


main()

"""A program whose every line is told to a Python function by sys.settrace, as under a debugger.

    traced.py [SECONDS]

Prints the legal pairs caller -> callee among its own functions: the tracer is called from anywhere.
"""
import json
import sys
import time


def tracer(frame, event, arg):
    note()
    return tracer


def note():
    until = time.perf_counter() + 0.0002
    while time.perf_counter() < until:
        pass


def work():
    return inner(1)


def inner(x):
    y = x
    return y


def items():
    for i in range(3):
        yield inner(i)


def drain():
    return list(items())


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    until = time.perf_counter() + seconds
    sys.settrace(tracer)
    while time.perf_counter() < until:
        work()
        drain()
    sys.settrace(None)
    legal = [["<module>", "main"], ["main", "work"], ["main", "drain"], ["work", "inner"],
             ["drain", "items"], ["items", "inner"], ["tracer", "note"]]
    for name in ("main", "work", "drain", "items", "inner"):  # a comprehension is a frame, of no pair
        legal.append([name, "tracer"])
    print(json.dumps({"legal": legal}))


if __name__ == "__main__":
    main()

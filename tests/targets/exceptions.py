"""Exceptions raised five frames down and caught at the top, thousands of times a second.

    exceptions.py [SECONDS]

Prints the legal pairs caller -> callee among its own functions.
"""
import json
import sys
import time


class Refused(Exception):
    pass


def throw(n):
    raise Refused(n)


def third(n):
    throw(n)


def second(n):
    try:
        third(n)
    finally:
        tidy(n)


def first(n):
    second(n)


def tidy(n):
    return n


def attempt(n):
    try:
        first(n)
    except Refused:
        return tidy(n)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for n in range(1000):
            attempt(n)
    legal = [
        ["<module>", "main"],
        ["<module>", "Refused"],  # the body of the class
        ["main", "attempt"],
        ["attempt", "first"],
        ["attempt", "tidy"],
        ["first", "second"],
        ["second", "third"],
        ["second", "tidy"],
        ["third", "throw"],
    ]
    print(json.dumps({"legal": legal}))


if __name__ == "__main__":
    main()

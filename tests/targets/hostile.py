"""Functions whose names a page must show and not obey.

    hostile.py [SECONDS]

Prints the names, as JSON without a character that is not ASCII.
"""
import json
import sys
import time

FUNCTIONS = [
    "</script><script>window.obeyed=1</script>",
    "<img src=x onerror=window.obeyed=1>",
    "right\u202eto\u2066left",
    "null\0escape\x1b[31m",
    "line\u2028end\u2029",
    "invalid\udc80utf8",
    "long" * 250,
]


def spin(until, clock):
    while clock() < until:
        pass


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.4
    for name in FUNCTIONS:
        names = {"co_name": name}
        if hasattr(spin.__code__, "co_qualname"):
            names["co_qualname"] = name
        until = time.perf_counter() + seconds / len(FUNCTIONS)
        exec_as = type(spin)(spin.__code__.replace(**names), globals())
        exec_as(until, time.perf_counter)
    print(json.dumps({"functions": FUNCTIONS}))


main()

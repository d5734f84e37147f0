"""One function, three lines that spin for known times: which line is it?

    lines.py [SECONDS]

Prints the seconds spent by line number.
"""
import json
import sys
import time


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass
    return time.perf_counter() - start


def three_lines(seconds):
    deadline, first, second, third = time.perf_counter() + seconds, 0.0, 0.0, 0.0
    while time.perf_counter() < deadline:
        first += spin(0.002)
        second += spin(0.005)
        third += spin(0.013)
    line = three_lines.__code__.co_firstlineno + 3
    return {line: first, line + 1: second, line + 2: third}


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print(json.dumps({"caller": "three_lines", "line_s": three_lines(seconds)}))


if __name__ == "__main__":
    main()

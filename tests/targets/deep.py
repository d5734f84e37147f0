"""A stack 203 Python frames deep (<module>, main, 200 x level, spin), busy at its end.

    deep.py [SECONDS]
"""
import json
import sys
import time

LEVELS = 200


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass
    return time.perf_counter() - start


def level(n, seconds):
    if n == 1:
        return spin(seconds)
    return level(n - 1, seconds)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(json.dumps({"depth": LEVELS + 3, "spin_s": level(LEVELS, seconds)}))


main()

"""Busy in `before_exec`, then the same process becomes a new program, busy in `after_exec`.

    exec_midway.py [SECONDS_EACH]
"""
import json
import os
import sys
import time


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass


def before_exec(seconds):
    spin(seconds)


def after_exec(seconds):
    spin(seconds)


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "0.6"
    if sys.argv[-1] != "second":
        before_exec(float(seconds))
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), seconds, "second"])
    after_exec(float(seconds))
    print(json.dumps({"pid": os.getpid()}))


main()

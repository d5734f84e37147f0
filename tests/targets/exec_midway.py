"""Busy in `before_exec`, then the same process becomes a new program, busy in `after_exec`.

    exec_midway.py [SECONDS_EACH] [thread]

`thread`: it is another thread than the first that makes it one. Prints its number, and what the second
program used of the processors.
"""
import json
import os
import sys
import threading
import time


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass


def before_exec(seconds):
    spin(seconds)


def after_exec(seconds):
    spin(seconds)


def become(seconds):
    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), seconds, "second"])


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "0.6"
    if sys.argv[-1] != "second":
        before_exec(float(seconds))
        if sys.argv[-1] == "thread":
            thread = threading.Thread(target=become, args=[seconds])
            thread.start()
            thread.join()  # it does not come back
        become(seconds)
    before_s = time.process_time()
    after_exec(float(seconds))
    print(json.dumps({"pid": os.getpid(), "cpu_s": time.process_time() - before_s}))


main()

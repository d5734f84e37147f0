"""A process whose command line is empty at first, as in an exec that a busy machine draws out: a
copy of one that emptied its own puts it back later. Prints the pid of the copy.

    late_command.py [SECONDS]
"""
import ctypes
import json
import os
import sys
import time

LATE_S = 0.3


def work(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1000))


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 0.8
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    words = ctypes.string_at(begin, end - begin)
    work(LATE_S)  # who is looked at from outside has been met by now
    ctypes.memset(begin, 0, end - begin)
    child = os.fork()
    if child == 0:
        work(LATE_S)
        ctypes.memmove(begin, words, end - begin)
        work(length - LATE_S)
        os._exit(0)
    os.waitpid(child, 0)
    print(json.dumps({"child": child}))

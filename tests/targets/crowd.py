"""COUNT processes that all work, until they are ended.

    crowd.py COUNT

Says "ready" when all of them are there.
"""
import os
import sys


def work():
    total = 0
    while True:
        total += 1


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            work()
    print("ready", flush=True)
    os.wait()

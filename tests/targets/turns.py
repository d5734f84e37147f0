"""Works and sleeps in turns on one processor, which a forked child that only computes wants as well.

    turns.py [SECONDS]

Prints how long it took, and what the kernel says that its thread ran, and waited for the processor.
"""
import json
import os
import signal
import sys
import time


PROC = int(os.environ.get("PROC") or os.open("/proc", os.O_RDONLY))  # a chroot may not have one


def book():
    with open(os.open("thread-self/schedstat", os.O_RDONLY, dir_fd=PROC)) as file:
        return [int(word) / 1e9 for word in file.read().split()[:2]]


def compete(parent):
    while os.getppid() == parent:
        sum(range(10000))
    os._exit(0)


def work():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        sum(range(200))


def rest():
    time.sleep(0.02)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        compete(parent)
    begin, before = time.monotonic(), book()
    while time.monotonic() - begin < seconds:
        work()
        rest()
    wall_s, after = time.monotonic() - begin, book()
    os.kill(child, signal.SIGKILL)
    os.wait()
    cpu_s, runq_s = (b - a for a, b in zip(before, after))
    print(json.dumps({"wall_s": wall_s, "cpu_s": cpu_s, "runq_s": runq_s}))


if __name__ == "__main__":
    main()

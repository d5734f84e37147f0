"""Processes that live a few milliseconds each, one after the other, made by fork.

    brief_children.py [COUNT]

Prints the CPU time of all of them, by the kernel, and as each read it itself before it ended, and of
this one.
"""
import json
import mmap
import os
import resource
import struct
import sys
import time

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 150


def brief_life():
    total = 0
    for i in range(100_000):
        total += i


def cpu_s(whose):
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def main():
    own = mmap.mmap(-1, 8 * COUNT)
    for i in range(COUNT):
        child = os.fork()
        if not child:
            brief_life()
            struct.pack_into("d", own, 8 * i, time.process_time())
            os._exit(0)
        os.waitpid(child, 0)
    told = {
        "children": COUNT,
        "own_cpu_s": sum(struct.unpack(f"{COUNT}d", own)),
        "children_cpu_s": cpu_s(resource.RUSAGE_CHILDREN),
        "cpu_s": cpu_s(resource.RUSAGE_SELF),
    }
    print(json.dumps(told), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

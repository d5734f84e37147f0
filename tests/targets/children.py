"""A parent and two children, each busy in a function of its own.

    children.py fork|subprocess|spawn|fork-exec [SECONDS]

Children spin in `child_work`, the parent in `parent_work`. Prints the pids, and where they are forked
how long each child spun.
"""
import json
import multiprocessing
import os
import subprocess
import sys
import time

CHILDREN = 2
told = []  # pipes: what each forked child says


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass


def child_work(seconds):
    start = time.perf_counter()
    spin(seconds)
    return time.perf_counter() - start


def parent_work(seconds):
    spin(seconds)


def child_command(seconds):
    return [sys.executable, os.path.abspath(__file__), "child", str(seconds)]


def by_fork(seconds):
    pids = []
    for _ in range(CHILDREN):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(writer, b"%.6f" % child_work(seconds))
            os._exit(0)
        os.close(writer)
        pids.append(pid)
        told.append(reader)
    parent_work(seconds)
    for pid in pids:
        os.waitpid(pid, 0)
    return pids


def by_fork_and_exec(seconds):
    pids = []
    for _ in range(CHILDREN):
        pid = os.fork()
        if pid == 0:
            os.execv(sys.executable, child_command(seconds))
        pids.append(pid)
    parent_work(seconds)
    for pid in pids:
        os.waitpid(pid, 0)
    return pids


def by_subprocess(seconds):
    children = [subprocess.Popen(child_command(seconds)) for _ in range(CHILDREN)]
    parent_work(seconds)
    for child in children:
        child.wait()
    return [child.pid for child in children]


def by_spawn(seconds):
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=child_work, args=(seconds,)) for _ in range(CHILDREN)]
    for child in children:
        child.start()
    parent_work(seconds)
    for child in children:
        child.join()
    return [child.pid for child in children]


def main():
    mode = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.6
    if mode == "child":
        child_work(seconds)
        return
    how = {
        "fork": by_fork,
        "fork-exec": by_fork_and_exec,
        "subprocess": by_subprocess,
        "spawn": by_spawn,
    }
    pids = how[mode](seconds)
    spun_s = [float(os.read(reader, 100)) for reader in told]
    print(json.dumps({"parent": os.getpid(), "children": pids, "spun_s": spun_s}))


if __name__ == "__main__":
    main()

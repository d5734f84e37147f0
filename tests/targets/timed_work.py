"""Programs that know when their calls were, for `cairn run --timeline`.

    timed_work.py CASE [N]

Functions note the clock at their beginning and end, by themselves; what they noted is printed at
the end, a line for each process.
"""
import json
import os
import signal
import sys
import threading
import time

clock = time.monotonic_ns
noted = []
tids = {}


def leaf(who):
    begin = clock()
    spin(begin + 20_000)
    noted.append([who, "leaf", begin, clock()])


def spin(until):
    while clock() < until:
        pass


def branch(who, n):
    begin = clock()
    for _ in range(n):
        leaf(who)
    noted.append([who, "branch", begin, clock()])


def rec(who, n):
    begin = clock()
    leaf(who) if n == 0 else rec(who, n - 1)
    noted.append([who, "rec", begin, clock()])


def steps(who):
    """Noted from each resume to where it yields."""
    for _ in range(3):
        begin = clock()
        leaf(who)
        noted.append([who, "steps", begin, clock()])
        yield


def fails(who, n):
    begin = clock()
    try:
        if n == 0:
            raise KeyError(n)
        fails(who, n - 1)
    finally:
        noted.append([who, "fails", begin, clock()])


def work(who):
    tids[who] = threading.get_native_id()
    branch(who, 10)
    rec(who, 5)
    for _ in steps(who):
        time.sleep(0.001)
    try:
        fails(who, 3)
    except KeyError:
        pass


def plain():
    for _ in range(5):
        work("main")


def threads():
    made = [threading.Thread(target=work, args=(f"t{i}",), name=f"t{i}") for i in range(4)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


def family():
    work("parent")
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        noted.clear()
        work("child")
        tell()
        os._exit(0)
    os.waitpid(pid, 0)


def killed():
    work("main")
    tell()
    os.kill(os.getpid(), signal.SIGKILL)


def exits():
    work("main")
    tell()
    os._exit(7)


def short(n):
    return n


def first():
    pass


def last():
    pass


def many(count):
    first()
    for i in range(count):
        short(i)
    last()


def tell():
    print(json.dumps({"pid": os.getpid(), "tids": tids, "noted": noted}), flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(int, sys.argv[2:]))
    tell()

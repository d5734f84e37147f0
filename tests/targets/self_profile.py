"""A program that has itself sampled by cairn.profile(), in each way there is.

    self_profile.py block|decorator|named|async|generator|fails|nested|threads|fork|reaps|signals

Works about half a second in work(), all of it inside the profile, and a tenth in outside(). Prints
{"path": the recording or null, ...} at the end.
"""
import asyncio
import json
import os
import signal
import sys
import threading
import time

import cairn


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def work(seconds=0.5):
    spin(seconds)
    return 42


def outside():
    spin(0.1)


def block():
    with cairn.profile() as profile:
        work()
    return {"path": profile.path}


def decorator():
    decorated = cairn.profile(work)
    assert decorated() == 42 and decorated.__name__ == "work"
    return {}


def named():
    decorated = cairn.profile(out="named.cairn", rate="2khz")(work)
    assert decorated() == 42
    assert decorated(seconds=0.01) == 42, "not recorded: the file is there"
    assert decorated(0.01) == 42
    return {"path": os.path.abspath("named.cairn")}


def asynchronous():
    @cairn.profile
    async def main():
        await asyncio.sleep(0.01)
        return work()

    assert asyncio.run(main()) == 42
    return {}


def generator():
    @cairn.profile
    def numbers():
        got = yield 1
        work()
        yield got

    it = numbers()
    assert next(it) == 1 and it.send(5) == 5 and list(it) == []
    return {}


def fails():
    @cairn.profile
    def broken():
        work()
        raise KeyError("its own")

    broken()


def nested():
    with cairn.profile() as profile:
        work(0.3)
        for _ in range(3):
            with cairn.profile() as inner:
                work(0.1)
            assert inner.path is None
        with profile:
            work(0.01)
        work(0.1)
    return {"path": profile.path}


def threads():
    with cairn.profile() as profile:
        others = [threading.Thread(target=cairn.profile(work), args=(0.5,)) for _ in range(2)]
        for thread in others:
            thread.start()
        for thread in others:
            thread.join()
    return {"path": profile.path}


def fork():
    with cairn.profile() as profile:
        pid = os.fork()
        if pid == 0:
            work(0.2)
            with cairn.profile() as own:
                pass
            os._exit(0 if own.path and own.path != profile.path else 1)
        work()
        assert os.waitpid(pid, 0)[1] == 0
    return {"path": profile.path}


def reaps():
    """Waits for whatever child ends, as a server does that starts workers."""
    seen = []

    def on_child(number, frame):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                seen.append(1)
        except ChildProcessError:
            pass

    signal.signal(signal.SIGCHLD, on_child)
    with cairn.profile() as profile:
        work()
    return {"path": profile.path, "seen": len(seen)}


def signals():
    """What the program blocks, ignores and leaves open is not handed on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    leaky, other = os.pipe()
    os.set_inheritable(leaky, True)
    with cairn.profile() as profile:
        work()
        (task,) = os.listdir("/proc/self/task")
        with open(f"/proc/self/task/{task}/children") as file:
            (child,) = file.read().split()
        files = {fd: os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")}
        own = {os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2, leaky)}
        group = os.getpgid(int(child))
    handed_on = sorted(fd for fd, file in files.items() if file in own and file != "/dev/null")
    return {"path": profile.path, "handed_on": handed_on, "same_group": group == os.getpgrp()}


WAYS = {"async": asynchronous}


def main():
    way = sys.argv[1]
    told = WAYS.get(way, globals().get(way))()
    outside()
    print(json.dumps(told))


if __name__ == "__main__":
    main()

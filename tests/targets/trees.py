"""Trees of processes, each as the libraries make them.

    trees.py fork|spawn|forkserver|executor|subprocess COUNT
    trees.py brief COUNT      children that live 50 ms, one after another
    trees.py blink COUNT      children that do nothing, one after another
    trees.py unwatched COUNT  the same, while the parent of this process is stopped
    trees.py idle COUNT       children that sleep for 3 s, all at once
    trees.py daemon           a daemon, forked twice, that its starter waits for
    trees.py daemons COUNT    as many that are there at the same time, of starters that end at once
    trees.py threads COUNT    children, each with a thread named inner-I that works
    trees.py reuse            two children in a row under one pid (needs root)

Worker i of COUNT takes (i + 1) * 0.1 s of CPU time in `work`. Prints what it knows, as JSON.
"""
import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

STEP_S = 0.1
BRIEF_S = 0.05
IDLE_S = 3
lived_s = []  # by each child of `idle`, at most
NS_LAST_PID = "/proc/sys/kernel/ns_last_pid"


def work(number):
    end = time.process_time() + STEP_S * (number + 1)
    while time.process_time() < end:
        pass
    return os.getpid()


def first_work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def second_work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def by_context(method, count):
    context = multiprocessing.get_context(method)
    children = [context.Process(target=work, args=(i,)) for i in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.pid for child in children]


def work_with_all(number):
    together.wait()
    return work(number)


def by_executor(count):
    # Each waits until all have their work, so that none takes that of another.
    global together
    context = multiprocessing.get_context("fork")
    together = context.Barrier(count)
    with concurrent.futures.ProcessPoolExecutor(count, mp_context=context) as pool:
        return sorted(set(pool.map(work_with_all, range(count))))


def by_subprocess(count):
    me = os.path.abspath(__file__)
    children = [subprocess.Popen([sys.executable, me, "work", str(i)]) for i in range(count)]
    for child in children:
        child.wait()
    return [child.pid for child in children]


def fork_to(task, *args):
    pid = os.fork()
    if pid == 0:
        task(*args)
        os._exit(0)
    return pid


def brief(count):
    pids = []
    for _ in range(count):
        pids.append(fork_to(time.sleep, BRIEF_S))
        os.waitpid(pids[-1], 0)
    return pids


def blink(count):
    pids = []
    for _ in range(count):
        pids.append(fork_to(int))
        os.waitpid(pids[-1], 0)
    return pids


def unwatched(count):
    os.kill(os.getppid(), signal.SIGSTOP)
    try:
        return blink(count)
    finally:
        os.kill(os.getppid(), signal.SIGCONT)


def idle(count):
    births = {}
    for _ in range(count):
        born_s = time.monotonic()
        births[fork_to(time.sleep, IDLE_S)] = born_s
    for pid, born_s in births.items():
        os.waitpid(pid, 0)
        lived_s.append(time.monotonic() - born_s)
    return list(births)


def work_in_thread(number):
    thread = threading.Thread(target=work, args=(number,), name=f"inner-{number}")
    thread.start()
    thread.join()


def threads(count):
    pids = [fork_to(work_in_thread, i) for i in range(count)]
    for pid in pids:
        os.waitpid(pid, 0)
    return pids


def daemon():
    """The pid of a daemon that has ended: its end of the pipe is closed then."""
    reader, writer = os.pipe()

    def become_daemon():
        os.setsid()
        if os.fork() == 0:
            os.write(writer, b"%d\n" % os.getpid())
            work(2)

    os.waitpid(fork_to(become_daemon), 0)
    os.close(writer)
    with os.fdopen(reader) as told:
        return [int(told.read())]


def daemons(count):
    reader, writer = os.pipe()
    for _ in range(count):
        os.waitpid(fork_to(fork_to, work, 0), 0)
    os.close(writer)
    os.read(reader, 1)  # until the last one is over
    return []


def reuse():
    """Ends when the kernel gave the number of the first child to the second one too."""
    pid = fork_to(first_work, 0.3)
    os.waitpid(pid, 0)
    while True:
        with open(NS_LAST_PID, "w") as last:
            last.write(str(pid - 1))
        again = os.fork()
        if again == 0:
            if os.getpid() == pid:
                second_work(0.3)
            os._exit(0)
        os.waitpid(again, 0)
        if again == pid:
            return [pid]


def main():
    mode = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if mode == "work":
        work(count)
        return
    if mode in ("fork", "spawn", "forkserver"):
        pids = by_context(mode, count)
    elif mode in ("daemon", "reuse"):
        pids = {"daemon": daemon, "reuse": reuse}[mode]()
    else:
        makers = {"executor": by_executor, "subprocess": by_subprocess}
        pids = {**makers, "brief": brief, "daemons": daemons, "blink": blink, "idle": idle,
                "unwatched": unwatched, "threads": threads}[mode](count)
    print(json.dumps({"parent": os.getpid(), "children": pids, "lived_s": lived_s}))


if __name__ == "__main__":
    main()

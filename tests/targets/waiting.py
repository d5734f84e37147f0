"""Threads that wait for one thing each, and two that wait for the GIL whenever they do not run.

    waiting.py [SECONDS]

Prints, by thread name, the seconds each worked (and how many it lived at most), ran and waited for a
processor; and what it waited for: the system calls it may have been in, and the object.
"""
import fcntl
import json
import os
import socket
import sys
import tempfile
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
facts, created_s = {}, {}


PROC = int(os.environ.get("PROC") or os.open("/proc", os.O_RDONLY))  # a chroot may not have one


def waited_for_processor_s():
    with open(os.open("thread-self/schedstat", os.O_RDONLY, dir_fd=PROC)) as file:
        return int(file.read().split()[1]) / 1e9


def told(name, work, calls, thing):
    start, cpu_start = time.perf_counter(), time.thread_time()
    work()
    facts[name] = {
        "wall_s": time.perf_counter() - start,
        "cpu_s": time.thread_time() - cpu_start,
        "runq_s": waited_for_processor_s(),
        "calls": calls,
        "on": thing,
    }


def spin():
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        pass


def main():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    there, _ = server.accept()
    pipe_read, pipe_write = os.pipe()
    lock = threading.Lock()
    lock.acquire()
    # From 3.14 on the lock is a member of its object; 3.13 changed that within the minor.
    in_object = sys.version_info >= (3, 14)
    lock_on = "lock 0x%x" % (id(lock) + object.__basicsize__) if in_object else "lock 0x"
    with tempfile.NamedTemporaryFile(prefix="cairn-locked-") as held, open(held.name) as wanted:
        fcntl.flock(held, fcntl.LOCK_EX)
        jobs = [
            ("sleeper", lambda: time.sleep(SECONDS), ["clock_nanosleep", "select", "pselect6"], ""),
            ("locked", lambda: lock.acquire(timeout=4 * SECONDS), ["futex"], lock_on),
            ("receiver", lambda: client.recv(1), ["recvfrom"],
             "socket 127.0.0.1:%d" % server.getsockname()[1]),
            ("reader", lambda: os.read(pipe_read, 1), ["read"], "pipe"),
            ("flocker", lambda: fcntl.flock(wanted, fcntl.LOCK_EX), ["flock"],
             os.path.basename(held.name)),
            ("busy0", spin, ["futex"], "GIL"),
            ("busy1", spin, ["futex"], "GIL"),
        ]  # fmt: skip
        threads = [threading.Thread(target=told, args=job, name=job[0]) for job in jobs]
        for thread in threads:
            created_s[thread.name] = time.perf_counter()
            thread.start()
        for thread in threads[-2:]:
            thread.join()
        lock.release()
        there.send(b"x")
        os.write(pipe_write, b"x")
        fcntl.flock(held, fcntl.LOCK_UN)
        for thread in threads:
            thread.join()
            facts[thread.name]["most_s"] = time.perf_counter() - created_s[thread.name]
    print(json.dumps(facts))


if __name__ == "__main__":
    main()

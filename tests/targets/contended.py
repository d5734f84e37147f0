"""Forked children that want more processors than there are, each with three threads one after another
and three at once. Prints what the kernel says that each has used: {pid: seconds}.

    contended.py COUNT
"""
import hashlib
import json
import os
import sys
import threading
import time

DATA = b"x" * 100_000  # what is hashed runs without the GIL


def work(number):
    end = time.process_time() + 0.05 * (number + 1)
    while time.process_time() < end:
        hashlib.sha256(DATA).digest()


def together(count):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def child():
    for number in range(3):
        work(number)
    together(3)
    os._exit(0)


if __name__ == "__main__":
    children = []
    for _ in range(int(sys.argv[1])):
        children.append(os.fork())
        if children[-1] == 0:
            child()
    used = {pid: os.wait4(pid, 0)[2] for pid in children}
    print(json.dumps({pid: each.ru_utime + each.ru_stime for pid, each in used.items()}))

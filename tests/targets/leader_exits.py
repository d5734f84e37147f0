"""A process whose first thread ends before another does: from outside it looks like a zombie.
Prints the CPU time of both
and of the other, and for how long both were there.

    leader_exits.py [SECONDS]
"""
import ctypes
import json
import os
import sys
import threading
import time

SYS_EXIT = {"x86_64": 60, "aarch64": 93}[os.uname().machine]


over = []  # when the first thread ends


def spin(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass


def stay(seconds):
    begun = time.perf_counter()
    spin(seconds)
    told = {"cpu_s": time.process_time(), "stay_s": time.thread_time(), "both_s": over[0] - begun}
    print(json.dumps(told), flush=True)
    os._exit(0)


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 0.8
    spin(length / 2)
    threading.Thread(target=stay, args=[length]).start()
    time.sleep(0.1)  # it has not run for a while when it ends
    leave = ctypes.CDLL(None).syscall
    over.append(time.perf_counter())
    leave(SYS_EXIT, 0)

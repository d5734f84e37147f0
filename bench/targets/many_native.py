"""159 threads, as a process with PyTorch has them, of which two compute in C without the GIL.

    many_native.py

The main thread and a second one hash blocks (hashlib lets go of the GIL); 17 of Python wait on a
queue, as data loaders do; 140 that Python does not know, made by pthread_create, sleep in the
kernel, as pools of OpenMP and OpenBLAS do. Until SIGTERM; then it says when each block was done,
each computing thread for itself, as counting.py does.
"""
import ctypes
import hashlib
import queue
import signal
import sys
import threading
import time
from array import array

LOADERS, NATIVE, COMPUTING = 17, 140, 2
BLOCK = bytes(128 * 1024)

over = threading.Event()


def start_native():
    libc = ctypes.CDLL(None, use_errno=True)
    thread, asleep = ctypes.c_ulong(), ctypes.cast(libc.pause, ctypes.c_void_p)
    for _ in range(NATIVE):
        status = libc.pthread_create(ctypes.byref(thread), None, asleep, None)
        if status:
            raise OSError(status, "pthread_create")


def load(jobs):
    jobs.get()


def compute(times):
    digest = hashlib.sha256()
    while not over.is_set():
        digest.update(BLOCK)
        times.append(time.monotonic_ns())


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    jobs = queue.Queue()
    logs = [array("q", [time.monotonic_ns()]) for _ in range(COMPUTING)]
    threads = [threading.Thread(target=compute, args=(times,)) for times in logs[1:]]
    threads += [threading.Thread(target=load, args=(jobs,)) for _ in range(LOADERS)]
    for thread in threads:
        thread.start()
    start_native()
    compute(logs[0])
    for _ in range(LOADERS):
        jobs.put(None)
    for thread in threads:
        thread.join()
    for times in logs:
        sys.stdout.buffer.write(array("q", [len(times)]).tobytes() + times.tobytes())


main()

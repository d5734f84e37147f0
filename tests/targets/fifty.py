"""Fifty workers that are there at one time, each of which works for 50 ms of CPU time.

    fifty.py

Prints the workers' numbers and what each of them ran.
"""
import json
import multiprocessing
import os
import time

WORKERS = 50


def work(barrier, queue):
    barrier.wait()
    while time.process_time() < 0.05:
        pass
    barrier.wait()
    queue.put((os.getpid(), time.process_time()))


def main():
    barrier, queue = multiprocessing.Barrier(WORKERS), multiprocessing.SimpleQueue()
    workers = [multiprocessing.Process(target=work, args=(barrier, queue)) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    told = [queue.get() for worker in workers]
    for worker in workers:
        worker.join()
    print(json.dumps({"cpu_s": dict(told)}))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()

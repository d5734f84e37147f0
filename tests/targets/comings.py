"""Threads that stay, after a little work each, beside many that come and go.

    comings.py

Prints the CPU time of each that stays, by its name.
"""
import json
import threading
import time

STAY = 8
WORK_S = 0.04
GO = 100
over = threading.Event()
spent_s = {}


def work():
    while time.thread_time() < WORK_S:
        pass


def stay():
    work()
    over.wait()
    spent_s[threading.current_thread().name] = time.thread_time()


def go():
    time.sleep(0.002)


def main():
    staying = [threading.Thread(target=stay, name=f"stay-{i}") for i in range(STAY)]
    for thread in staying:
        thread.start()
    for _ in range(GO):
        thread = threading.Thread(target=go)
        thread.start()
        thread.join()
    over.set()
    for thread in staying:
        thread.join()
    print(json.dumps(spent_s))


if __name__ == "__main__":
    main()

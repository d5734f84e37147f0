"""Threads that stay, after a little work each, beside many that come and go.

    comings.py WORK_S

They stay for longer than a machine stands still. Prints the CPU time of each that stays, by its name.
"""
import json
import sys
import threading
import time

STAY, STAY_S = 8, 1.3
WORK_S = float(sys.argv[1])
over = threading.Event()
gone = threading.Event()
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


def let_go():
    while not gone.is_set():
        thread = threading.Thread(target=go)
        thread.start()
        thread.join()


def main():
    going = threading.Thread(target=let_go)
    going.start()
    time.sleep(0.1)
    staying = [threading.Thread(target=stay, name=f"stay-{i}") for i in range(STAY)]
    for thread in staying:
        thread.start()
    time.sleep(STAY * WORK_S + STAY_S)
    over.set()
    for thread in staying:
        thread.join()
    gone.set()
    going.join()
    print(json.dumps(spent_s))


if __name__ == "__main__":
    main()

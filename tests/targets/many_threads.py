"""Sleeps in many threads until its stdin ends; with `busy`, one more thread counts all the time.

    many_threads.py COUNT [busy]

Prints {"ready": PID, "threads": N} first, N being how many of COUNT the machine allowed, and how
many came to their end last.
"""
import _thread
import json
import os
import sys
import threading

STACK_BYTES = 64 * 1024


def sleep(began, gate, over):
    began.release()
    gate.acquire()
    gate.release()
    over.append(1)


def spin():
    count = 0
    while True:
        count += 1


def main():
    began, gate, over, count = _thread.allocate_lock(), _thread.allocate_lock(), [], 0
    began.acquire()
    gate.acquire()
    threading.stack_size(STACK_BYTES)
    try:
        for _ in range(int(sys.argv[1])):
            _thread.start_new_thread(sleep, (began, gate, over))
            # One after the other: thousands that want the GIL at once wake up 200 times a second each.
            began.acquire()
            count += 1
    except RuntimeError:
        pass  # a limit: so many it is
    if sys.argv[2:] == ["busy"]:
        threading.Thread(target=spin, daemon=True).start()
    print(json.dumps({"ready": os.getpid(), "threads": count}), flush=True)
    sys.stdin.read()
    gate.release()
    while len(over) < count:
        gate.acquire()
        gate.release()
    print(json.dumps({"over": len(over)}), flush=True)
    os._exit(0)


main()

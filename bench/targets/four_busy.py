"""64 threads, of which four want the GIL all the time; the others, the main one too, wait.

    four_busy.py
"""
import threading

THREADS, BUSY = 64, 4
over = threading.Event()


def spin():
    count = 0
    while True:
        count += 1


def wait():
    over.wait()


for n in range(THREADS - 1):
    threading.Thread(target=spin if n < BUSY else wait, daemon=True).start()
wait()

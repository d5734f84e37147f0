"""A program that never stops making things and dropping them: threads, tasks, code, children.

    soak.py SECONDS

Prints how many of each it made.
"""
import asyncio
import json
import os
import sys
import threading
import time

PIECE_S = 0.02
CODES = 100
made = {"threads": 0, "tasks": 0, "codes": 0, "children": 0, "rounds": 0}


def count_down(n):
    return n if n <= 0 else count_down(n - 1)


def spin():
    until = time.perf_counter() + PIECE_S
    while time.perf_counter() < until:
        count_down(20)


async def nap():
    await asyncio.sleep(PIECE_S / 4)
    count_down(50)


def in_threads():
    """One has a name that no other ever had, and one a loop of its own."""
    threads = [threading.Thread(target=spin), threading.Thread(target=spin, name="soak"),
               threading.Thread(target=lambda: asyncio.run(nap()), name="soak-loop")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made["threads"] += len(threads)


async def nap_all():
    await asyncio.gather(*(nap() for _ in range(10)))


def in_tasks():
    asyncio.run(nap_all())
    made["tasks"] += 10


def in_new_code():
    """A function made anew, of CODES that are made again and again."""
    names = {"time": time}
    number = made["codes"] % CODES
    text = f"def new_{number}():\n until = time.perf_counter() + {PIECE_S}\n"
    exec(text + " while time.perf_counter() < until: pass\n", names)
    names[f"new_{number}"]()
    made["codes"] += 1


def in_child():
    pid = os.fork()
    if pid == 0:
        spin()
        os._exit(0)
    os.waitpid(pid, 0)
    made["children"] += 1


def main(seconds):
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        in_threads()
        in_tasks()
        in_new_code()
        if made["rounds"] % 8 == 0:
            in_child()
        made["rounds"] += 1
    print(json.dumps(made))


if __name__ == "__main__":
    main(float(sys.argv[1]))

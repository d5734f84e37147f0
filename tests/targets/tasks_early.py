"""A task that is made a while before its loop runs.

    tasks_early.py

Prints its process, and how long the task stood before and slept after.
"""
import asyncio
import json
import os
import time


def wait(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def early():
    start = time.perf_counter()
    await asyncio.sleep(0.5)
    return time.perf_counter() - start


def main():
    loop = asyncio.new_event_loop()
    made = time.perf_counter()
    task = loop.create_task(early())
    wait(0.5)
    before_s = time.perf_counter() - made
    asleep_s = loop.run_until_complete(task)
    loop.close()
    print(json.dumps({"pid": os.getpid(), "before_s": before_s, "asleep_s": asleep_s}))


if __name__ == "__main__":
    main()

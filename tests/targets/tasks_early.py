"""A task that is made a while before its loop runs.

    tasks_early.py [slow]

Prints its process, and how long the task stood before and slept after. `slow`: the import of asyncio
takes a while where `asyncio.tasks` has made a set for its tasks and does not yet use that of `_asyncio`;
what lay there stays, as it does where its memory is given to nobody else.
"""
import json
import os
import sys
import time


def wait(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


KEPT = {}


def slowly(frame, event, _):
    if frame.f_code.co_name != "<module>" or not frame.f_code.co_filename.endswith("tasks.py"):
        return None
    if event == "line" and "_current_tasks" in frame.f_globals:
        sys.settrace(None)
        frame.f_trace = None
        KEPT.update(frame.f_globals)
        wait(0.3)
    return slowly


if "slow" in sys.argv[1:]:
    sys.settrace(slowly)
import asyncio  # noqa: E402

sys.settrace(None)


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

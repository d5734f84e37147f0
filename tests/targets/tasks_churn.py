"""Short tasks that come, go on and end all the time, beside some that sleep: each can only stand at
the lines that are marked for it.

    tasks_churn.py [SECONDS] [SLEEPERS]
"""
import asyncio
import sys
import time


async def leaf():
    await asyncio.sleep(0)  # line: leaf


async def middle(times):  # line: middle_new
    for _ in range(times):
        await leaf()  # line: middle


async def short():  # line: short_new
    await middle(3)  # line: short


async def sleeper(seconds):
    await asyncio.sleep(seconds)  # line: sleeper


async def main(seconds, sleepers):
    until = time.monotonic() + seconds
    asleep = [asyncio.create_task(sleeper(seconds + 10)) for _ in range(sleepers)]
    while time.monotonic() < until:
        await asyncio.gather(*(short() for _ in range(20)))  # line: main
    for task in asleep:
        task.cancel()
    await asyncio.gather(*asleep, return_exceptions=True)  # line: main_end


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    asyncio.run(main(length, int(sys.argv[2]) if len(sys.argv) > 2 else 10))

"""asyncio without `_asyncio`: its tasks are objects of Python then, and nobody keeps them for C.

    tasks_in_python.py [SECONDS]
"""
import sys

sys.modules["_asyncio"] = None
import asyncio  # noqa: E402


async def waits(seconds):
    await asyncio.sleep(seconds)


async def main(seconds):
    assert asyncio.Task is asyncio.tasks._PyTask
    await asyncio.gather(waits(seconds), waits(seconds))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0))

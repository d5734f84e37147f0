"""Two asyncio tasks: one computes between its awaits, one only sleeps.

    asyncio_pair.py [SECONDS]
"""
import asyncio
import json
import sys
import time


def compute(seconds):
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass
    return time.perf_counter() - start


async def worker(until):
    spent = 0.0
    while time.perf_counter() < until:
        spent += compute(0.004)
        await asyncio.sleep(0.001)
    return spent


async def idler(until):
    while time.perf_counter() < until:
        await asyncio.sleep(0.05)


async def main(seconds):
    start = time.perf_counter()
    spent, _ = await asyncio.gather(worker(start + seconds), idler(start + seconds))
    print(json.dumps({"compute_s": spent, "wall_s": time.perf_counter() - start}))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0))

"""Writes a binary recording of `profiling.sampling` by its own writer; runs under CPython 3.15.

    large_tachyon.py FILE SAMPLES

The same kind of program as large_recording.c: 16 threads, 200,000 stacks of 4 to 60 frames over
3,000 functions, a few stacks far more frequent than the others.
"""
import random
import sys

from _remote_debugging import FrameInfo, InterpreterInfo, LocationInfo, ThreadInfo
from profiling.sampling.binary_collector import BinaryCollector

FUNCTIONS, CALLEES, STACKS, THREADS = 3000, 5, 200_000, 16
DEPTH_MIN, DEPTH_MAX = 4, 60
ON_CPU = 2  # THREAD_STATUS_ON_CPU

rng = random.Random(2026)
graph = [[rng.randrange(FUNCTIONS) for _ in range(CALLEES)] for _ in range(FUNCTIONS)]


def frame(function, call):
    line = 11 + function % 20 * 20 + call
    file = f"/srv/app/module_{function // 20:03}.py"
    return FrameInfo((file, LocationInfo((line, line, 0, 8)), f"function_{function:04}", None))


frames = [[frame(function, call) for call in range(CALLEES)] for function in range(FUNCTIONS)]


def make_stacks():
    """Walks through the program; each stack is leaf first."""
    stacks, seen, path = [], set(), []
    while len(stacks) < STACKS:
        del path[rng.randrange(DEPTH_MAX) :]
        depth = rng.randint(DEPTH_MIN, DEPTH_MAX)
        while len(path) < depth:
            function = rng.choice(graph[path[-1][0]]) if path else 0
            path.append((function, rng.randrange(CALLEES)))
            key = tuple(path)
            if key not in seen and len(stacks) < STACKS:
                seen.add(key)
                stacks.append([frames[f][c] for f, c in reversed(path)])
    return stacks


def main():
    file, samples = sys.argv[1], int(sys.argv[2])
    stacks = make_stacks()
    collector = BinaryCollector(file, 1000)
    on = [None] * THREADS
    for tick in range(samples // THREADS):
        for i in range(THREADS):
            if on[i] is None or rng.random() < 0.5:
                on[i] = stacks[int(rng.random() ** 3 * STACKS)]
        threads = [ThreadInfo((4242 + i, ON_CPU, stack)) for i, stack in enumerate(on)]
        collector.collect([InterpreterInfo((0, threads))], tick * 1000)
    seconds = samples / THREADS / 1000
    collector.set_stats(1000, seconds, 1000.0, 0.0, 0)
    collector.export()


main()

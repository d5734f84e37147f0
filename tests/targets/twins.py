"""Two functions that do the same work, one by itself and one through a tiny callee.

    twins.py SHARE [SECONDS]

`inlined` gets SHARE of the time, `called` the rest, in pieces of random length. A profiler that sees a
program only where it calls or returns charges the callee's twin with more (or less) than it took.
Prints the seconds that each of them took, callees included.
"""
import json
import random
import sys
import time

clock = time.perf_counter


def step(x):
    return (x * 1103515245 + 12345) & 0x7FFFFFFF


def called(rounds):
    x = 1
    for _ in range(rounds):
        x = step(x)
    return x


def inlined(rounds):
    x = 1
    for _ in range(rounds):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def main():
    share = float(sys.argv[1])
    until = clock() + (float(sys.argv[2]) if len(sys.argv) > 2 else 2.0)
    rng = random.Random(1)
    spent = {"inlined": 0.0, "called": 0.0}
    cpu = dict(spent)
    answers = set()
    # The shares are of time: a piece of work goes to whoever is behind.
    while clock() < until:
        behind = spent["inlined"] < share * (spent["inlined"] + spent["called"])
        rounds = rng.randrange(100, 4000)
        start, cpu_start = clock(), time.thread_time()
        answers.add(inlined(rounds) if behind else called(rounds))
        cpu_end, end = time.thread_time(), clock()
        name = "inlined" if behind else "called"
        spent[name] += end - start
        cpu[name] += cpu_end - cpu_start
    print(json.dumps({"spent_s": spent, "cpu_s": cpu, "answers": len(answers)}))


if __name__ == "__main__":
    main()

"""Three functions with known shares of the time: 10, 30 and 60 %, in slices of random length.

    busy.py [SECONDS [SEED]]

Prints what it measured itself: seconds of wall time in each function, and of the whole.
"""
import json
import random
import sys
import time

clock = time.perf_counter


def light(until):
    while clock() < until:
        pass


def medium(until):
    while clock() < until:
        pass


def heavy(until):
    while clock() < until:
        pass


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    spent = {light: 0.0, medium: 0.0, heavy: 0.0}
    shares = ((light, 0.1), (medium, 0.3), (heavy, 0.6))
    start, cpu_start = clock(), time.thread_time()
    while clock() - start < seconds:
        for function, share in shares:
            before = clock()
            function(before + share * rng.uniform(0.002, 0.05))
            spent[function] += clock() - before
    print(
        json.dumps(
            {
                "spent_s": {function.__name__: s for function, s in spent.items()},
                "wall_s": clock() - start,
                "cpu_s": time.thread_time() - cpu_start,
            }
        )
    )


if __name__ == "__main__":
    main()

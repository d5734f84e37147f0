"""Code that is made, run once for a known time and dropped, so that the next one's lies where it did.

    made.py [SECONDS]

Prints the seconds spent in each of eight functions, by its name. The next one is drawn by chance.
"""
import json
import random
import sys
import time

clock = time.perf_counter
SOURCE = "def made_{i}(until):\n    while clock() < until:\n        pass\n"
LENGTHS_S = [i * 30e-6 for i in range(1, 9)]


def run(i, length_s, spent):
    scope = {"clock": clock}
    exec(SOURCE.format(i=i), scope)
    start = clock()
    scope.pop(f"made_{i}")(start + length_s)
    spent[f"made_{i}"] = spent.get(f"made_{i}", 0.0) + clock() - start


def main():
    spent = {}
    end = clock() + float(sys.argv[1] if len(sys.argv) > 1 else 2)
    while clock() < end:
        for i, length_s in random.sample(list(enumerate(LENGTHS_S)), len(LENGTHS_S)):
            run(i, length_s, spent)
    print(json.dumps({"spent_s": spent}))


if __name__ == "__main__":
    main()

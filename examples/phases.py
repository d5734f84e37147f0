"""A program that says what it is at: `PYTHONPATH=build/python cairn run examples/phases.py`.

The report has its regions, with how long half, nine of ten and 99 of a hundred of each took at most.
"""
import random

import cairn


@cairn.timed
def parse(words):
    return sorted(words * 200)


def main():
    draw = random.Random(1)
    for page in range(60):
        with cairn.region("page"):
            words = [str(draw.random()) for _ in range(20 if page % 20 else 400)]
            parse(words)
        cairn.mark("done", page=page)


if __name__ == "__main__":
    main()

"""Five passes over 60,000 items, 64 at a time, through a framework whose engine is native.

Shows a data reader and bookkeeping beside the native work: 300,000 items come out of `reader`,
the engine runs 4,696 times (938 batches and one evaluation a pass, and one start-up run), and
each run clones the program first.

    cairn run examples/reader.py
"""
from framework import Executor, Program, append_backward

PASSES = 5
ITEMS = 60_000
BATCH = 64
OPERATORS = ["conv", "relu", "pool", "conv", "relu", "pool", "fc", "softmax"]
WEIGHTS = int.from_bytes(bytes(i * 37 % 251 for i in range(120_000)), "little")


def reader(seed):
    """Items one at a time, shuffled by a linear congruence so that every pass is the same."""
    state = seed
    for _ in range(ITEMS):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        yield state >> 23


def batches(items):
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def main():
    program = Program(list(OPERATORS))
    append_backward(program)
    executor = Executor(WEIGHTS)
    executor.run(program, [0])
    runs, checksum = 1, 0
    for seed in range(PASSES):
        for batch in batches(reader(seed)):
            _, result = executor.run(program, batch)
            checksum ^= result & 0xFFFFFFFF
            runs += 1
        executor.run(program, batch)
        runs += 1
    print(f"{PASSES * ITEMS} items, {runs} runs, checksum {checksum:08x}")


if __name__ == "__main__":
    main()

"""Row import: how long it takes, and how much memory, to read a large file of another tool.

The files are written here: a speedscope file of samples, and trace events as PyTorch's Kineto
writes them, with arguments. Beside Cairn stands Python's `json.load` of the same bytes, which
knows what they hold as little as `cat` does; it is tried where its memory can be hoped to suffice.
"""
import json
import random
import sys
import time

import machine
import measure
from table import Goal

ROWS = ("import",)
ROUNDS = 2
MB = 10**6
SPEEDSCOPE_BYTES, CHROME_BYTES = 375 * MB, 2000 * MB
LOADED_BYTES_MAX = 400 * MB  # by json.load: it takes some ten times as much memory
QUICK = 100  # so many times smaller
MEMORY_MIB = 512  # what bounded memory is held against
SEED = 2026
FUNCTIONS, STACKS, DEPTH = 3000, 20000, (4, 60)
THREADS = 16
BATCH = 10000
DEADLINE_S = 600
WHERE = "offline"
EXPECTED = {"all": "no figure in the research"}
REASONS = {"py-spy": "reads no file of another tool", "austin": "reads its own alone",
           "profiling.sampling": "reads its own alone"}


def place(number):
    return f"/srv/app/module_{number // 20:03}.py"


def write_speedscope(path, size_bytes):
    """Samples on 20,000 stacks of 4 to 60 frames, of which few have most samples."""
    draw = random.Random(SEED)
    frames = [{"name": f"Class{i // 5}.function_{i:04}", "file": place(i), "line": 10 + i % 20 * 20}
              for i in range(FUNCTIONS)]
    stacks = [json.dumps([draw.randrange(FUNCTIONS) for _ in range(draw.randint(*DEPTH))])
              for _ in range(STACKS)]
    common = [1 / (i + 10) for i in range(STACKS)]
    head = {"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "bench",
            "shared": {"frames": frames}}
    with open(path, "w") as file:
        file.write(json.dumps(head)[:-1] + ', "profiles": [{"type": "sampled", "name": "worker", '
                   '"unit": "milliseconds", "startValue": 0, "samples": [')
        count = 0
        while file.tell() < size_bytes * 0.97:  # the rest are the weights
            batch = draw.choices(stacks, common, k=BATCH)
            file.write((", " if count else "") + ", ".join(batch))
            count += len(batch)
        file.write('], "weights": [' + ", ".join(["1"] * count) + f'], "endValue": {count}}}]}}')


def write_chrome(path, size_bytes):
    """Calls of 16 threads, each of 1 to 4 calls within it, on 20,000 paths, as they began."""
    draw = random.Random(SEED)
    tails = [f'"name": "{place(i)}({10 + i % 20 * 20}): function_{i:04}", "args": {{"External id": '
             f'{1000 + i}, "Ev Idx": {i}, "Python id": {i}, "Python parent id": {i // 2}, '
             f'"Python module id": {i % 77}, "Input Dims": [[64, 128], [128]]}}}}'
             for i in range(FUNCTIONS)]
    paths = [[draw.choice(tails) for _ in range(draw.randint(2, 5))] for _ in range(STACKS)]
    at_us = 0.0
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [{"ph": "M", "pid": 7, "tid": 7, '
                   '"name": "process_name", "args": {"name": "trainer"}}')
        while file.tell() < size_bytes:
            lines = []
            for _ in range(BATCH // 4):
                thread, length_us = draw.randrange(THREADS), 100.0
                for depth, tail in enumerate(draw.choice(paths)):
                    lines.append(f',\n{{"ph": "X", "cat": "python_function", "pid": 7, "tid": '
                                 f'{100 + thread}, "ts": {at_us + depth:.3f}, "dur": '
                                 f'{length_us - 2 * depth:.3f}, {tail}')
                at_us += length_us + 1
            file.write("".join(lines))
        file.write("]}")


FILES = {"speedscope": (write_speedscope, SPEEDSCOPE_BYTES), "chrome": (write_chrome, CHROME_BYTES)}


def make_tables(bench, name):
    what = f"a {name} file"
    return (bench.table(f"import: speed, {name}", f"Import of {what}, speed", "MB/s", EXPECTED),
            bench.table(f"import: memory, {name}", f"Import of {what}, peak memory", "MiB",
                        EXPECTED, Goal(MEMORY_MIB)))


def measure_rows(bench):
    for name, why in REASONS.items():
        bench.refused[name, "an import"] = why
    print(f"{time.strftime('%H:%M:%S')} import", file=sys.stderr, flush=True)
    binary = bench.tools["cairn"][0].binary
    machine.to_every_core()
    for name, (write, full_bytes) in FILES.items():
        path, tables = bench.folder / f"large.{name}.json", make_tables(bench, name)
        write(path, full_bytes // (QUICK if bench.quick else 1))
        size_bytes = path.stat().st_size
        work = {"cairn": [binary, "import", "--force", "-o", bench.folder / "out.cairn", path]}
        if size_bytes <= LOADED_BYTES_MAX:
            work["json.load"] = [sys.executable, "-c", "import json, sys; "
                                 "json.load(open(sys.argv[1]))", path]
        for turn in range(min(ROUNDS, bench.rounds)):
            for tool, args in work.items():
                try:
                    ran = measure.run([str(a) for a in args], DEADLINE_S)
                except measure.Failed as why:
                    for table in tables:
                        table.fail(WHERE, tool, why)
                    continue
                tables[0].add(turn, WHERE, tool, size_bytes / MB / ran.wall_s)
                tables[1].add(turn, WHERE, tool, ran.peak_bytes / 2**20)
        path.unlink()
    machine.to_tool_cores()

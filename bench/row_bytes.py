"""Row bytes: how large a recording is, for each time that one thread was looked at.

A recording has a part that does not grow (the interpreter, the machine, the code). The rows that
have a target record long enough that this part is told apart: Cairn's lines say how large it is and
what each further sample takes, by a second and shorter recording.
"""
import contextlib
import dataclasses
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import measure
from table import Goal

ROWS = ("bytes",)
HZ = 1000
ROUNDS = 1  # sizes hardly vary
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")
PROGRAMS = (("flutter.py", "call churn"), ("deep.py", "203 deep"),
            ("idle_threads.py", "64 idle threads"))
EXPECTED = {
    "call churn": {"cairn": "<= 2", "profiling.sampling": "1.67", "austin": "4-20"},
    "203 deep": {"cairn": "<= 2", "profiling.sampling": "0.86", "austin": "200-1,000"},
    "64 idle threads": {},
}
CHURN, WAIT = "four_threads.py churn", "four_threads.py wait"
LONG_S = {CHURN: 20, WAIT: 60}  # why so long: see README.md
SHORT_S, QUICK_SHORT_S, QUICK_S = 5, 2, 8
GOALS = {CHURN: Goal(2), WAIT: Goal(0.3)}


def bytes_each(tool, reading):
    """(bytes per thread-sample, thread-samples)"""
    # Cairn keeps the samples it calls torn; the others drop what they call lost.
    kept = reading.good + (reading.lost if tool.name == "cairn" else 0)
    if kept == 0:
        raise measure.Failed("no sample")
    return reading.bytes / kept, kept


def measure_short(bench):
    seconds = bench.seconds(5, 2)
    for program, name in bench.some(PROGRAMS):
        table = bench.table(f"bytes: {name}", f"Size of a recording at 1 kHz, {name}, {seconds} s",
                            "bytes per thread-sample", EXPECTED[name])
        for turn, subject, tool in bench.turns(f"bytes, {name}", TOOLS, ROUNDS):
            try:
                _, reading = bench.profile(tool, subject, program, seconds, HZ, "recording")
                table.add(turn, subject.label, tool.name, bytes_each(tool, reading)[0])
            except measure.Failed as why:
                table.fail(subject.label, tool.name, why)


def parts(tool, short, long):
    """What of a recording grows with it."""
    (_, few), (_, many) = bytes_each(tool, short), bytes_each(tool, long)
    each = (long.bytes - short.bytes) / (many - few)
    fixed = max(0.0, long.bytes - each * many)
    return (f"{many:,} thread-samples; {each:.2f} bytes for each further one, "
            f"{fixed / 1000:,.0f} kB are fixed ({100 * fixed / long.bytes:.0f} %)")


def measure_one(bench, tool, subject, process, seconds):
    """A long recording and, of Cairn, a short one of the same program: (long, short or None)."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as place:
        own = dataclasses.replace(bench, folder=Path(place))  # they may run side by side
        short = None
        if tool.name == "cairn":
            short_s = bench.seconds(SHORT_S, QUICK_SHORT_S)
            _, short = own.attach(tool, subject, process.pid, short_s, HZ, "recording")
        _, long = own.attach(tool, subject, process.pid, seconds, HZ, "recording")
        return long, short


def take_together(bench, program, turns, seconds):
    """All at once, when the programs only wait: sizes do not mind company."""
    with contextlib.ExitStack() as stack:
        work = [(subject, tool, stack.enter_context(subject.running(program)))
                for _, subject, tool in turns]
        with ThreadPoolExecutor(max(1, len(work))) as pool:
            began = [(subject, tool,
                      pool.submit(measure_one, bench, tool, subject, process, seconds))
                     for subject, tool, process in work]
            yield from ((subject, tool, future.result) for subject, tool, future in began)


def take_in_turn(bench, program, turns, seconds):
    for _, subject, tool in turns:
        with subject.running(program) as process:
            yield subject, tool, partial(measure_one, bench, tool, subject, process, seconds)


def measure_long(bench, program, name, take):
    seconds = bench.seconds(LONG_S[program], QUICK_S)
    table = bench.table(f"bytes: {name}", f"Size of a recording at 1 kHz, {name}, {seconds} s",
                        "bytes of the whole file per thread-sample, all metrics", {},
                        GOALS[program])
    turns = bench.turns(f"bytes, {name}", TOOLS, 1, elsewhere=True)
    for subject, tool, result in take(bench, program, turns, seconds):
        try:
            long, short = result()
            table.add(0, subject.label, tool.name, bytes_each(tool, long)[0])
            if short:
                table.notes[subject.label, tool.name] = parts(tool, short, long)
        except measure.Failed as why:
            table.fail(subject.label, tool.name, why)


def measure_rows(bench):
    measure_short(bench)
    measure_long(bench, CHURN, "4 threads, call churn", take_in_turn)
    measure_long(bench, WAIT, "4 threads, all unchanged", take_together)

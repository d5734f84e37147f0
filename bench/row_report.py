"""Row report: how long it takes, and how much memory, to report on a large recording.

Cairn's comes from large_recording.c. For the peer that reads its own recordings again, the same
kind of program (16 threads, as many stacks of the same depths) is written by its own writer
(large_tachyon.py), with the fewest samples: its time grows with them, its rows say so.
"""
import subprocess
import sys
import time

import machine
import measure
from subjects import ROOT, build_program
from table import Goal

ROWS = ("report",)
ROUNDS = 2
MILLION = 1_000_000
SIZES = (100 * MILLION, 10 * MILLION, MILLION)  # 0.3 GB on the disk
FILTERED = 10 * MILLION
FILTER = ("--thread", "worker-3", "--from", "100s", "--to", "500s", "--focus", "function_1737")
DEADLINE_S = 400
MB = 1e6 / 2**20  # in MiB
GOALS = {10 * MILLION: {"time": Goal(1), "memory": Goal(200 * MB)},
         100 * MILLION: {"time": Goal(10), "memory": Goal(300 * MB)}}
WHERE = "offline"
EXPECTED = {"all": "no figure in the research"}
REASONS = {
    "py-spy": "keeps no recording that it can report on",
    "austin": "has no report; what it writes is converted by other tools",
}


def make_recordings(bench):
    """{samples: file}, by the program that the build knows but does not build of itself."""
    program = build_program("large_recording")
    files = {}
    for samples in (MILLION,) if bench.quick else SIZES:
        files[samples] = bench.folder / f"{samples}.cairn"
        subprocess.run([program, files[samples], str(samples)], check=True, timeout=300)
    return files


def make_tachyon(bench):
    """The command that replays a million samples, and its file; None when the peer is not at hand,
    or when there is no time: it takes a minute."""
    if bench.quick or "profiling.sampling" not in bench.tools:
        return None
    tool = bench.tools["profiling.sampling"][0]
    subject = tool.subject
    seen, _ = subject.scratch(bench.folder, "large.tachyon")
    script = (ROOT / "bench" / "large_tachyon.py").read_text()
    subprocess.run([*subject.prefix(), subject.executable, "-c", script, seen, str(MILLION)],
                   check=True, timeout=300)
    return [*tool.command, "replay"], seen


def make_tables(bench, name, samples):
    goals = GOALS.get(samples, {})
    return [bench.table(f"report: {what}, {name}", f"Report on {name}, {title}", unit, EXPECTED,
                        goals.get(what))
            for what, title, unit in (("time", "time", "s"), ("cpu", "CPU", "s"),
                                      ("memory", "peak memory", "MiB"))]


def make_work(bench, files):
    """(tool, tables, command) of what Cairn is to do."""
    binary = bench.tools["cairn"][0].binary
    work = {samples: ("cairn",
                      make_tables(bench, f"{samples // MILLION} million samples", samples),
                      [binary, "report", file]) for samples, file in files.items()}
    filtered = files.get(FILTERED)
    if filtered:
        tables = make_tables(bench, f"a thread, a time and a function of {FILTERED // MILLION} "
                                    "million samples", FILTERED)
        work["filtered"] = ("cairn", tables, [binary, "report", filtered, *FILTER])
    return work


def measure_rows(bench):
    for name, why in REASONS.items():
        bench.refused[name, "a report on a recording"] = why
    print(f"{time.strftime('%H:%M:%S')} report", file=sys.stderr, flush=True)
    files, replay = make_recordings(bench), make_tachyon(bench)
    work = make_work(bench, files)
    machine.to_every_core()
    for turn in range(min(ROUNDS, bench.rounds)):
        # Once: it takes minutes, and its ratio is far from 1.
        peers = [("profiling.sampling", work[MILLION][1], [*replay[0], "--pstats", replay[1]])
                 ] if replay and turn == 0 else []
        for name, tables, args in [*work.values(), *peers]:
            try:
                ran = measure.run([str(a) for a in args], DEADLINE_S)
            except measure.Failed as why:
                for table in tables:
                    table.fail(WHERE, name, why)
                continue
            values = ran.wall_s, ran.cpu_s, ran.peak_bytes / 2**20
            for table, value in zip(tables, values):
                table.add(turn, WHERE, name, value)
    machine.to_tool_cores()

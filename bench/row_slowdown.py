"""Rows slowdown and torch: how much slower a program gets that counts its own work (windows.py).

`nothing` is the A/A line: a command that only sleeps is stopped and continued by the same plan.
"""
import math
import random
import signal
import subprocess
from collections import defaultdict

import measure
import windows
from table import Goal
from tools import Reading, Tool

ROWS = ("slowdown", "torch")
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")
LONGEST_S = 600  # the profiler is ended before
ROUNDS = {"slowdown": 3, "torch": 2}
EXPECTED = {
    "slowdown": {"cairn": "within noise", "py-spy": "2 % at 100 Hz", "nothing": "0"},
    "torch": {"py-spy": "5-15", "nothing": "1"},
}


class Nothing(Tool):
    name = "nothing"
    good_status = (-signal.SIGINT,)

    def attach(self, subject, pid, seconds, hz, out, form):
        return ["sleep", seconds]

    def read(self, ran, out, form):
        return Reading(0, 0)


def measure_run(bench, tool, subject, program, hz, pairs, turn):
    """One program and one profiler: (logs of the pairs, what is left when off, thread-samples a
    second of the time on)."""
    rng = random.Random(windows.PLAN_SEED + turn)  # the same plan for every tool of a round
    with subject.running(program) as process:
        seen, out = tool.file(subject, bench.folder)
        out.unlink(missing_ok=True)
        args = [str(a) for a in tool.attach(subject, process.pid, LONGEST_S, hz, seen, "recording")]
        seen_windows, ran = windows.attend(tool, args, process.pid, pairs, rng)
        process.send_signal(signal.SIGTERM)
        try:
            said, _ = process.communicate(timeout=windows.END_S)
        except subprocess.TimeoutExpired:
            raise measure.Failed("the program did not say what it had done") from None
        if not isinstance(tool, Nothing) and not out.exists():
            raise measure.Failed(f"wrote nothing: {ran.last_words()}")
        reading = tool.read(ran, str(out), "recording")
    work = windows.Work(said)
    rate = (reading.good + reading.lost) / seen_windows.on_s
    return windows.logs_of(seen_windows, work), windows.residue(seen_windows, work), rate


def measure_table(bench, table, program, hz, pairs, of_log):
    """`of_log`: how the table says a mean log."""
    runs, rests, rates = defaultdict(list), defaultdict(list), defaultdict(list)
    for turn, subject, tool in bench.turns(table.key, TOOLS, ROUNDS[table.key], elsewhere=True,
                                           besides=(Nothing(),)):
        key = subject.label, tool.name
        try:
            logs, rest, rate = measure_run(bench, tool, subject, program, hz, pairs, turn)
        except measure.Failed as why:
            table.fail(*key, why)
            continue
        runs[key].append(logs)
        rests[key].append(rest)
        rates[key].append(rate)
        table.add(turn, *key, of_log(sum(logs) / len(logs)))
    for key, logs in runs.items():
        middle, low, high = map(of_log, windows.interval(logs))
        # Nobody gets faster by being looked at: then something else was measured.
        table.judged[key] = high if high >= of_log(0) else (low, math.inf)
        table.notes[key] = (
            f"all {sum(map(len, logs))} pairs {middle:.2f}, 95 % {low:.2f} to {high:.2f}; "
            f"off against not attached {sum(rests[key]) / len(rests[key]):+.2f} %"
            + (f"; {max(rates[key]):,.0f} thread-samples a second" if max(rates[key]) else ""))


def measure_rows(bench):
    if bench.wants("slowdown"):
        table = bench.table("slowdown", "Slowdown of a program that counts its work, at 1 kHz",
                            "% more time for the same work while looked at; target: upper 95 % "
                            "limit", EXPECTED["slowdown"], Goal(1.0))
        table.compared = False
        measure_table(bench, table, "counting.py", 1000, bench.seconds(25, 8),
                      lambda log: 100 * (math.exp(log) - 1))
    if bench.wants("torch"):
        table = bench.table("torch", "159 threads, two of which compute in C, at 100 Hz",
                            "times as long for the same work while looked at; target: upper 95 % "
                            "limit", EXPECTED["torch"], Goal(1.05))
        measure_table(bench, table, "many_native.py", 100, bench.seconds(12, 5), math.exp)

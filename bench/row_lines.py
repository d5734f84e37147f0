"""Row lines: what it adds to a line that it is counted, with its time and without, and to code that
was not chosen, beside line_profiler.

CPU time, since others on the machine would be in the time of a clock; see targets/lines.py. Each
tool has a process of its own, and they take turns with one that has none. `timed` and `hybrid` are
what `cairn run --lines` and `--lines=hybrid` do in the program, `cairn` is cairn.line_profiler; `bare`
and `bare-clock` are what the interpreter takes to tell of a line, whoever listens (bare.c). The
peer is installed for each interpreter by its own pip, where it has one and the package knows it.
"""
import os
import subprocess

import measure
import subjects
from subjects import BUILD, ROOT, harness
from table import Goal

ROWS = ("lines",)
PROGRAM = ROOT / "bench" / "targets" / "lines.py"
DEADLINE_S = 120
PEER = "line_profiler==5.0.2"
TOOLS = ("line_profiler", "cairn", "timed", "hybrid", "bare", "bare-clock")
WHAT = {
    "line": "A line of a chosen function",
    "other line": "A line of other code",
    "other call": "A call in other code",
}
TIMED, COUNTED = (Goal(limit, peer="line_profiler") for limit in (0.08, 0.06))
GOALS = {"timed": TIMED, "hybrid": COUNTED}


def peer_of(interpreter):
    """The folder that has line_profiler for it; made at the first time."""
    place = BUILD / "bench" / f"line_profiler-{interpreter.label}"
    if not interpreter.chroot and not place.exists():
        command = [interpreter.executable, "-m", "pip", "install", "-q", "--target", place, PEER]
        subprocess.run(command, check=False, timeout=300, capture_output=True)
    return place


def take(interpreter, repeats, tool):
    """{what: ns} of one process."""
    command = interpreter.command("")[:-1]
    environment = {**os.environ, "PYTHONPATH": str(peer_of(interpreter))}
    args = [*command, "-c", PROGRAM.read_text(), interpreter.package(), str(repeats), tool,
            subjects.bare_folder(interpreter)]
    try:
        return harness.execute(args, env=environment, deadline_s=DEADLINE_S).expect().last_json()
    except AssertionError as why:
        raise measure.Failed(str(why).splitlines()[0][:100]) from None


def run(interpreter, repeats):
    """{what: {tool: ns added}} on one interpreter."""
    interpreter.prepare()
    have = {"line_profiler": peer_of(interpreter).exists(),
            "bare": subjects.bare_folder(interpreter)}
    tools = [tool for tool in TOOLS if have.get(tool.partition("-")[0], True)]
    none = take(interpreter, repeats, "none")
    taken = {tool: take(interpreter, repeats, tool) for tool in tools}
    return {key: {tool: ns[key] - none[key] for tool, ns in taken.items() if key in ns} for key in WHAT}


def measure_rows(bench):
    tables = {
        key: bench.table(f"lines: {key}", title, "ns added",
                         {} if key == "line" else {"all": "no cost of ours"})
        for key, title in WHAT.items()
    }
    tables["line"].goal, tables["line"].goals = TIMED, GOALS
    interpreters = [i for i in harness.supported_interpreters() if i.has_engine()]
    for turn in range(bench.rounds):
        for interpreter in interpreters:
            try:
                found = run(interpreter, 5 if bench.quick else 15)
            except measure.Failed as why:
                for table in tables.values():
                    table.fail(interpreter.label, "cairn", why)
                continue
            for key, costs in found.items():
                for tool, ns in costs.items():
                    tables[key].add(turn, interpreter.label, tool, ns)

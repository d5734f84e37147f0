"""Row programs: how much longer real programs take that call all the time, while their calls are
counted by Cairn, cProfile and VizTracer; and what `cairn cprofile` adds of what cProfile adds.

CPU time of the work alone; targets/programs.py says which programs.
"""
from statistics import geometric_mean, median

import pytest

import measure
from subjects import ROOT, harness
from table import Goal

ROWS = ("programs",)
PROGRAM = ROOT / "bench" / "targets" / "programs.py"
DEADLINE_S = 900
PACKAGES = ("--no-deps", "pyperformance", "pyflakes", "pygments", "docutils", "sqlglot",
            "typing_extensions")
SETS = {"python": ("calls of Python", Goal(1.6)), "all": ("calls of C as well", Goal(2.2))}
EXPECTED = {"cProfile": "1.9-5.3", "viztracer": "1.5-4.0"}
COMMAND = "cairn cprofile"


def folders(interpreter):
    """Where this interpreter finds the programs and VizTracer; and {what is not to be had: why}."""
    found = [harness.installed_by_pip(interpreter, *PACKAGES)]
    try:
        return [*found, harness.installed_by_pip(interpreter, "viztracer")], {}
    except pytest.skip.Exception as why:
        return found, {"viztracer": str(why)}


def run(interpreter, repeats):
    """{program: {tool: seconds}} on one interpreter, and {program: why it is not there}."""
    interpreter.prepare()
    try:
        places, lacking = folders(interpreter)
        args = [*interpreter.command("")[:-1], "-c", PROGRAM.read_text(), interpreter.package(),
                repeats, *places]
        told = harness.execute(args, deadline_s=DEADLINE_S).expect().last_json()
    except (AssertionError, pytest.skip.Exception) as why:
        raise measure.Failed(str(why).splitlines()[0][:100]) from None
    return told["programs"], {**told["lacking"], **lacking}


def slowdowns(programs, tool):
    """{program: times as long}."""
    return {name: taken[tool] / taken["none"] for name, taken in programs.items() if tool in taken}


def span(values):
    least, most = (pick(values, key=values.get) for pick in (min, max))
    return f"{values[least]:.2f} ({least}) to {values[most]:.2f} ({most})"


def measure_rows(bench):
    tables = {
        which: bench.table(f"programs: {which}", f"Real programs, {said}",
                           "times as long, geometric mean", EXPECTED, goal)
        for which, (said, goal) in SETS.items()
    }
    added = bench.table("programs: cprofile", "What cairn cprofile adds to real programs",
                        "of what cProfile adds, median", {}, Goal(0.5))
    for turn in range(bench.rounds):
        for interpreter in (i for i in harness.supported_interpreters() if i.has_engine()):
            label = interpreter.label
            try:
                programs, lacking = run(interpreter, 2 if bench.quick else 5)
            except measure.Failed as why:
                for table in (*tables.values(), added):
                    table.fail(label, "cairn", why)
                continue
            for which, table in tables.items():
                for tool in ("cairn", "cProfile", "viztracer"):
                    found = slowdowns(programs, f"{which}: {tool}")
                    if found:
                        table.add(turn, label, tool, geometric_mean(found.values()))
                        table.notes[label, tool] = f"{len(found)} programs, {span(found)}"
                if lacking:
                    table.notes[label, "cairn"] += f"; without {', '.join(lacking)}"
            ours, theirs = (slowdowns(programs, f"all: {tool}") for tool in (COMMAND, "cProfile"))
            parts = {name: (ours[name] - 1) / (theirs[name] - 1) for name in ours}
            added.add(turn, label, "cairn", median(parts.values()))
            added.notes[label, "cairn"] = f"{len(parts)} programs, {span(parts)}"

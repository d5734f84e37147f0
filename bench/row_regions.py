"""Row regions: what cairn.region(), @cairn.timed and cairn.mark() add, without a recorder and with.

CPU time, since others on the machine would be in the time of a clock; see targets/regions.py.
"""
import os
import tempfile
from pathlib import Path

import measure
from subjects import harness
from table import Goal

ROWS = ("regions",)
PROGRAM = Path(__file__).parent / "targets" / "regions.py"
DEADLINE_S = 120
WHAT = {"region": "with cairn.region(\"name\"): pass", "timed": "A call of a @cairn.timed function",
        "mark": "cairn.mark(frame=17)"}
STATES = {"off": ("nothing records", Goal(60)), "on": ("it is recorded", Goal(150))}
EXPECTED = {"off": "45-60", "on": "110-150"}


def run(interpreter, state, repeats):
    """{what: ns} on one interpreter."""
    interpreter.prepare()
    args = [*interpreter.command("")[:-1], "-c", PROGRAM.read_text(), interpreter.package(),
            str(repeats)]
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as place:
        if state == "on":
            args = [harness.cairn_binary(), "run", "--report", "none", "-o", f"{place}/x.cairn",
                    "--", *args]
        try:
            return harness.execute(args, env=dict(os.environ), deadline_s=DEADLINE_S).expect().last_json()
        except AssertionError as why:
            raise measure.Failed(str(why).splitlines()[0][:100]) from None


def measure_rows(bench):
    tables = {
        (what, state): bench.table(f"regions: {what}, {state}", f"{title}, {said}", "ns added",
                                   {"cairn": EXPECTED[state]}, goal)
        for what, title in WHAT.items() for state, (said, goal) in STATES.items()
    }
    subjects = [i for i in harness.supported_interpreters() if i.has_engine() and not i.chroot]
    for turn in range(bench.rounds):
        for interpreter in subjects:
            for state in STATES:
                try:
                    found = run(interpreter, state, 5 if bench.quick else 15)
                except measure.Failed as why:
                    for (_, wanted), table in tables.items():
                        if wanted == state:
                            table.fail(interpreter.label, "cairn", why)
                    continue
                for what, ns in found.items():
                    tables[what, state].add(turn, interpreter.label, "cairn", ns)

"""Row trace: what it adds to a call that it is counted and timed, beside the interpreter's cProfile;
and that its time is kept as well, beside VizTracer.

CPU time, since others on the machine would be in the time of a clock; see targets/calls.py. "bare" is
what the interpreter takes to tell of a call, whoever listens, and a look at the clock where calls are
timed (bare.c).
"""
import subprocess

import measure
import subjects
from subjects import ROOT, harness
from table import Goal

ROWS = ("trace",)
PROGRAM = ROOT / "bench" / "targets" / "calls.py"
DEADLINE_S = 120
WHAT = {  # and the goal, where the project has set one
    "python": ("A Python call and return, calls of C not asked for",
               Goal(0.27, old=0.19, since=(3, 12), peer="cProfile")),
    "counted": ("A Python call, counted without its time, as --max-overhead leaves it",
                Goal(0.12, peer="cProfile")),
    "python and c": ("A Python call and return, calls of C counted as well", None),
    "c": ("A call of a builtin function", Goal(0.37, peer="cProfile")),
    "resume": ("A generator's resume and yield, calls of C not asked for",
               Goal(0.35, peer="cProfile")),
    "timeline": ("A Python call and return, counted, and its time kept",
                 Goal(0.6, peer="viztracer")),
}


def viztracer_for(interpreter):
    """The folder in which this interpreter finds VizTracer, from PyPI; "" where it is not to be had."""
    folder = ROOT / "build" / "peers" / f"viztracer-{interpreter.label}"
    if interpreter.chroot:
        return ""
    if not folder.exists():
        pip = [interpreter.executable, "-m", "pip", "install", "-q", "--target", folder, "viztracer"]
        if subprocess.run(pip, timeout=DEADLINE_S).returncode:
            return ""
    return str(folder)


def run(interpreter, repeats):
    """{what: {tool: ns}} on one interpreter."""
    interpreter.prepare()
    command = interpreter.command("")[:-1]
    args = [*command, "-c", PROGRAM.read_text(), interpreter.package(), str(repeats),
            subjects.bare_folder(interpreter), viztracer_for(interpreter)]
    try:
        return harness.execute(args, deadline_s=DEADLINE_S).expect().last_json()
    except AssertionError as why:
        raise measure.Failed(str(why).splitlines()[0][:100]) from None


def measure_rows(bench):
    tables = {
        key: bench.table(f"trace: {key}", title, "ns added",
                         {} if goal else {"cProfile": "ratio 2 or more"}, goal)
        for key, (title, goal) in WHAT.items()
    }
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

"""Row trace: what it adds to a call that it is counted and timed, beside the interpreter's cProfile;
and that its time is kept as well, beside VizTracer.

CPU time, since others on the machine would be in the time of a clock; see targets/calls.py.
"""
import subprocess

import measure
from subjects import ROOT, harness

ROWS = ("trace",)
PROGRAM = ROOT / "bench" / "targets" / "calls.py"
DEADLINE_S = 120
WHAT = {
    "python": ("A Python call and return, calls of C not asked for",
               "3.7 from 3.12 on, 5.3 before"),
    "python and c": ("A Python call and return, calls of C counted as well", "2"),
    "c": ("A call of a builtin function", "2.7"),
    "resume": ("A generator's resume and yield, calls of C not asked for", "2.9"),
    "timeline": ("A Python call and return, counted, and its time kept", "1.7"),
}
PEER = {"timeline": "viztracer"}  # elsewhere cProfile


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
            viztracer_for(interpreter)]
    try:
        return harness.execute(args, deadline_s=DEADLINE_S).expect().last_json()
    except AssertionError as why:
        raise measure.Failed(str(why).splitlines()[0][:100]) from None


def measure_rows(bench):
    tables = {
        key: bench.table(f"trace: {key}", title, "ns added",
                         {PEER.get(key, "cProfile"): f"ratio {ratio} or more"})
        for key, (title, ratio) in WHAT.items()
    }
    subjects = [i for i in harness.supported_interpreters() if i.has_engine()]
    for turn in range(bench.rounds):
        for interpreter in subjects:
            try:
                found = run(interpreter, 5 if bench.quick else 15)
            except measure.Failed as why:
                for table in tables.values():
                    table.fail(interpreter.label, "cairn", why)
                continue
            for key, costs in found.items():
                for tool, ns in costs.items():
                    tables[key].add(turn, interpreter.label, tool, ns)

"""`cairn trace --in WHERE`: calls of the code that is named, and of the functions of C it calls."""
import re
from pathlib import Path

import pytest

PROGRAM = """
import os, threading, time
def f(n):
    return g(n) + len([n])
def g(n):
    time.sleep(0.002)
    return sorted([n])[0]
def each(n):
    for i in range(n):
        yield g(i)
def fails():
    try:
        deeper()
    except ValueError:
        return abs(-1)
def deeper():
    raise ValueError(len("abc"))
class A:
    def m(self):
        return g(1)
def main():
    for i in range(10):
        f(i)
    list(each(3))
    fails()
    A().m()
main()
thread = threading.Thread(target=main)
thread.start()
thread.join()
if os.fork() == 0:
    f(1)
    os._exit(0)
os.wait()
"""


@pytest.fixture
def traced(cairn, interpreter, counts_place):
    script = Path(counts_place.get("TMPDIR", cairn.folder)) / "program.py"
    script.write_text(PROGRAM)
    chroot = ["chroot", interpreter.chroot] if interpreter.chroot else []

    def run(*where):
        words = [word for name in where for word in ("--in", name)]
        cairn("trace", *words, "--force", "--report", "none", "-o", "x.cairn", "--", *chroot,
              interpreter.executable, script, env=counts_place).expect()  # fmt: skip
        report = cairn.report(cairn.folder / "x.cairn")
        assert report["quality"]["events_lost"] == 0
        return {row["name"]: row for row in report["rows"] if row.get("calls")}

    return run


@pytest.mark.parametrize("where, calls", [
    (["f"], {"f": 21, "<built-in method builtins.len>": 21}),
    (["g", "A.m"],
     {"g": 29, "m": 2, "<built-in method time.sleep>": 29, "<built-in method builtins.sorted>": 29}),
    (["each"], {"each": 2}),
    (["fails"], {"fails": 2, "<built-in method builtins.abs>": 2}),
    (["deeper"], {"deeper": 2, "<built-in method builtins.len>": 2}),
    (["program.py:4"], {"f": 21, "<built-in method builtins.len>": 21}),
    (["nothing"], {}),
])
def test_only_what_is_named(traced, where, calls):
    rows = traced(*where)
    assert {name: row["calls"] for name, row in rows.items() if row["kind"] != "type"} == calls


def test_what_is_not_named_is_in_the_time_of_its_caller(traced):
    row = traced("f")["f"]
    assert row["self_s"] >= 21 * 0.002 and row["total_s"] >= row["self_s"]
    assert traced("each")["each"]["resumes"] == 6


CLASSES = """
class Shape:
    sides = [n for n in range(3)]
    twice = lambda self: 2 * self.area()
    def __init__(self):
        self.kept = [n for n in self.sides]
    def area(self):
        def inner():
            return 1
        return inner()
    @classmethod
    def make(cls):
        return cls()
    @staticmethod
    def helper():
        return 3
    @property
    def half(self):
        return self.area() / 2
    class Part:
        def deep(self):
            return 4
class Child(Shape):
    def area(self):
        return super().area()
def Shapes():
    return Shape.make()
def outer():
    class Local:
        def area(self):
            return 5
    return Local().area()
def borrowed(self):
    return 6
Shape.borrowed = borrowed
Shapes().twice(), Shape.helper(), Shape().half, Shape.Part().deep()
Child().area(), outer(), Shape().borrowed()
"""
OF_SHAPE = {"__init__", "<lambda>", "area", "make", "helper", "half", "deep"}


@pytest.mark.parametrize("where, wanted", [
    ("Shape", OF_SHAPE),
    ("program:Shape", OF_SHAPE),
    ("__main__:Shape", OF_SHAPE),
    ("Part", {"deep"}),
    ("Shape.Part", {"deep"}),
    ("Child", {"area"}),
    ("Local", {"area"}),
    ("other:Shape", set()),
    ("Sha", set()),
])
def test_a_class_means_its_methods(cairn, interpreter, counts_place, where, wanted):
    """Those that are defined in it and in classes in it, as line_profiler's add_class() takes them: not
    what is defined within a method, is lent to the class, or is in one that is derived from it."""
    script = Path(counts_place.get("TMPDIR", cairn.folder)) / "program.py"
    script.write_text(CLASSES)
    chroot = ["chroot", interpreter.chroot] if interpreter.chroot else []
    cairn("trace", "--in", where, f"--lines={where}", "--force", "--report", "none", "-o", "x.cairn", "--",
          *chroot, interpreter.executable, script, env=counts_place).expect()  # fmt: skip
    report = cairn.report(cairn.folder / "x.cairn")
    calls = {(row["name"], row["first_line"]) for row in report["rows"]
             if row.get("calls") and row["kind"] == "python"}  # fmt: skip
    lines = {row["function"].split(".")[-1] for row in report["lines"]}
    assert {name for name, _ in calls} == wanted == lines
    assert len(calls) == len(wanted), calls  # one area() alone, not the others


def test_what_counting_took_is_no_part_of_less(cairn, python):
    """A function that does nothing, in a loop of others: what the others cost is not in its time."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (cairn.folder / "x.py").write_text("def leaf(): pass\ndef other(): pass\n"
                                       "for i in range(3000): leaf(); other(); other(); other()\n")
    for where in ("leaf", "other"):
        text = cairn("trace", "--python", python.executable, "--in", where, "--force", "x.py").expect().talk
        said = re.search(r"calls counted, ([\d.,]+) (ns|us|ms),.*counting took about ([\d.,]+) (ns|us|ms)( of it)?", text)
        times = [float(said[at].replace(",", "")) * {"ns": 1, "us": 1e3, "ms": 1e6}[said[at + 1]] for at in (1, 3)]
        assert (said[5] is not None) == (times[1] <= times[0]), said[0]

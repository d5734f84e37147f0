"""`cairn dis`: how often each instruction ran is what a tracer in Python counts, on every version."""
import json
import re
import sys
from pathlib import Path

import pytest

import harness

sys.path.append(str(harness.ROOT / "tests" / "compat"))
import second_reader  # noqa: E402

NAMES = ["loops", "recursion", "counting", "fails", "method", "work"]


@pytest.fixture
def counted(cairn, interpreter, counts_place):
    """Runs a case of line_work.py with its instructions counted: a way to ask for a function's."""

    def run(what, *options, status=0):
        options = ["--opcodes", *options]
        file, _ = cairn.record(interpreter, "line_work.py", what, status=status, options=options,
                               env=counts_place)  # fmt: skip
        return lambda name: cairn("dis", "--json", name, file).expect().json()

    return run


def reference(interpreter):
    ended = harness.execute(interpreter.command("line_work.py", "opcodes")).expect()
    hits, names = ended.last_json()
    return {name: {int(at): n for at, n in counts.items()} for name, counts in hits.items()}, names


def alike(interpreter, told, hits, names, times):
    """What the tracer saw, and names as dis has them; beside it the entry, which nobody is told of."""
    instructions = told["instructions"]
    assert [[row["offset"], row["opname"]] for row in instructions] == names
    counts = {row["offset"]: row["count"] for row in instructions}
    assert {at: counts[at] for at in hits} == {at: times * n for at, n in hits.items()}
    entry = next((at for at, name in names if name == "RESUME"), 0)
    for row, after in zip(instructions, [*instructions[1:], None]):
        if row["opname"] == "RESUME" and row["offset"] not in hits:
            assert row["count"] == after["count"] or after["target"], row
        elif row["offset"] not in hits:
            assert row["count"] == (counts[entry] if row["offset"] < entry else 0), row


@pytest.mark.parametrize("what, times, status", [
    ("plain", 1, 0), ("threads", 4, 0), ("fork", 3, 0), ("kill", 1, 137)])
def test_counts_are_those_of_a_tracer(counted, interpreter, what, times, status):
    ask = counted(what, status=status)
    hits, names = reference(interpreter)
    for name in NAMES:
        alike(interpreter, ask(name), hits[name], names[name], times)


def test_however_control_goes(cairn, interpreter, counts_place):
    """Exceptions in the middle, generators thrown into, coroutines cancelled: what is derived from
    others is what a tracer counts one by one."""
    file, _ = cairn.record(interpreter, "opcode_zoo.py", "plain", options=["--opcodes"], env=counts_place)
    ended = harness.execute(interpreter.command("opcode_zoo.py", "reference")).expect()
    counts = {}
    for row in second_reader.read(file)[0]:
        found = re.match(r"4 .* code=\S*opcode_zoo\.py:.*:(\d+) offset=(\d+) .* hits=(\d+)$", row)
        if found:
            line, offset, hits = found.groups()
            counts.setdefault(line, {}).setdefault(offset, []).append(int(hits))
    told = 0
    for line, hits in ended.last_json().items():
        ours = {offset: sum(counts[line][offset]) for offset in hits}
        assert ours == hits, line
        told += len(hits)
    assert told > 500


def test_beside_lines_and_calls(cairn, interpreter, counted):
    """The three do not disturb each other."""
    ask = counted("plain", "--lines", "--exact")
    hits, names = reference(interpreter)
    alike(interpreter, ask("loops"), hits["loops"], names["loops"], 1)
    report = cairn.report(cairn.folder / "run.cairn")
    lines = {str(row["line"]): row["hits"] for row in report["lines"] if row["function"] == "loops"}
    traced = harness.execute(interpreter.command("line_work.py", "trace")).expect().last_json()
    assert lines and lines == {line: traced[line] for line in lines}
    calls = {row["name"]: row["calls"] for row in report["rows"] if "calls" in row}
    assert calls["loops"] == 2
    assert not [name for name in calls if name in ("listing", "get_instructions")]


BESIDE = """
import cProfile, sys
def spin(n):
    while n:
        n -= 1
def twice():
    yield spin(1)
    yield spin(1)
for _ in range(3): spin(4)
sys.settrace(lambda *args: None)
spin(4)
sys.settrace(None)
sys.setprofile(lambda *args: None)
spin(4)
sys.setprofile(None)
profile = cProfile.Profile()
profile.enable()
spin(4)
profile.disable()
list(twice())
for _ in range(2): spin(4)
"""


def test_loops_that_come_first_and_other_tools(cairn, interpreter, folder, counts_place):
    """A loop directly behind the beginning does not count as beginnings; tools that come and go do not
    end the counting."""
    script = Path(counts_place.get("TMPDIR", folder)) / "beside.py"
    script.write_text(BESIDE)
    command = ["chroot", interpreter.chroot] if interpreter.chroot else []
    cairn("run", "--opcodes", "--report", "none", "-o", "x.cairn", "--", *command,
          interpreter.executable, script, env=counts_place).expect()  # fmt: skip
    rows = cairn("dis", "--json", "spin", "x.cairn").expect().json()["instructions"]
    counts = {row["opname"]: row["count"] for row in rows}
    begun, turns = 8 + 2, 8 * 4 + 2
    assert counts.get("RESUME", begun) == begun
    assert [row["count"] for row in rows if row["opname"] in ("BINARY_OP", "INPLACE_SUBTRACT")] == [turns]
    assert sum(row["count"] for row in rows if row["opname"].startswith("RETURN_")) == begun
    rows = cairn("dis", "--json", "twice", "x.cairn").expect().json()["instructions"]
    assert [row["count"] for row in rows if row["opname"] == "RESUME"] in ([], [1, 1, 1])


def test_long_functions(cairn, interpreter, folder, counts_place):
    """Jumps so long that they need EXTENDED_ARG, which is not told apart from what it extends."""
    body = "".join(f"        x = x + {i}\n" for i in range(300))
    text = f"def long(n, x=0):\n    for i in range(n):\n{body}    return x\nlong(5)\n"
    script = Path(counts_place.get("TMPDIR", folder)) / "long.py"
    script.write_text(text)
    command = ["chroot", interpreter.chroot] if interpreter.chroot else []
    cairn("run", "--opcodes", "--report", "none", "-o", "long.cairn", "--", *command,
          interpreter.executable, script, env=counts_place).expect()  # fmt: skip
    rows = cairn("dis", "--json", "long", "long.cairn").expect().json()["instructions"]
    assert any(row["opname"] == "EXTENDED_ARG" for row in rows)
    for before, row in zip(rows, rows[1:]):
        if before["opname"] == "EXTENDED_ARG":
            assert before["count"] == row["count"], (before, row)
    adds = [row for row in rows if row["opname"].startswith("BINARY_")]
    assert len(adds) == 300 and {row["count"] for row in adds} == {5}


def test_the_stack_is_as_deep_as_python_says(cairn, interpreter, counts_place):
    """The deepest is what the compiler reserved; sys._getframe() has no other word on it."""
    file, _ = cairn.record(interpreter, "line_work.py", "plain", options=["--opcodes"], env=counts_place)
    ended = harness.execute(interpreter.command("line_work.py", "stacks")).expect()
    for name, most in ended.last_json().items():
        rows = cairn("dis", "--json", name, file).expect().json()["instructions"]
        assert max(row["stack"] for row in rows if row["stack"] is not None) == most, name


def test_which_function(cairn, python, folder):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (folder / "two.py").write_text(
        "class A:\n    def f(self): return 1\n\nclass B:\n    def f(self): return 2\n\n"
        "def g(): return A().f() + B().f()\ndef unused(): pass\ng()\n")
    words = ["--python", python.executable, "--report", "none"]
    cairn("trace", "--opcodes", *words, "-o", "x.cairn", "two.py").expect()
    cairn("trace", *words, "-o", "none.cairn", "two.py").expect()
    for name in ("A.f", "__main__:A.f", "two:A.f", "two.py:2"):
        if name == "two.py:2":  # where the class's own body has an instruction as well
            assert "2 functions" in cairn("dis", name, "x.cairn").talk
            continue
        told = cairn("dis", "--json", name, "x.cairn").expect().json()
        assert (told["function"], told["first_line"]) == ("A.f", 2)
    for name, file, why in (("f", "x.cairn", "2 functions"), ("unused", "x.cairn", "no instructions of"),
                            ("nothing", "x.cairn", "but of"), ("g", "none.cairn", "--opcodes")):
        ended = cairn("dis", name, file)
        assert ended.status == harness.USAGE and why in ended.talk, ended.talk
        assert len(ended.talk.splitlines()) <= 4, ended.talk
    report = cairn.report(folder / "x.cairn")
    assert report["lines"] == [] and {row["calls"] for row in report["rows"] if row["name"] == "g"} == {1}


def test_what_a_person_sees(cairn, python, folder):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (folder / "program.py").write_text(
        "def f(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n"
        "for i in range(2000): f(50)\n")
    cairn("count", "--opcodes", "--in", "f", "--python", python.executable, "--report", "none",
          "-o", "x.cairn", "program.py").expect()
    shown = cairn("dis", "f", "x.cairn").expect().text
    assert re.search(r"^f, .*program\.py:1$", shown, re.M), shown
    assert re.search(r"102000 >> +\d+ +\d+  FOR_ITER", shown), shown
    assert re.search(r"% time", shown) and "met it itself" in shown


def test_the_program_finds_nothing_of_it(cairn, python, folder):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (folder / "program.py").write_text(
        "import json, sys\nseen = []\n"
        "def local(frame, event, arg):\n    seen.append(event)\n    return local\n"
        "def f(): return 1\n"
        "sys.settrace(lambda frame, event, arg: local if frame.f_code is f.__code__ else None)\n"
        "f()\nsys.settrace(None)\n"
        "print(json.dumps([sorted(name for name in ('dis', 'opcode', '_opcode') if name in sys.modules),"
        " seen]))\n")
    alone = harness.execute([python.executable, folder / "program.py"]).expect().text
    ended = cairn("run", "--opcodes", "--report", "none", "-o", "x.cairn", "--python", python.executable,
                  "program.py").expect()  # fmt: skip
    assert json.loads(ended.text) == json.loads(alone)

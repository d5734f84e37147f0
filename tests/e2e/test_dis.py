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
        found = re.match(r"4 .* code=\S*opcode_zoo\.py:.*:(\d+) offset=(\d+) .* hits=(\d+) let_go=0$", row)
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


def test_a_method_is_found_by_its_qualified_name(cairn, interpreter, folder):
    """Until 3.10 code has none: by the last part of it."""
    if interpreter.chroot or not interpreter.has_engine():
        pytest.skip("the program is written into a folder that is in no chroot, or there is no engine")
    (folder / "named.py").write_text(
        "class A:\n    def f(self): return 1\n    def g(self): return 2\n\nA().f() + A().g()\n")
    cairn("trace", "--opcodes", "--python", interpreter.executable, "--report", "none", "-o", "x.cairn",
          "named.py").expect()  # fmt: skip
    for name in ("A.f", "__main__:A.f"):
        assert cairn("dis", "--json", name, "x.cairn").expect().json()["first_line"] == 2
    assert cairn("dis", "A.nothing", "x.cairn").status == harness.USAGE


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


FORMS = """
def adds(a, b):
    x = 1
    return a + b
def stays(a, b):
    x = 1
    return a + b
def strange(a, b):
    x = 1
    return a + b
for i in range(400): stays(i, 1)
for i in range(40): adds(i, 1)
for i in range(7): adds(1.5, 1)
class Sum:
    def __add__(self, other): return self
some = Sum()
for i in range(4000): strange(some, some)
"""


def test_forms_that_do_not_fit(cairn, interpreter, folder, counts_place):
    """An addition that met other types than it was specialised for, and one that has no form."""
    script = Path(counts_place.get("TMPDIR", folder)) / "forms.py"
    script.write_text(FORMS)
    command = ["chroot", interpreter.chroot] if interpreter.chroot else []
    cairn("run", "--opcodes", "--report", "none", "-o", "x.cairn", "--", *command,
          interpreter.executable, script, env=counts_place).expect()  # fmt: skip
    found = {}
    for name in ("adds", "stays", "strange"):
        rows = cairn("dis", "--json", name, "x.cairn").expect().json()["instructions"]
        found[name] = next(row for row in rows if row["opname"].startswith("BINARY_"))
        others = [row for row in rows if row["opname"].startswith(("RETURN_", "LOAD_CONST", "STORE_FAST"))]
        assert all(row["failed_tries"] is None for row in others)
    told = {name: (row["specialized"], row["misses"]) for name, row in found.items()}
    shown = {name: cairn("dis", name, "x.cairn", env={"COLUMNS": "140"}).expect().text for name in found}
    assert "polymorphic" not in shown["stays"] and "fits, at line 4\n" in shown["adds"]
    if interpreter.version < (3, 12):
        assert [row[key] for row in found.values() for key in ("misses", "failed_tries")] == [None] * 6
        return
    # One miss: those behind it were looked at, and fitted nothing.
    assert told == {"adds": ("BINARY_OP_ADD_INT", 1), "stays": ("BINARY_OP_ADD_INT", 0),
                    "strange": (None, None)}  # fmt: skip
    assert found["strange"]["failed_tries"] > 2
    assert "BINARY_OP_ADD_INT, 1 miss" in shown["adds"]
    assert re.search(r"not specialised in \d+ tries", shown["strange"])


def recorded(cairn, interpreter, script, *args):
    """What `dis --json` says of a function of the script, whose instructions are counted."""
    command = ["chroot", interpreter.chroot] if interpreter.chroot else []
    cairn("run", "--opcodes", "--report", "none", "--force", "-o", "x.cairn", "--", *command,
          interpreter.executable, script, *args,
          env={"TMPDIR": str(Path(script).parent)}).expect()  # fmt: skip
    return lambda name: cairn("dis", "--json", name, "x.cairn").expect().json()["instructions"]


GIVEN = """
class Circle: side = 1
class Square: side = 2
class Deep(dict):
    class Inner: side = 3
def add(a, b):
    x = 1
    return a + b
def side(of):
    x = 1
    return of.side
def one_kind(of):
    x = 1
    return of.side
def five(a):
    x = 1
    return a + a
def square(a): return a
def cube(a): return a
def apply(what, to):
    x = 1
    return what(to)
for i in range(1000): add(i, 1)
for i in range(500): add("a", "b")
for i in range(3): add(1.5, 2.0)
circle, box, inner = Circle(), Square(), Deep.Inner()
for i in range(600): side(circle)
for i in range(300): side(box)
for i in range(700): one_kind(inner)
for i in range(90):
    for value in (1, "a", 1.5, (), [], b""): five(value)
for what in (square, cube, int, abs): [apply(what, 7) for i in range(60)]
"""


def test_what_instructions_were_given(cairn, interpreter, counts_place):
    """All kinds that the program gives are met; each time where each is looked at, which is until
    3.11, later in the windows behind what did not fit."""
    script = Path(counts_place.get("TMPDIR", cairn.folder)) / "given.py"
    script.write_text(GIVEN)
    ask = recorded(cairn, interpreter, script)
    most = {"add": {"int, int": 1000, "str, str": 500, "float, float": 3},
            "side": {"__main__.Circle": 600, "__main__.Square": 300},
            "one_kind": {"__main__.Deep.Inner": 700},
            "five": {f"{name}, {name}": 90 for name in ("int", "str", "float", "tuple")},
            "apply": {"square()": 60, "cube()": 60, "int": 60, "abs()": 60}}  # fmt: skip
    for function, truth in most.items():
        rows = [row for row in ask(function) if row["given"] is not None]
        assert len(rows) == 1 and rows[0]["opname"].startswith(("BINARY_", "LOAD_ATTR", "CALL")), rows
        (row,) = rows
        given = {each["what"]: each["count"] for each in row["given"]}
        others = given.pop(None, 0)
        assert bool(others) == (function == "five") and row["polymorphic"] == (len(truth) > 1)
        assert sum(given.values()) + others == row["looked_at"] <= row["count"]
        assert given.keys() == truth.keys(), function
        assert all(0 < count <= truth[what] for what, count in given.items()), (function, given)
        if interpreter.version < (3, 12):
            assert given == truth and others == (180 if function == "five" else 0)
        else:
            assert row["looked_at"] < row["count"] or function == "five"
    shown = cairn("dis", "add", "x.cairn", env={"COLUMNS": "140"}).expect().text
    assert re.search(r"polymorphic: .*str, str \d+; .*float, float [23]", shown), shown
    assert "  of __main__.Deep.Inner" in cairn("dis", "one_kind", "x.cairn", env={"COLUMNS": "140"}).text


def test_what_has_long_arguments_is_looked_at(cairn, interpreter, counts_place):
    """Names of a high number need EXTENDED_ARG, which is not told apart from what it extends."""
    script = Path(counts_place.get("TMPDIR", cairn.folder)) / "long.py"
    body = "".join(f"    some.a{i} = x\n" for i in range(300))
    script.write_text(f"class Some: pass\ndef long(some, x):\n{body}for i in range(20): long(Some(), 1)\n")
    rows = recorded(cairn, interpreter, script)("long")
    stores = [row for row in rows if row["opname"] == "STORE_ATTR"]
    assert any(row["opname"] == "EXTENDED_ARG" for row in rows) and len(stores) == 300
    looked = 20 if interpreter.version < (3, 12) else 16
    for row in stores:
        assert row["given"] == [{"what": "__main__.Some", "count": looked}], row


def test_forms_are_those_that_python_lists(cairn, interpreter, counts_place):
    """Of what is given one kind of thing, and not led to by a jump, dis.dis(adaptive=True) of the
    program alone has the same forms."""
    script = Path(counts_place.get("TMPDIR", cairn.folder)) / "forms.py"
    script.write_text(
        "import dis, json\n"
        "class Some:\n    def __init__(self): self.part = 1\n"
        "def work(some, numbers):\n    x = 1\n    some.part = some.part + numbers[0]\n"
        "    y = some.part < 5\n    a, b = numbers\n    return len(numbers)\n"
        "some = Some()\nfor i in range(3000): work(some, [1, 2])\n"
        "print(json.dumps([[i.offset, i.opname] for i in dis.get_instructions(work, adaptive=True)]))\n")
    command = ["chroot", interpreter.chroot] if interpreter.chroot else []
    if interpreter.version < (3, 12):  # what is traced is not specialised
        script.write_text(script.read_text().replace(", adaptive=True", ""))
    alone = dict(harness.execute([*command, interpreter.executable, script]).expect().last_json())
    rows = [row for row in recorded(cairn, interpreter, script)("work") if row["given"]]
    assert len(rows) >= 6
    for row in rows:
        assert (row["specialized"] or row["opname"]) == alone[row["offset"]] and not row["polymorphic"], row


def test_the_right_values_are_looked_at(cairn, interpreter, counts_place):
    """Each sum in operand_zoo.py is of two types that its line names, however deep the stack is."""
    folder = Path(counts_place.get("TMPDIR", cairn.folder))
    text = (harness.ROOT / "tests" / "targets" / "operand_zoo.py").read_text()
    script = folder / "operand_zoo.py"
    script.write_text(text)
    recorded(cairn, interpreter, script)
    truth = {int(left): f"__main__.K{left}, __main__.K{right}"
             for left, right in re.findall(r"k\((\d+)\) \+ k\((\d+)\)", text)}  # fmt: skip
    met = set()
    for row in second_reader.read(cairn.folder / "x.cairn")[0]:
        found = re.match(r"12 .*operand_zoo.* string=BINARY_(?:OP|ADD).* on=(.*K.*) hits=\d+$", row)
        met |= {found[1]} if found else set()
    assert met == set(truth.values()) and len(met) > 30


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

"""Where the profilers that Cairn replaces tell something wrong, on the programs that show it: first the
peer's number, then Cairn's. Threads: test_cprofile.py, test_exact.py."""
import importlib.util
import sys

import pytest

import harness


@pytest.fixture(scope="module")
def told(interpreter):
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    command = interpreter.command("peers_wrong.py", interpreter.package())
    return harness.execute(command, env=harness.Cairn("/").environment()).expect().last_json()


def test_flags_that_enable_forgets(told, interpreter):
    peer = [True, True] if interpreter.version >= (3, 14) else [False, False]
    assert told["flags"]["peer"] == peer
    assert told["flags"]["cairn"] == told["flags"]["right"]


def test_functions_of_one_name_on_one_line(told):
    assert told["lambdas"]["peer"] in (3, 5)  # one of them, by chance
    assert told["lambdas"]["cairn"] == told["lambdas"]["right"] == 8


def test_calls_of_types_and_partials(told, interpreter):
    assert told["types"]["peer"] == [0, 0, 3]
    seen = told["types"]["right"] if interpreter.version >= (3, 12) else [0, 0, 3]  # compat.md says so
    assert told["types"]["cairn"] == seen


def test_functions_on_one_line(told, interpreter):
    if interpreter.version >= (3, 12):
        assert told["one_line"]["peer"] == (4 if interpreter.version < (3, 13) else 0)
    assert told["one_line"]["cairn"] == 4


@pytest.fixture
def recorded(cairn, interpreter, counts_place):
    """The same works under `cairn run --exact`: the rows of their own functions."""
    file, _ = cairn.record(interpreter, "peers_wrong.py", "alone", options=["--exact"], env=counts_place)
    return [row for row in cairn.report(file)["rows"] if row["file"].endswith("peers_wrong.py")]


def test_a_generator_that_began_once(told, recorded):
    """cProfile has six calls of it, cairn.cprofile the same; a recording has one, and resumes apart."""
    assert told["generators"]["peer"] == told["generators"]["cairn"] == 6
    ((calls, resumes),) = [(r["calls"], r["resumes"]) for r in recorded if r["name"] == "numbers"]
    assert (calls, resumes) == (1, 5)


def test_methods_of_one_name(told, recorded, interpreter):
    peer = told["names"]["peer"]  # of one of the two, for both
    assert peer in ("2", "7") or (peer is None and interpreter.version < (3, 9))
    assert told["names"]["cairn"] == [2, 7]
    runs = {row["qualname"]: row["calls"] for row in recorded if row["name"] == "run"}
    if interpreter.has_qualnames:
        assert runs == {"First.run": 2, "Second.run": 7}
    else:
        assert sorted(r["calls"] for r in recorded if r["name"] == "run") == [2, 7]


def test_twins_are_told_apart_and_left_as_they_are(told):
    assert told["twins"]["cairn"] == told["twins"]["right"]


RECURSES = """
import sys, time
from {module} import LineProfiler

def down(n):
    if n == 0:
        return time.sleep(0.06)
    return down(n - 1)

least = None
for _ in range(5):
    lines = LineProfiler(down)
    with lines:
        down(1)
    stats = lines.get_stats()
    (rows,) = stats.timings.values()
    spent = [time * stats.unit for line, _, time in rows if line == 8]
    least = min(spent + [least] if least is not None else spent)
print(least)
"""


def test_recursion_in_the_times_of_lines(folder):
    """A line that calls its own function, which sleeps for 60 ms."""
    if not importlib.util.find_spec("line_profiler"):
        pytest.skip("line_profiler is not installed: tests/requirements.txt")

    def told_by(module):
        (folder / "recurses.py").write_text(RECURSES.format(module=module))
        env = harness.Cairn(folder).environment(PYTHONPATH=str(harness.built_package()))
        return float(harness.execute([sys.executable, folder / "recurses.py"], env=env).expect().text)

    assert told_by("line_profiler") < 0.03
    assert told_by("cairn.line_profiler") >= 0.06


GREENLET = {(3, 8): "greenlet==3.1.1", (3, 9): "greenlet==3.2.4"}


@pytest.fixture(scope="module")
def greenlets(interpreter):
    """The environment in which an interpreter finds a greenlet."""
    wanted = GREENLET.get(interpreter.version[:2], "greenlet==3.5.6")
    return {"PYTHONPATH": str(harness.installed_by_pip(interpreter, wanted))}


@pytest.fixture(scope="module")
def switched(interpreter, greenlets):
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    command = interpreter.command("greenlet_calls.py", interpreter.package())
    return harness.execute(command, env=harness.Cairn("/").environment(**greenlets)).expect().last_json()


def test_greenlets_have_stacks_of_their_own(switched):
    """cProfile takes a call within another greenlet for recursion, and who was switched away from for
    the caller."""
    right = switched["reference"]
    assert right["descend"] == [450, 150, {"body": 150, "descend": 300}] and len(right) == 14
    assert right["starts"][:2] == [3, 3] and right["twice"] == [10, 10, {"mapped": 10}]
    wrong = {name for name, row in switched["cProfile"].items() if row != right[name]}
    assert {"descend", "away", "body", "starts"} <= wrong
    assert switched["python"] == right
    right["twice"][2] = {}  # a function of C called it
    assert switched["cairn"] == right


@pytest.mark.parametrize("words", [[], ["--in", "descend", "--in", "leaf", "--in", "twice"]], ids=str)
def test_recordings_of_greenlets(cairn, interpreter, switched, greenlets, counts_place, words):
    """The same in a recording, of all code or of some, whose callers are the innermost of these."""
    command = interpreter.command("greenlet_calls.py", "alone")
    cairn("trace", *words, "-o", "x.cairn", "--", *command, env=greenlets | counts_place).expect()
    rows = [r for r in cairn.report("x.cairn")["rows"] if r["file"].endswith("greenlet_calls.py")]
    right = switched["reference"]
    chosen = words[1::2] or right
    got = {
        row["name"]: [row["calls"], row["primitive_calls"],
                      {c["name"]: c["calls"] for c in row["callers"] if c["name"] in chosen and c["calls"]}]
        for row in rows if row["name"] in chosen
    }  # fmt: skip
    wanted = {name: [*right[name][:2], dict(right[name][2])] for name in chosen}
    wanted["twice"][2] = {}
    if words:
        wanted["leaf"][2] = {"descend": 450 + 150, "twice": 10 + 10}
        wanted["descend"][2] = {"descend": 300}
    else:
        wanted["yields"][0] = 1  # began once; resumes are told apart
        wanted["yields"][1] = 1
        wanted["yields"][2] = {"exhausts": 1}
    assert got == wanted

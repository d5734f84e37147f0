"""coverage.py and Cairn at work in one program: each has the numbers that it has alone."""
import os

import pytest

import harness

COVERAGE = {(3, 8): "coverage==7.6.1", (3, 9): "coverage==7.10.7", (3, 10): "coverage==7.16.2"}
SCRIPT = "covered.py"
NAMES = ("leaf", "numbers", "fails", "work")
IN = [word for name in NAMES for word in ("--in", name)]
WAYS = [["run", "--lines", "--exact", "--timeline"], ["count", "--opcodes", *IN],
        ["lines", "--hybrid", *IN]]  # fmt: skip
MORE = [["run", "--exact"], ["count", *IN], ["lines", "--exact", *IN]]


@pytest.fixture(scope="module")
def measured(interpreter):
    """For each way in which coverage.py can measure here: its environment, and what it finds alone."""
    place = harness.installed_by_pip(interpreter, COVERAGE.get(interpreter.version[:2], "coverage==7.17.4"))
    cores = {"ctrace": None} | ({"sysmon": "coverage.py"} if interpreter.version >= (3, 12) else {})
    ways = []
    for core, tool in cores.items():
        env = {"PYTHONPATH": str(place), "COVERAGE_CORE": core}
        command = interpreter.command(SCRIPT, "coverage")
        found = harness.execute(command, env=harness.Cairn("/").environment(**env)).expect().last_json()
        assert len(found["lines"]) == 17 and found["tool"] == tool
        ways.append((env, found))
    return ways


def counted(cairn, way, command, env):
    ended = cairn(*way, "--report", "none", "--force", "-o", "x.cairn", "--", *command, env=env).expect()
    report = cairn.report("x.cairn")
    rows = {row["name"]: (row["calls"], row["primitive_calls"], row["resumes"])
            for row in report["rows"]
            if row["file"].endswith(SCRIPT) and row["name"] in NAMES and row["calls"] is not None}  # fmt: skip
    lines = {row["line"]: row["hits"] for row in report["lines"] or ()
             if row["file"].endswith(SCRIPT) and row["function"] in NAMES and row["hits"]}  # fmt: skip
    return ended, rows, lines


@pytest.mark.parametrize("way", WAYS + (MORE if os.environ.get("CAIRN_FULL") else []), ids=lambda way: " ".join(w for w in way if w not in IN))
def test_both_have_their_own_numbers(cairn, interpreter, counts_place, measured, way):
    _, *without = counted(cairn, way, interpreter.command(SCRIPT), counts_place)
    for env, found in measured:
        command = interpreter.command(SCRIPT, "coverage")
        ended, *with_it = counted(cairn, way, command, env | counts_place)
        assert ended.last_json() == found
        assert with_it == without
    rows, lines = without
    if rows or way[0] == "run":
        assert rows["leaf"] == (21, 21, 0) and rows["numbers"] == (1, 1, 20)
    if way[0] != "run":
        assert sum(lines.values()) > 100

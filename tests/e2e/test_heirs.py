"""Children that are given an environment are counted as those that inherit one, and see no difference."""
import re

import pytest

import harness
from harness import execute

SCRIPT = "heirs.py"
WAYS = re.findall(r'^    "(\w+)": ', (harness.TARGETS / SCRIPT).read_text(), re.M)


def alone(cairn, interpreter, way, place):
    environment = cairn.environment(**place)
    return execute(interpreter.command(SCRIPT, way), cwd=cairn.folder, env=environment).expect()


def test_there_are_ways():
    assert len(WAYS) == 22


@pytest.mark.parametrize("way", WAYS)
def test_a_child_with_an_environment_of_its_own_is_counted(cairn, interpreter, counts_place, way):
    before = alone(cairn, interpreter, way, counts_place)
    file, ended = cairn.record(interpreter, SCRIPT, way, options=["--exact"], env=counts_place)
    report = cairn.report(file)
    assert "counting.refused" not in report["recording"]["environment"]
    assert [row["calls"] for row in report["rows"] if row["name"] == "leaf"] == [7]
    assert ended.out == before.out
    assert ended.err.startswith(before.err) and b"Traceback" not in ended.err


@pytest.mark.parametrize("options", [["--lines"], ["--lines=hybrid"], ["--exact", "--lines"]], ids=" ".join)
def test_so_are_its_lines(cairn, interpreter, counts_place, options):
    file, _ = cairn.record(interpreter, SCRIPT, "run_little", options=options, env=counts_place)
    report = cairn.report(file)
    text = (harness.TARGETS / SCRIPT).read_text().splitlines()
    line = next(n for n, words in enumerate(text, 1) if words == "        leaf()")
    assert [row["hits"] for row in report["lines"] if row["line"] == line and row["hits"]] == [7]


def test_the_functions_look_and_fail_as_they_did(cairn, interpreter, counts_place):
    before = alone(cairn, interpreter, "looks", counts_place)
    _, ended = cairn.record(interpreter, SCRIPT, "looks", options=["--exact"], env=counts_place)
    assert ended.out == before.out and len(before.out) > 5000


@pytest.mark.parametrize("option", ["--exact", "--lines"])
def test_one_that_c_gives_another_environment_is_told(cairn, interpreter, counts_place, option):
    """The forked child counted before it became another program: that is nothing of this one's."""
    file, _ = cairn.record(interpreter, SCRIPT, "by_c", options=[option], env=counts_place)
    told = cairn.report(file)["recording"]["environment"].get("counting.refused", "")
    assert re.match(r"1 process that began a Python \(\d+\): nothing that counts was there;", told)


def test_what_is_no_python_finds_what_it_would_inherit(cairn, python, folder):
    """As it does where nothing is given: a Python that it starts is to be counted."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (folder / "starts.py").write_text(
        "import subprocess\nsubprocess.run(['/usr/bin/env'], env={'A': '1'})\n")
    text = cairn("run", "--exact", "--report", "none", "-o", "x.cairn", "--", python.executable,
                 "starts.py").expect().text  # fmt: skip
    names = [line.partition("=")[0] for line in text.splitlines()]
    assert names == ["A", "CAIRN_SPOOL", "PYTHONPATH"]

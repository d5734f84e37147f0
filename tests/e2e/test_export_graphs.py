"""`cairn export` for tools that draw graphs of calls, each read by a tool that is not ours."""
import json
import re
import shutil
import sys

import pytest

import harness
from harness import execute


@pytest.fixture(scope="module")
def rows(busy_recording, tmp_path_factory):
    """The report's rows of the recording, by qualified name and file."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("graphs"))
    report = cairn.report(busy_recording[0], "--idle")
    return {(row["file"] or "???", row["qualname"]): row for row in report["rows"]}


@pytest.fixture
def annotate(cairn, busy_recording, folder):
    """What callgrind_annotate says of the export: {(file, function): [numbers]}, and the totals."""
    if not shutil.which("callgrind_annotate"):
        pytest.skip("valgrind is not installed, and callgrind_annotate comes with it")
    cairn("export", "-f", "callgrind", "-o", "callgrind.out", busy_recording[0]).expect()

    def run(*options):
        command = ["callgrind_annotate", "--threshold=100", "--auto=no", *options, "callgrind.out"]
        ended = execute(command, cwd=folder, env=cairn.environment()).expect()
        found, totals = {}, None
        for line in ended.text.splitlines():
            row = re.match(r"\s*([\d,]+) \(.*?\)\s+([\d,]+) \(.*?\)\s+(.*)", line)
            if not row:
                continue
            numbers = [int(text.replace(",", "")) for text in row.groups()[:2]]
            file, _, function = row[3].partition(":")
            if row[3].startswith("PROGRAM TOTALS"):
                totals = numbers
            else:
                found[(file, function.split(" [")[0])] = numbers
        return found, totals

    return run


def test_callgrind_annotate_finds_the_model_s_sums(annotate, cairn, busy_recording, rows):
    found, totals = annotate()
    quality = cairn.report(busy_recording[0])["quality"]
    wall_ns = sum(row["self_s"] for row in rows.values()) * 1e9
    assert totals[1] == quality["samples"] and abs(totals[0] - wall_ns) < 1000
    assert len(found) > 5 and set(found) <= set(rows)
    for key, (self_ns, _) in found.items():
        assert abs(self_ns - rows[key]["self_s"] * 1e9) < 2, key


def test_callgrind_annotate_finds_what_calls_cost(annotate, rows):
    found, _ = annotate("--inclusive=yes")
    checked = 0
    for key, (total_ns, _) in found.items():
        if key[0].endswith("busy.py") and key[1] in ("light", "medium", "heavy", "main"):
            assert abs(total_ns - rows[key]["total_s"] * 1e9) < 2, key
            checked += 1
    assert checked == 4


def test_callgrind_annotate_finds_counted_calls(cairn, python, folder):
    """Own times and calls are those of the report, of each caller."""
    if not python.has_engine() or not shutil.which("callgrind_annotate"):
        pytest.skip("the module was not built for it, or valgrind is not installed")
    file, _ = cairn.record(python, "exact_work.py", "calls", options=["--exact"])
    cairn("export", "-f", "callgrind", "-o", "callgrind.out", "--force", file).expect()
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", "--tree=caller", "callgrind.out"]
    text = execute(command, cwd=folder, env=cairn.environment()).expect().text
    rows = {}  # callgrind_annotate takes those of one file and name for one
    for row in cairn.report(file, "--idle")["rows"]:
        one = rows.setdefault((row["file"], row["qualname"]), {"self_s": 0, "callers": []})
        one["self_s"] += row["self_s"]
        one["callers"] += row["callers"]
    owns, callers, checked = {}, [], 0
    for line in text.splitlines():
        row = re.match(r"\s*([\d,]+) \(.*?\)\s+([<*])\s+(.*)", line)
        if not row:
            continue
        file_name, _, rest = row[3].partition(":")
        if row[2] == "<":
            callers.append((rest.split(" (")[0], int(re.search(r"\(([\d,]+)x\)", rest)[1].replace(",", ""))))
            continue
        told = rows[file_name, rest.split(" [")[0]]
        wanted = {}
        for caller in told["callers"]:
            calls = caller["calls"] or int(caller["total_s"] > 0)  # a generator that goes on is none
            wanted[caller["qualname"]] = wanted.get(caller["qualname"], 0) + calls
        got = {}
        for name, calls in callers:
            got[name] = got.get(name, 0) + calls
        assert {name: n for name, n in wanted.items() if n} == {name: n for name, n in got.items() if n}
        checked += bool(got)
        callers = []
    assert checked > 20
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", "callgrind.out"]
    text = execute(command, cwd=folder, env=cairn.environment()).expect().text
    for line in text.splitlines():
        row = re.match(r"\s*([\d,]+) \(.*?\)\s+(.*?):(.*?)(?: \[.*)?$", line)
        if row and (row[2], row[3]) in rows:
            owns[row[2], row[3]] = int(row[1].replace(",", ""))
    assert len(owns) > 20
    for key, own_ns in owns.items():
        assert abs(own_ns - rows[key]["self_s"] * 1e9) < 2, key


def test_callgrind_says_what_is_lost(cairn, busy_recording):
    ended = cairn("export", "-f", "callgrind", busy_recording[0]).expect()
    assert "stacks" in ended.talk and ended.text.startswith("# callgrind format\n")


def test_callgrind_keeps_names_of_blanks(cairn, folder):
    """Of those nothing would stand behind the number, which then stands for a name of before."""
    stacks = [[0], [0, 1], [0, 1, 2]]
    frames = [{"name": name, "file": name, "line": 1} for name in ["outer", "   ", "  inner"]]
    profile = {"type": "sampled", "name": "t", "unit": "nanoseconds", "startValue": 0, "endValue": 12,
               "samples": stacks, "weights": [3, 4, 5]}  # fmt: skip
    (folder / "x").write_text(json.dumps({"shared": {"frames": frames}, "profiles": [profile]}))
    cairn("export", "-f", "callgrind", "-o", "y", "x").expect()
    rows = {row["name"]: row["self_s"] for row in cairn.report("y")["rows"]}
    assert rows == pytest.approx({"outer": 3e-9, "\\x20  ": 4e-9, "\\x20 inner": 5e-9})


@pytest.fixture(scope="module")
def gprof2dot():
    pytest.importorskip("gprof2dot", reason="gprof2dot is not installed: tests/requirements.txt")
    return [sys.executable, "-m", "gprof2dot", "-f", "pstats"]


@pytest.mark.parametrize("options", [[], ["-n", "0", "-e", "0"], ["-n", "20", "-e", "10%"]])
def test_dot_is_what_gprof2dot_draws(gprof2dot, cairn, busy_recording, folder, options):
    """Of the same recording's pstats export, letter by letter."""
    file, _ = busy_recording
    cairn("export", "-f", "pstats", "-o", "out.prof", file).expect()
    command = [*gprof2dot, *(word.strip("%") for word in options), "out.prof"]
    wanted = execute(command, cwd=folder, env=cairn.environment(PYTHONUTF8="1")).expect().text
    ended = cairn("export", "-f", "dot", *options, file).expect()
    assert ended.text == wanted and "heavy" in wanted and "->" in wanted
    assert "--node-thres" in ended.talk


def test_dot_holds_no_foreign_text(cairn, python, folder):
    """Names that end strings and lines: every line is one statement, every string ends."""
    file, _ = cairn.record(python, "names.py", 0.9, 9)
    text = cairn("export", "-f", "dot", "-n", "0", "-e", "0", file).expect().text
    lines = text.splitlines()
    assert lines[0] == "digraph {" and lines[-1] == "}"
    assert all(line.startswith("\t") and line[-1] in ';"' for line in lines[1:-1])
    for line in lines[1:-1]:
        assert re.sub(r"\\.", "", line).count('"') % 2 == 0, line
    assert 'quote\\"<tag>' in text


@pytest.mark.skipif(not shutil.which("dot"), reason="graphviz is not installed")
def test_graphviz_draws_it(cairn, busy_recording, folder):
    text = cairn("export", "-f", "dot", busy_recording[0]).expect().out
    drawn = execute(["dot", "-Tsvg"], text, cwd=folder, env=cairn.environment()).expect()
    assert drawn.err == b"" and b"heavy" in drawn.out

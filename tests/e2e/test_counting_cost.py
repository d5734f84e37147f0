"""What counting takes of the times that it tells: an estimate, beside the raw times. Judged by the
same program, timed by itself without Cairn."""
import statistics
from pathlib import Path

import pytest

from harness import execute

PROGRAM = """
import sys, time
def tiny(n):
    return n
def calls(count):
    for i in range(count):
        tiny(i)
def natives(count):
    size = len
    for i in range(count):
        size(())
def each(count):
    for i in range(count):
        yield i
def resumes(count):
    for _ in each(count):
        pass
def slow(count):
    total = 0
    for i in range(count):
        total += i * i % 7
def uncounted(count):
    sum(range(count))
spent = {}
for _ in range(int(sys.argv[2])):
    for function in calls, natives, resumes, slow, uncounted:
        begin = time.perf_counter()
        function(int(sys.argv[1]))
        spent[function.__name__] = spent.get(function.__name__, 0) + time.perf_counter() - begin
import json
print(json.dumps(spent))
"""
COUNT, TURNS = 10_000, 20
ROUNDS, MOST_ROUNDS = 9, 45
MOST_LEFT = 0.5  # of what counting added, either way
COUNTED = ("calls", "natives", "resumes")


@pytest.fixture
def script(cairn, counts_place):
    path = Path(counts_place.get("TMPDIR", cairn.folder)) / "program.py"
    path.write_text(PROGRAM)
    return path


def command_of(interpreter, script):
    chroot = ["chroot", interpreter.chroot] if interpreter.chroot else []
    return [*chroot, interpreter.executable, script, COUNT, TURNS]


def counted(cairn, interpreter, script, env, *options):
    done = cairn("run", "--exact", *options, "--force", "--report", "none", "-o", "x.cairn", "--",
                 *command_of(interpreter, script), env=env).expect()  # fmt: skip
    return cairn.report(cairn.folder / "x.cairn"), done.last_json()


def is_settled(values):
    """Whether the median's own 95 % interval, between two of the values, lies on one side of both
    limits: a machine that is busy takes more rounds to tell."""
    ranked, spread = sorted(values), 1.96 * len(values) ** 0.5
    out = int((len(values) - spread) / 2)
    low, high = ranked[out], ranked[-1 - out]
    return not any(low <= limit <= high for limit in (-MOST_LEFT, MOST_LEFT))


def test_a_median_is_settled_when_it_is_sure():
    assert is_settled([0.1] * 9) and is_settled([0.9] * 9) and is_settled([0.0] * 8 + [3.0])
    assert not is_settled([0.0] * 5 + [0.6] * 4)


@pytest.mark.alone
def test_corrected_times_are_those_without_counting(cairn, interpreter, counts_place, script):
    """A machine can be twice as fast at one moment as at another: the program takes its loops in turns
    with one in which nothing is counted, whose time says how fast the machine was for each run; a run
    is compared with those just before and behind it, and of many the middle one counts; so of how
    much slower a run says that it was."""
    left = {name: [] for name in COUNTED}
    slowdowns = []
    before = execute(command_of(interpreter, script)).expect().last_json()
    for number in range(1, MOST_ROUNDS + 1):
        report, itself = counted(cairn, interpreter, script, counts_place)
        behind = execute(command_of(interpreter, script)).expect().last_json()
        rows = {row["name"]: row for row in report["rows"]}
        assert rows["tiny"]["confidence"] in ("poor", "fair")
        assert rows["slow"]["confidence"] == "good"
        slowdowns.append(report["quality"]["engines"][1]["slowdown"])
        for name in COUNTED:
            without = itself["uncounted"] / 2 * sum(run[name] / run["uncounted"] for run in (before, behind))
            within, told = rows[name]["total_s"], rows[name]["total_corrected_s"]
            left[name].append((told - without) / max(within - without, 1e-3))
        before = behind
        if number >= ROUNDS and all(map(is_settled, left.values())):
            break
    medians = {name: round(statistics.median(values), 2) for name, values in left.items()}
    print(f"\n{interpreter.label}: left of what counting added, {number} rounds: {medians}")
    for name in COUNTED:
        # Of what counting added half and more is taken off, and no more than half as much again.
        assert -MOST_LEFT < statistics.median(left[name]) < MOST_LEFT, f"{name}: {left[name]}"
    assert statistics.median(slowdowns) > 1.1, slowdowns
    [sampling, counting] = report["quality"]["engines"]
    assert (sampling["name"], sampling["slowdown"]) == ("sampling", None)
    assert counting["name"] == "counting"
    assert counting["events"] == report["quality"]["events"] and counting["lost"] == 0
    assert 0 < counting["bytes"] < report["quality"]["bytes"]
    for row in report["rows"]:
        assert 0 <= row["self_corrected_s"] <= row["self_s"]
        assert 0 <= row["total_corrected_s"] <= row["total_s"]


@pytest.mark.alone
def test_the_engines_stand_in_the_order_in_which_they_slow_down(cairn, interpreter, counts_place, script):
    report, _ = counted(cairn, interpreter, script, counts_place, "--timeline")
    sampling, counting, tracing = report["quality"]["engines"]
    assert [sampling["name"], counting["name"], tracing["name"]] == ["sampling", "counting", "tracing"]
    assert 1 < counting["slowdown"] < tracing["slowdown"]
    assert counting["bytes"] < tracing["bytes"]
    assert tracing["events"] == report["quality"]["timeline_calls"] == report["quality"]["events"]
    text = cairn("report", cairn.folder / "x.cairn").expect().text
    lines = [line.split() for line in text.splitlines()]
    assert any(line[:2] == ["engines", "sampling"] for line in lines)
    assert any(line[:1] == ["counting"] and "(estimated)," in line for line in lines)
    assert any(line[:1] == ["tracing"] and "(estimated)," in line for line in lines)
    assert "; counting took about " in text


def test_without_counts_there_are_no_engines_to_tell_of(cairn, python):
    file, _ = cairn.record(python, "busy.py", 0.3)
    report = cairn.report(file)
    assert report["quality"]["engines"] == []
    assert {row["self_corrected_s"] for row in report["rows"]} == {None}
    assert "engines" not in cairn("report", file).expect().text

"""`--metric counted`: calls that were counted one by one, in every table and export that adds up."""
import gzip
from collections import Counter

import pytest

SCRIPT = "exact_work.py"


@pytest.fixture
def counted(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, SCRIPT, "calls", options=["--exact"])
    return file, cairn.report(file)


def own_times(rows):
    sums = Counter()
    for row in rows:
        sums[row["qualname"], row["file"], row["first_line"]] += row["self_s"]
    return +sums


def test_a_table_has_the_times_and_the_calls(cairn, counted):
    file, exact = counted
    told = cairn.report(file, "--metric", "counted")
    assert told["metric"] == "counted" and told["known"] is True and told["rankable"] is True
    wanted, got = own_times(exact["rows"]), own_times(told["rows"])
    assert set(wanted) == set(got) and len(got) > 20
    assert all(abs(wanted[key] - got[key]) < 1e-8 for key in wanted)
    calls, ticks = Counter(), Counter()
    for row in exact["rows"]:
        calls[row["qualname"]] += row["calls"] + row["resumes"]
    for row in told["rows"]:
        ticks[row["qualname"]] += row["samples"]
    assert all(ticks[name] == calls[name] for name in ticks)
    assert {row["self_low"] for row in told["rows"]} == {None}, "nothing was sampled"


def test_stacks_add_up_to_the_report(cairn, counted):
    file, exact = counted
    stacks = cairn.collapsed(file, "--metric", "counted")
    whole_us = sum(row["self_s"] for row in exact["rows"]) * 1e6
    assert abs(sum(stacks.values()) - whole_us) <= len(stacks) + 1
    leaf = {stack: us for stack, us in stacks.items() if stack[-1].name == "leaf"}
    assert len(leaf) > 5, "on each path that it was called by"
    mine = cairn.collapsed(file, "--metric", "counted", "--only-my-code")
    assert abs(sum(mine.values()) - whole_us) <= len(mine) + 1
    assert not any("built-in" in frame.name for stack in mine for frame in stack[1:])
    some = cairn.collapsed(file, "--metric", "counted", "--focus", "countdown")
    assert some and all(any(f.name == "countdown" for f in stack) for stack in some)


@pytest.mark.parametrize("name", ["speedscope", "pprof", "flamegraph", "csv", "callgrind", "dot"])
def test_exports_that_add_up_take_it(cairn, counted, name):
    file, _ = counted
    out = cairn("export", "-f", name, "--metric", "counted", file).expect().out
    text = gzip.decompress(out) if name == "pprof" else out
    assert b"sleep" in text
    if name == "pprof":
        assert b"counted" in text


def test_differences_are_told(cairn, counted, python, folder):
    file, _ = counted
    other = folder / "other.cairn"
    other.write_bytes(file.read_bytes())
    ended = cairn("diff", "--json", "--metric", "counted", file, other)
    assert ended.json()["metric"] == "counted"


@pytest.mark.parametrize("words, says", [
    (["report", "--metric", "counted", "--from", "1ms"], "the whole recording"),
    (["report", "--metric", "counted", "--while", "gc"], "the whole recording"),
    (["export", "-f", "chrome", "--metric", "counted"], "shows when things were"),
    (["export", "-f", "firefox", "--metric", "counted"], "kept perfetto and chrome draw"),
])  # fmt: skip
def test_what_sums_do_not_tell_is_refused(cairn, counted, words, says):
    ended = cairn(*words, counted[0]).expect(122)
    assert says in ended.talk and ended.out == b""


def test_where_nothing_was_counted_it_is_not_known(cairn, busy_recording):
    file, _ = busy_recording
    report = cairn.report(file, "--metric", "counted")
    assert report["known"] is False and report["rows"] == []
    assert "counted: n/a" in cairn("report", "--metric", "counted", file).expect().text
    assert "is not there to export" in cairn(
        "export", "-f", "collapsed", "--metric", "counted", file).expect(122).talk


def test_what_is_told_whole_says_so(cairn, counted):
    """A part was asked for, and the table of calls is of them all; of other tables it is a part."""
    file, _ = counted
    for options, said in [(["--focus", "calls"], "among calls with --metric counted"), (["--only-my-code"], "told whole"),
                          (["--from", "1ms"], "do not say when"), (["--while", "gc"], "do not say when"),
                          ([], None), (["--metric", "counted", "--focus", "calls"], None)]:  # fmt: skip
        for command in (["report"], ["report", "--json"], ["export", "-f", "pstats", "-o", "x.prof", "--force"]):
            ended = cairn(*command, *options, file).expect()
            assert ("told whole" in ended.talk) == (said is not None), (command, options, ended.talk)
            assert said is None or said in ended.talk

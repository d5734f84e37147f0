"""Files of other tools: what they hold is told, and nothing that they do not hold."""
import base64
import contextlib
import cProfile
import csv
import gzip
import io
import json
import marshal
import os
import pickle
import pstats
import pty
import random
import re
import resource
import shutil
import time

import pytest

import harness
from harness import execute, parse_collapsed
from profile_proto import one_sample, profile_classes

HOSTILE = ["a\0b", "line\u2028end", "</script><b>", "x" * 10_000, "\u202ertl", 'quo"te', "back\\slash"]


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    """Threads, processes and states enough that a label put on the wrong stack would show."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("import"))
    return cairn.need_sight(*cairn.record(python, "states.py", 0.8))


def rows_of(report, key="self_s"):
    sums = {}
    for row in report["rows"]:
        sums[row["qualname"]] = sums.get(row["qualname"], 0) + row[key]
    return sums


def collapsed_text(cairn, file, *options):
    return cairn("export", "-f", "collapsed", *options, file).expect().text


@pytest.mark.parametrize("form", ["collapsed", "pprof", "speedscope", "firefox", "chrome"])
def test_what_was_exported_comes_back(cairn, recording, folder, form):
    """Same stacks, same sums, same threads: through an export, an import and an export again."""
    options = ["--threads", "--processes"] if form == "collapsed" else []
    lines = ["--lines", "executing"] if form in ("speedscope", "chrome") else []
    cairn("export", "-f", form, "-o", "out", *options, *lines, recording).expect()
    cairn("import", "-o", "back.cairn", "out").expect()
    for file in ["out", "back.cairn"]:
        before = parse_collapsed(collapsed_text(cairn, recording, "--threads", "--processes"))
        after = parse_collapsed(collapsed_text(cairn, file, "--threads", "--processes"))
        assert set(before) == set(after)
        for stack, value in before.items():
            assert abs(value - after[stack]) <= 1, stack
    report = cairn.report("back.cairn")
    known_as = "gecko" if form == "firefox" else form
    assert report["quality"]["imported"] == known_as and report["quality"]["stacks"] == "recorded"


def test_pprof_brings_states_and_samples(cairn, recording):
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", recording).expect()
    before, after = cairn.report(recording), cairn.report("out.pb.gz")
    assert after["quality"]["samples"] == before["quality"]["samples"]
    assert after["quality"]["torn"] == pytest.approx(before["quality"]["torn"], abs=3)
    for state, value in before["states"].items():
        assert after["states"][state] == pytest.approx(value, abs=1e-6), state
    for metric in ["cpu", "runq", "blocked"]:
        total = cairn.report(recording, "--metric", metric)["total_s"]
        assert cairn.report("out.pb.gz", "--metric", metric)["total_s"] == pytest.approx(total, abs=1e-6)


def test_pprof_brings_each_stack_its_samples(cairn, recording):
    """Also where they were split by state, and a state got none."""
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", recording).expect()
    before, after = (parse_collapsed(collapsed_text(cairn, file, "--threads", "--unit", "samples"))
                     for file in (recording, "out.pb.gz"))
    off = sum(abs(before.get(stack, 0) - after.get(stack, 0)) for stack in {*before, *after})
    assert off <= 0.002 * sum(before.values()), (off, sum(before.values()))


@pytest.mark.parametrize("counted", ["samples", "sample"])
def test_a_pprof_file_of_another_writer(cairn, folder, counted):
    """Written by protobuf: any ids, inlined functions, addresses without a name, packed or not.

    Go's profiles count "samples", those of Node.js "sample"."""
    profile = profile_classes()()
    profile.string_table.extend(["", counted, "count", "cpu", "nanoseconds", "main", "work", "m.c"])
    profile.sample_type.add(type=1, unit=2)
    profile.sample_type.add(type=3, unit=4)
    profile.function.add(id=2**40, name=5, filename=7, start_line=3)
    profile.function.add(id=7, name=6, filename=7, start_line=30)
    outer = profile.location.add(id=2**62, address=1)
    outer.line.add(function_id=2**40, line=5)
    both = profile.location.add(id=9, address=2)  # work, inlined into main
    both.line.add(function_id=7, line=31)
    both.line.add(function_id=2**40, line=6)
    profile.location.add(id=10, address=0xBEEF)
    profile.sample.add(location_id=[9, 2**62], value=[3, 30_000_000])
    profile.sample.add(location_id=[10, 2**62], value=[1, 10_000_000])
    for name, data in [("plain", profile.SerializeToString()),
                       ("packed", gzip.compress(profile.SerializeToString()))]:  # fmt: skip
        (folder / name).write_bytes(data)
        stacks = parse_collapsed(collapsed_text(cairn, name))
        assert {tuple(f.name for f in stack): us for stack, us in stacks.items()} == {
            ("main", "main", "work"): 30_000,
            ("main", "0xbeef"): 10_000,
        }
        report = cairn.report(name)
        assert report["quality"]["samples"] == 4 and report["states"]["running_s"] == 0.04


def test_what_was_split_keeps_its_sum_wherever_it_stands(cairn, folder):
    """Time of a state that no sample fell into, before and after one that has samples to spare."""
    for at, values in enumerate([[(3, 20), (0, 5)], [(0, 5), (3, 20)], [(0, 5), (0, 5), (3, 20), (0, 5)]]):
        profile = profile_classes()()
        profile.string_table.extend(["", "samples", "count", "cpu", "nanoseconds", "main", "m.c"])
        profile.sample_type.add(type=1, unit=2)
        profile.sample_type.add(type=3, unit=4)
        profile.function.add(id=1, name=5, filename=6)
        profile.location.add(id=1).line.add(function_id=1, line=5)
        for count, ms in values:
            profile.sample.add(location_id=[1], value=[count, ms * 1_000_000])
        (folder / f"split{at}").write_bytes(profile.SerializeToString())
        report = cairn.report(f"split{at}")
        assert report["quality"]["samples"] == 3
        assert report["total_s"] == pytest.approx(sum(ms for _, ms in values) / 1000)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def test_cprofile_keeps_its_own_times_and_says_what_is_inferred(cairn, folder):
    profile = cProfile.Profile()
    profile.enable()
    fib(17), even(300), sorted(range(1000), key=lambda n: fib(n % 3))
    profile.disable()
    profile.dump_stats(folder / "a.prof")
    stats = pstats.Stats(str(folder / "a.prof"))
    wanted = {}
    for (_, _, name), (_, _, own, _, _) in stats.stats.items():
        wanted[name] = wanted.get(name, 0) + own
    report = cairn.report("a.prof", "--idle")
    assert report["quality"]["stacks"] == "inferred" and report["quality"]["samples"] is None
    assert all(row["samples"] is row["total_samples"] is None for row in report["rows"])
    got = {name: own for name, own in rows_of(report).items() if own}
    assert set(got) <= set(wanted)
    for name, own in wanted.items():
        assert got.get(name, 0) == pytest.approx(own, abs=1e-8), name
    assert all(row["self_low"] == row["self_share"] for row in report["rows"]), "nothing is estimated"
    text = cairn("report", "a.prof").expect().text
    assert "inferred" in text.splitlines()[0] + text.splitlines()[1] and "\u00b1" not in text


def test_speedscope_as_py_spy_wrote_it(cairn):
    file = harness.ROOT / "tests" / "corpus" / "in_speedscope" / "py-spy"
    document = json.loads(file.read_bytes())
    names = [frame["name"] for frame in document["shared"]["frames"]]
    wanted, samples = {}, 0
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            wanted[names[stack[-1]]] = wanted.get(names[stack[-1]], 0) + weight
            samples += 1
    report = cairn.report(file, "--idle")
    got = {}
    for row in cairn("export", "-f", "csv", file).expect().text.splitlines()[1:]:
        fields = row.split(",")
        got[fields[1].strip('"')] = got.get(fields[1].strip('"'), 0) + float(fields[7])
    assert {k: v for k, v in got.items() if v} == pytest.approx(wanted)
    assert report["quality"]["samples"] == samples


C_PROGRAM = """
static int __attribute__((noinline)) leaf(int n)
{ volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
static int __attribute__((noinline)) mid(int n) { return leaf(n) + leaf(n / 2); }
static int __attribute__((noinline)) fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { int s = 0; for (int i = 0; i < 20; i++) s += mid(1000) + leaf(10); return (s + fib(9)) & 1; }
"""


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_callgrind_as_valgrind_wrote_it(cairn, folder):
    """Own costs are those that callgrind_annotate prints, function by function."""
    (folder / "t.c").write_text(C_PROGRAM)
    execute(["cc", "-g", "-O1", "-o", "t", "t.c"], cwd=folder).expect()
    execute(["valgrind", "--tool=callgrind", "--callgrind-out-file=out", "./t"], cwd=folder)
    told = execute(["callgrind_annotate", "--threshold=100", "out"], cwd=folder).expect().text
    wanted = {}
    for cost, place in re.findall(r"^ *([\d,]+) \([ \d.]+%\)  (\S+)", told, re.MULTILINE):
        if place.startswith("t.c:"):
            name = place.split(":")[1].split("'")[0]
            wanted[name] = wanted.get(name, 0) + int(cost.replace(",", ""))
    report = cairn.report("out", "--idle")
    got = {}
    for row in report["rows"]:
        if row["file"].endswith("/t.c"):
            name = row["qualname"].split("'")[0]
            got[name] = got.get(name, 0) + round(row["self_s"] * 1e9)
    assert {"leaf", "mid", "fib", "main"} <= set(wanted) and got == wanted
    total = int(re.search(r"([\d,]+) \(100.0%\)  PROGRAM", told)[1].replace(",", ""))
    assert round(report["total_s"] * 1e9) == total
    assert report["quality"]["stacks"] == "inferred"
    check_calls(report, execute(["callgrind_annotate", "--threshold=100", "--inclusive=yes", "--tree=caller",
                                 "out"], cwd=folder).expect().text)


CYCLE = """# callgrind format
events: Ir
summary: 1000
fl=a.c
fn=main
1 10
cfn=even
calls=1 1
1 990
fn=even
2 100
cfn=work
calls=10 1
2 300
cfn=odd
calls=9 1
2 5000
fn=odd
3 90
cfn=work
calls=9 1
3 500
cfn=even
calls=9 1
3 4500
fn=work
4 800

totals: 1000
"""


def stacks_of(cairn, file):
    """{functions from the root on: ns} of a file that `cairn export` reads."""
    document = json.loads(cairn("export", "-f", "speedscope", file).expect().out)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    sums = {}
    for profile in document["profiles"]:
        assert profile["unit"] == "nanoseconds"
        for stack, weight in zip(profile["samples"], profile["weights"]):
            place = ";".join(names[frame] for frame in stack)
            sums[place] = sums.get(place, 0) + weight
    return sums


def test_callgrind_s_cycles_stand_where_they_are_entered(cairn, folder):
    """What functions that call each other took, and what took others for them, hangs below who called
    the first of them: the file's own costs, each call's in full."""
    (folder / "out").write_text(CYCLE)
    stacks = stacks_of(cairn, "out")
    assert all(stack.startswith("main") for stack in stacks), stacks
    assert sum(stacks.values()) == 1000
    below = {}
    for stack, cost in stacks.items():
        end = ";".join(stack.split(";")[-2:])
        below[end] = below.get(end, 0) + cost
    assert below["even;work"] == 300 and below["odd;work"] == 500 and below["main"] == 10
    assert {end.split(";")[-1] for end in below} == {"main", "even", "odd", "work"}
    assert stacks["main;even;odd;work"] == 500 and stacks["main;even;odd"] == 90
    assert cairn.report("out")["quality"]["stacks"] == "inferred"


def test_a_cycle_that_nobody_calls_begins_where_it_is_largest(cairn, folder):
    (folder / "out").write_text(CYCLE[: CYCLE.index("fn=main")] + CYCLE[CYCLE.index("\nfn=even") :])
    stacks = stacks_of(cairn, "out")
    assert sum(stacks.values()) == 990 and stacks["even;odd;work"] == 500
    assert all(stack.startswith("even") for stack in stacks), stacks


def incomplete(cairn, folder, text):
    (folder / "out").write_text(text)
    said = cairn.report("out", "--idle")["quality"]["incomplete"]
    told = " ".join(cairn("report", "out").expect().text.split())
    assert ("incomplete: " in told) == (said is not None)
    assert said is None or f"incomplete: {said}" in told
    return said


def test_a_callgrind_file_that_was_cut_says_so(cairn, folder):
    """By what it says that it costs, by a function or a call without its cost, by a line without its
    end. A file without sums that ends well is as good as a whole one."""
    bare = CYCLE.replace("summary: 1000\n", "").replace("\ntotals: 1000\n", "")
    assert incomplete(cairn, folder, CYCLE) is None
    assert incomplete(cairn, folder, CYCLE.replace("summary: 1000\n", "")) is None
    assert incomplete(cairn, folder, bare) is None
    assert incomplete(cairn, folder, CYCLE[: CYCLE.index("\nfn=work") + 1]) == (
        "its functions have 200 of the 1,000 Ir that it tells of")
    assert incomplete(cairn, folder, CYCLE.replace("4 800", "4 700")) == (
        "its functions have 900 of the 1,000 Ir that it tells of")
    assert incomplete(cairn, folder, bare[: bare.index("4 800")]) == "it ends within a function"
    assert incomplete(cairn, folder, bare[: bare.index("3 4500")]) == "it ends within a call"
    assert incomplete(cairn, folder, bare[: bare.index("\nfn=work") + 6]) == "its last line has no end"
    assert incomplete(cairn, folder, bare.rstrip("\n")) is None  # as yappi ends its files
    for at in range(CYCLE.index("fn=main"), CYCLE.index("4 800") + 5):  # wherever it is cut
        assert incomplete(cairn, folder, CYCLE[:at]), CYCLE[:at]


def title_of(cairn, folder, *options):
    cairn("html", "--force", "-o", "x.html", *options).expect()
    page = (folder / "x.html").read_text()
    data = json.loads(gzip.decompress(base64.b64decode(re.search('id="data">([^<]*)<', page)[1])))
    return re.search("<title>(.*?)</title>", page)[1], data["recording"]["program"]


def test_a_page_is_named_after_its_file_or_the_program_it_is_of(cairn, folder):
    (folder / "nightly&c.out").write_text(CYCLE)
    assert title_of(cairn, folder, "nightly&c.out") == ("nightly&amp;c.out - Cairn", "nightly&c.out")
    cairn("import", "-o", "other.cairn", "nightly&c.out").expect()
    assert title_of(cairn, folder, "other.cairn") == ("nightly&amp;c.out - Cairn", "nightly&c.out")
    assert title_of(cairn, folder, "--redact", "nightly&c.out") == ("Cairn", "")
    (folder / "out").write_text("# callgrind format\ncmd:  ./shop --fast\n" + CYCLE)
    assert title_of(cairn, folder, "out") == ("shop - Cairn", "shop")
    assert cairn.report("out")["recording"]["command"] == "./shop --fast"


def test_numbers_of_samples_that_a_file_does_not_tell_are_not_exported(cairn, folder):
    (folder / "x").write_text("a;b 3\na 2\n")
    text = cairn("export", "-f", "callgrind", "x").expect().text
    assert "events: ns\n" in text and "summary: 5000\n" in text and "amples" not in text
    (folder / "y").write_text(text)
    assert cairn.report("y")["quality"]["incomplete"] is None
    assert cairn.report("y")["total_s"] == cairn.report("x")["total_s"] == 5e-6
    profile = {"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": "", "lineNumber": 0}}],
               "startTime": 0, "endTime": 10, "timeDeltas": [5, 5], "samples": [1, 1]}  # fmt: skip
    (folder / "z").write_text(json.dumps(profile))
    assert "events: ns samples\n" in cairn("export", "-f", "callgrind", "z").expect().text


def test_perf_s_own_file_is_told_from_what_it_prints(cairn, folder):
    (folder / "perf.data").write_bytes(b"PERFILE2" + bytes(4096))
    assert "perf script" in cairn("report", "perf.data").expect(123).talk


@pytest.mark.parametrize("form", ["speedscope", "collapsed", "callgrind"])
def test_a_mark_in_front_of_utf_8_is_no_text(cairn, folder, form):
    """As tools on Windows write it. A file of nothing else is none."""
    (folder / "x").write_text("a;b 3\na 2\n")
    text = cairn("export", "-f", form, "x").expect().out
    (folder / "y").write_bytes(text)
    (folder / "z").write_bytes(b"\xef\xbb\xbf" + text)
    whole, marked = cairn.report("y"), cairn.report("z")
    assert rows_of(whole) == rows_of(marked) and set(rows_of(marked)) == {"a", "b"}
    (folder / "mark").write_bytes(b"\xef\xbb\xbf")
    cairn("report", "mark").expect(123)


def test_numbers_without_a_unit_are_told_to_be_no_time(cairn, folder):
    """As py-spy's raw output has them: how many samples, and not how long."""
    (folder / "x").write_text("main (a.py:1);b (a.py:3) 30\nmain (a.py:1) 20\n")
    said = "It tells no time but numbers without a unit: 50 in all. Your program"
    told = " ".join(cairn("report", "x").expect().text.split())
    assert said in told and " wall" not in told and " real " not in told and "program 50, by function" in told
    cairn("html", "-o", "x.html", "x").expect()
    page = (folder / "x.html").read_text()
    data = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', page)[1])).decode()
    assert said in data and " wall" not in json.loads(data)["metrics"][0]["head"][0]
    with_times = " ".join(cairn("report", "--each", "10ms", "x").expect().text.split())
    assert "500 ms wall" in with_times and "no time" not in with_times


def test_what_is_refused_is_told_what_it_is(cairn, recording, folder):
    """Not that it is damaged, nor unknown, when it is neither."""
    told = cairn("import", "-o", "z.cairn", recording).expect(123).talk
    assert f"{recording} is a recording already" in told and f"cairn report {recording}" in told
    assert not (folder / "z.cairn").exists()
    cairn("export", "-f", "perfetto", "-o", "x.perfetto", recording).expect()
    told = cairn("report", "x.perfetto").expect(123).talk
    assert "trace of Perfetto" in told and "damaged" not in told and "It knows" not in told
    for form in ("cpuprofile", "firefox", "speedscope", "chrome"):
        cairn("export", "-f", form, "-o", f"x.{form}", recording).expect()
        whole = (folder / f"x.{form}").read_bytes()
        (folder / "cut").write_bytes(whole[: len(whole) // 2])
        known_as = "gecko" if form == "firefox" else form
        told = cairn("report", "cut").expect(123).talk
        assert f"no {known_as} file that can be read" in told and "cut off" in told, told
    (folder / "large").write_text("a;b 3\na;c 9007199254740993\n")
    told = cairn("report", "large").expect(123).talk
    assert "number at the end of line 2 is larger" in told and "has to end it" not in told
    (folder / "empty").write_bytes(b"")
    assert "empty" in cairn("report", recording, folder / "empty").expect(123).talk.split("The file is")[1]


def speedscope_of(*units):
    """One profile in each unit: 10 and 20, with a gap of 30 between them."""
    return json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
        "profiles": [{"type": "sampled", "name": unit, "unit": unit, "startValue": 0, "endValue": 60,
                      "samples": [[0], [], [0, 1]], "weights": [10, 30, 20]} for unit in units]}).encode()  # fmt: skip


def test_profiles_in_other_units_are_left_out(cairn, folder):
    for units, total_s, said in [(("bytes", "none", "bytes"), 60e-6, "1 profile in another unit (none)"),
                                 (("seconds", "bytes", "none"), 30, "2 profiles in another unit (bytes)"),
                                 (("seconds", "time"), 30, "1 profile in another unit (time)"),
                                 (("seconds", "milliseconds"), 30.03, None)]:  # fmt: skip
        (folder / "x").write_bytes(speedscope_of(*units))
        assert cairn.report("x")["total_s"] == pytest.approx(total_s)
        told = " ".join(cairn("report", "x").expect().text.split())
        assert (said in told) if said else ("another unit" not in told), told


@pytest.mark.parametrize("data, told", [
    (speedscope_of("none"), "numbers without a unit: 30 in all"),
    (speedscope_of("bytes"), "no time but bytes: 30 in all"),
    (b"events: Ir\nfl=a.py\nfn=main\n1 2000\n", "no time but Ir: 2 k in all"),
    (one_sample("inuse_space", "bytes", 5_120_000).SerializeToString(),
     "no time but inuse_space in bytes: 5.12 M in all"),
    (b"a 999\nb 1\n", "numbers without a unit: 1 k in all"),
    (b"a 7\n", "numbers without a unit: 7 in all")], ids=["speedscope", "bytes", "callgrind", "pprof", "collapsed", "few"])
def test_what_is_counted_is_told_to_be_no_time(cairn, folder, data, told):
    """No number of it has a unit of time, in any table, comparison or picture."""
    (folder / "x").write_bytes(data)
    shown = [cairn("report", *more, "x").expect().text for more in (
        [], ["--by", "line"], ["--by", "thread"], ["--by", "process"], ["--metric", "blocked"], ["--by", "state"])]
    text = " ".join(shown[0].split())
    assert told in text and " wall" not in text and " real " not in text and "program has" in text
    shown += [cairn("diff", *more, "x", "x").expect(3).text for more in ([], ["--markdown"])]
    assert "numbers of each recording" in shown[-1] and "\u2192" in shown[-1]
    shown.append(re.sub("<style>.*</style>|<script>.*</script>", "",
                        cairn("export", "-f", "flamegraph", "x").expect().text, flags=re.DOTALL))
    for text in shown:
        text = re.sub("one is 1 [nu]s;", "", text)  # of what has nothing but times
        assert not re.search(r"\d (ns|us|ms|s|min)\b", text), text


@pytest.mark.parametrize("event, each_ns", [
    ("ns", 1), ("Nanoseconds", 1), ("Time_(10ns)", 10), ("us", 1000), ("ms", 1e6), ("Ir", None), ("Ticks", None)])
def test_events_of_callgrind_that_are_time_are_told_so(cairn, folder, event, each_ns):
    """As pyprof2calltree, Xdebug and Cairn itself name them."""
    (folder / "x").write_text(f"events: {event}\nfl=a.py\nfn=main\n1 2000\ncfn=f\ncalls=4 5\n1 6000\n\nfn=f\n5 6000\n")
    text = " ".join(cairn("report", "x").expect().text.split())
    report = cairn.report("x")
    rows = {row["qualname"]: row for row in report["rows"]}
    assert report["total_s"] == pytest.approx(8000 * (each_ns or 1) / 1e9)
    assert rows["main"]["total_s"] == report["total_s"] and rows["f"]["self_s"] == pytest.approx(0.75 * report["total_s"])
    assert ("no time but" in text) == (each_ns is None) and (" wall." in text) == (each_ns is not None)
    if each_ns is None:
        assert re.search(r" 4 6 k 1\.5 k 6 k 1\.5 k a\.py:\d+\(f\)", text), text
    cairn("export", "-f", "callgrind", "-o", "y", "x").expect()
    assert cairn.report("y")["total_s"] == report["total_s"]
    assert "no time but" not in cairn("report", "y").expect().text or each_ns is None


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("form", ["speedscope", "collapsed", "callgrind"])
def test_text_of_utf_16_is_told_what_it_is(cairn, folder, form, code):
    """As PowerShell's `>` writes it, with a mark in front and without, packed or not."""
    (folder / "x").write_text("a;b 3\na 2\n")
    text = cairn("export", "-f", form, "x").expect().text.encode(code)
    (folder / "y").write_bytes(text)
    (folder / "z").write_bytes(gzip.compress(text))
    wanted = code.upper().replace("16-", "16")
    for words in (["report", "y"], ["import", "y", "-o", "o.cairn"], ["report", "z"]):
        told = cairn(*words).expect(123).talk
        assert f"iconv -f {wanted} -t UTF-8 {words[1]}" in told and "It knows" not in told, told
    (folder / "back").write_bytes(text.decode(code).encode())
    assert set(rows_of(cairn.report("back"))) == {"a", "b"}


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"\0\0\0\0" * 9, b"a\0" * 2 + b"\1\2\3\4" * 9, b"\0" + b"ab" * 9])
def test_what_is_no_text_is_not_told_to_be(cairn, folder, junk):
    (folder / "x").write_bytes(junk)
    assert ("UTF-16" in cairn("report", "x").expect(123).talk) == (junk == b"\xff\xfe")


@pytest.mark.parametrize("form", ["speedscope", "cpuprofile", "firefox", "chrome", "pprof"])
def test_that_a_file_was_cut_off_is_said(cairn, recording, folder, form):
    cairn("export", "-f", form, "-o", "whole", recording).expect()
    (folder / "cut").write_bytes((folder / "whole").read_bytes()[:-20])
    assert "was cut off." in cairn("report", "cut").expect(123).talk


STRANGERS = {  # how the file begins, and what to do instead
    "gprof": ("gmon\x01\0\0\0", "gprof PROGRAM x"),
    "dot": ("digraph {\n", "the profile that it was made of"),
    "pyinstrument-session": ('{"start_time": 1.5, "duration": 1.3, "sample_count": 2, "start_call_stack": [',
                             "pyinstrument --load x -r speedscope"),
    "pyinstrument-json": ('{"start_time": 1.6,"duration": 1.4,"sample_count": 2,"target_description": "Program",'
                          '"cpu_time": 0.4,"root_frame": {"function": "f"}}', "pyinstrument -r speedscope"),
    "scalene": ('{\n    "alloc_samples": 0,\n    "args": [\n        "prog.py"\n    ]\n}', "scalene view"),
    "memray": (b"\x04\x22\x4d\x18\x40\x40\xc0\xb3\x38\0\0\xfa\x04memray\0\x0d", "memray flamegraph x"),
    "memray-plain": (b"memray\0\x0d\0\0\0", "memray flamegraph x"),
    "heapprofile": ('{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0},"samples":[]}', "--cpu-prof"),
    "v8-log": ("v8-version,11,3,244,8,-node.38,0\nv8-platform,linux,linux\n", "node --cpu-prof"),
    "v8-log-json": ('{\n  "code": [\n  {\n    "name": "/usr/bin/node",\n    "type": "SHARED_LIB"\n  }]}',
                    "node --cpu-prof"),
    "heap": ("heap profile: 100262: 104858500 [102291: 116211515] @ heapprofile\n 1: 2 [3: 4] @ 0x1\n", "memory"),
    "raw": ("--- symbol\nbinary=./g\n0x1 inner\n---\n--- profile\n", "--raw"),
    "page": ("<!doctype html>\n<html><body>x</body></html>", "a page"),
    "picture": ('<?xml version="1.0" standalone="no"?>\n<svg version="1.1"></svg>', "a picture"),
    "program": (b"\x7fELF\x02\x01\x01" + bytes(64), "a program"),
    "nothing": ("", "empty"),
}


@pytest.mark.parametrize("kind", STRANGERS)
def test_files_that_others_write_and_nobody_reads_here_are_known(cairn, folder, kind):
    """What it is, and what to do: of a file of a tool that people use beside this one."""
    data, said = STRANGERS[kind]
    (folder / "x").write_bytes(data if isinstance(data, bytes) else data.encode())
    for command in (["report", "x"], ["import", "-o", "y.cairn", "x"], ["html", "-o", "y.html", "x"]):
        ended = cairn(*command).expect(123)
        assert said in ended.talk, ended.talk
        assert len(ended.talk.strip().splitlines()) <= 4 and not (folder / "y.cairn").exists()


AUSTIN = """# austin: 4.0.0
# interval: 1000
# mode: {mode}
# python: 3.11.7
P10;T0:10;/u/a.py:<module>:9;/u/a.py:work:4 300
P10;T0:10;/u/a.py:<module>:9 50

# saturation: 3/628
# errors: 2/628
P10;T0:10 7
"""


def test_the_text_of_austin_says_what_it_is_of(cairn, folder):
    """As `mojo2austin` of Austin 4 writes it: facts stand between the stacks."""
    (folder / "wall").write_text(AUSTIN.format(mode="wall"))
    (folder / "memory").write_text(AUSTIN.format(mode="memory"))
    told = cairn.report("wall", "--idle")
    assert rows_of(told) == pytest.approx({"work": 0.0003, "<module>": 0.00005, "[not python]": 0.000007})
    ended = cairn("report", "memory").expect(123)
    assert "memory" in ended.talk and "no times" in ended.talk


def test_memory_that_austin_saw_is_no_time(cairn, folder):
    data = [b"MOJ" + mojo_number(3) + b"\1mode\0memory\0",
            mojo_sample(3, 11, "main", mojo_string(5, "a.py"), mojo_string(6, "f"), mojo_frame(3, 3, 5, 6, 4),
                        b"\5" + mojo_number(3), b"\12" + mojo_number(4096))]  # fmt: skip
    (folder / "x.mojo").write_bytes(b"".join(data))
    ended = cairn("report", "x.mojo").expect(123)
    assert "memory" in ended.talk and "no times" in ended.talk


def test_calls_of_a_prof_that_counts_none_are_not_known(cairn, folder):
    """pyinstrument writes -1 for them."""
    main, work = ("a.py", 1, "main"), ("a.py", 5, "work")
    (folder / "x").write_bytes(marshal.dumps({
        main: (-1, -1, 0.25, 1.0, {}), work: (-1, -1, 0.75, 0.75, {main: (-1, -1, 0.75, 0.75)})}))  # fmt: skip
    rows = {row["qualname"]: row for row in cairn.report("x")["rows"]}
    assert rows["work"]["calls"] is rows["work"]["primitive_calls"] is None
    assert (rows["work"]["self_s"], rows["main"]["total_s"]) == (0.75, 1.0)
    text = cairn("report", "x").expect().text
    assert not re.search(r"18,?446|-1\b", text) and "no calls counted" in text
    for form in ("callgrind", "pstats", "csv", "dot"):
        cairn("export", "--force", "-f", form, "-o", "y", "x").expect()
        assert form == "pstats" or "18446744073709551615" not in (folder / "y").read_text()
    cairn("export", "--force", "-f", "callgrind", "-o", "y", "x").expect()
    assert cairn.report("y")["total_s"] == 1.0
    for form in ("pstats", "dot"):
        told = cairn("export", "--force", "-f", form, "-o", "y", "x").expect().talk
        assert "how often 2 functions were called: the file that was read does not tell" in told
        assert "samples" not in told and "recursed" not in told


def test_many_callers_of_one_that_calls_many_take_no_time_for_each_pair(cairn, folder):
    """12,000 functions call one that calls 100,000: 1.2 billion ways, of which hardly one is worth a stack."""
    callers, callees = 12_000, 100_000
    each_ns = callers * 10_000_000 // callees
    lines = ["# callgrind format", "events: ns", "fl=a.c", "fn=hub", f"1 {callers}"]
    for i in range(callees):
        lines += [f"cfn=g{i}", "calls=1 1", f"1 {each_ns}"]
    for i in range(callees):
        lines += [f"fn=g{i}", f"1 {each_ns}"]
    for i in range(callers):
        lines += [f"fn=c{i}", "1 100", "cfn=hub", "calls=1 1", "1 10000000"]
    (folder / "out").write_text("\n".join(lines) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    total_s = cairn.report("out")["total_s"]
    took_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert total_s == (callees * each_ns + callers * 101) / 1e9
    assert took_s < 3, took_s


def test_who_starts_a_program_is_called_by_nobody(cairn, folder):
    """callgrind counts no call of the outermost function; formats without a word for it show a 0."""
    (folder / "out").write_text(CYCLE)
    for command in (["export", "-f", "pstats", "-o", "x", "out"], ["export", "-f", "dot", "out"], ["gprof2dot", "-f", "callgrind", "out"]):
        told = " ".join(cairn(*command).expect().talk.split())
        assert ("which calls of 2 functions recursed: the file that was read does not tell, and they stand as if "
                "none did; nor how often 1 function was called: the file that was read does not tell, and 0 stands "
                "for it") in told, told
        assert "samples" not in told


def test_what_ncalls_counts_is_told_of_each_kind(cairn, folder):
    profile = {"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": "", "lineNumber": 0}}],
               "startTime": 0, "endTime": 10, "timeDeltas": [5, 5], "samples": [1, 1]}  # fmt: skip
    (folder / "sampled").write_text(json.dumps(profile))
    (folder / "folded").write_text("a;b 3\na 2\n")
    (folder / "counted").write_bytes(marshal.dumps({("a.py", 1, "main"): (1, 1, 0.25, 1.0, {})}))
    for name, wanted in (("sampled", "ncalls is how many samples met a function"), ("counted", None),
                         ("folded", "ncalls is how many pieces of the file that was read met a function")):
        told = cairn("export", "--force", "-f", "pstats", "-o", "x", name).expect().talk
        assert wanted in told if wanted else "ncalls" not in told, told


def test_speedscope_s_empty_stacks_are_counted(cairn, folder):
    """Of samples, and of events: time in which no frame is open is a gap, which is told."""
    shared = {"frames": [{"name": "work"}]}
    sampled = {"type": "sampled", "name": "t", "unit": "milliseconds", "startValue": 0, "endValue": 60,
               "samples": [[0], [], [0], [], []], "weights": [10, 20, 10, 5, 0]}  # fmt: skip
    evented = {"type": "evented", "name": "e", "unit": "milliseconds", "startValue": 0, "endValue": 60,
               "events": [{"type": what, "frame": 0, "at": at} for what, at in
                          [("O", 10), ("C", 20), ("O", 50), ("C", 60)]]}  # fmt: skip
    for profiles, said in [([sampled], "2 stretches without a stack, 25 ms in all"),
                           ([evented], "1 stretch without a stack, 30 ms in all")]:  # fmt: skip
        (folder / "x").write_text(json.dumps(
            {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": shared,
             "profiles": profiles}))  # fmt: skip
        assert cairn.report("x")["total_s"] == pytest.approx(0.02)
        told = " ".join(cairn("report", "x").expect().text.split())
        assert f"left out: {said}" in told


def check_calls(report, told):
    """Calls, and those of each caller, are what callgrind_annotate has of the functions of t.c."""
    wanted, callers = {}, {}
    for line in told.splitlines():
        found = re.search(r"\d \([ \d.]+%\)  ([<*])  ?\S*?:(.+?)(?: \((\d+)x\))?(?: \[.*\])?$", line)
        if found and found[1] == "<":
            callers[found[2]] = callers.get(found[2], 0) + int(found[3])
        elif found and found[1] == "*":
            if " t.c:" in line or "/t.c:" in line:
                wanted[found[2]] = callers
            callers = {}
    rows = {row["qualname"]: row for row in report["rows"] if row["file"].endswith("/t.c")}
    assert {"leaf", "mid", "fib"} <= set(wanted)
    for name in ("leaf", "mid", "fib"):
        assert rows[name]["calls"] == sum(wanted[name].values())
        assert {each["qualname"]: each["calls"] for each in rows[name]["callers"]} == wanted[name]
        outside = sum(calls for caller, calls in wanted[name].items() if caller != name)
        assert rows[name]["primitive_calls"] == outside


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_cpuprofile_as_node_wrote_it(cairn, folder):
    code = "function hot(n){let s=0;for(let i=0;i<n;i++)s+=Math.sqrt(i);return s}"
    code += "function mid(){return hot(2e6)+hot(1e6)} for(let i=0;i<20;i++)mid();"
    (folder / "a.js").write_text(code)
    execute(["node", "--cpu-prof", "--cpu-prof-name=a.cpuprofile", "a.js"], cwd=folder).expect()
    document = json.loads((folder / "a.cpuprofile").read_bytes())
    names = {node["id"]: node["callFrame"]["functionName"] for node in document["nodes"]}
    at, times = document["startTime"], []
    for delta in document["timeDeltas"]:
        at += delta
        times.append(at)
    wanted = {}
    for node, start, end in zip(document["samples"], times, [*times[1:], document["endTime"]]):
        name = names[node] or "(anonymous)"
        wanted[name] = wanted.get(name, 0) + max(0, end - start) / 1e6
    report = cairn.report("a.cpuprofile", "--idle")
    got = {name: own for name, own in rows_of(report).items() if own}
    assert got == pytest.approx({name: own for name, own in wanted.items() if own}, abs=1e-5)
    assert report["quality"]["samples"] == len(document["samples"])
    assert {row["file"] for row in report["rows"] if row["name"] == "hot"} == {str(folder / "a.js")}


def test_cpuprofile_names_files_by_their_paths(cairn, folder):
    """V8 names what lies on the disk by a URL."""
    urls = ["file:///srv/my%20app.js", "file:///srv/100%.js", "node:path", "https://x/a%20b.js", ""]
    nodes = [{"id": n, "callFrame": {"functionName": f"f{n}", "url": url, "lineNumber": 4}}
             for n, url in enumerate(urls)]  # fmt: skip
    profile = {"nodes": nodes, "startTime": 0, "endTime": 25, "samples": list(range(5)),
               "timeDeltas": [5] * 5}  # fmt: skip
    (folder / "x").write_text(json.dumps(profile))
    files = {row["name"]: row["file"] for row in cairn.report("x")["rows"]}
    assert files == {"f0": "/srv/my app.js", "f1": "/srv/100%.js", "f2": "node:path",
                     "f3": "https://x/a%20b.js", "f4": ""}  # fmt: skip


def test_gperftools_by_its_description(cairn, folder):
    """Written by the page of its format: words, stacks leaf first, an end, the maps."""
    def words(*numbers):
        return b"".join(number.to_bytes(8, "little") for number in numbers)

    data = words(0, 3, 0, 10_000, 0, 5, 2, 0x1000500, 0x1000701, 2, 1, 0x99, 0, 1, 0)
    (folder / "x").write_bytes(data + b"01000000-01001000 r-xp 00002000 fd:00 12 /usr/bin/x\n")
    stacks = cairn("export", "-f", "collapsed", "x").expect().text.splitlines()
    assert sorted(stacks) == ["0x2700 (/usr/bin/x);0x2500 (/usr/bin/x) 50000", "0x99 20000"]
    report = cairn.report("x")
    assert report["quality"]["samples"] == 7 and report["states"]["running_s"] == 0.07


def random_calls(rng, events, pid, tid, first, last, depth, parents, own):
    """Calls within each other; in `own` what each stack took itself, in nanoseconds."""
    at = first
    while last - at > 1000:
        begin = rng.randint(at, last - 100)
        end = rng.randint(begin + 50, last)
        stack = (*parents, f"f{rng.randrange(6)}")
        own[stack] = own.get(stack, 0) + end - begin
        if parents:
            own[parents] -= end - begin
        event = {"name": stack[-1], "cat": "call", "pid": pid, "tid": tid, "ts": begin / 1000}
        if rng.random() < 0.5:
            events.append({**event, "ph": "X", "dur": (end - begin) / 1000})
            inner = events
        else:
            inner = [{**event, "ph": "B"}]
        if depth:
            random_calls(rng, inner, pid, tid, begin, end, depth - 1, stack, own)
        if inner is not events:
            events += [*inner, {**event, "ph": "E", "ts": end / 1000}]
        at = end


@pytest.mark.parametrize("shape", ["object", "array", "cut off", "gzip"])
def test_trace_events_are_calls_within_calls(cairn, folder, shape):
    """Each stack's own time is what a generator of such files knows of it."""
    rng = random.Random(shape)
    events, own = [], {}
    for pid, tid in [(11, 12), (11, 13), ("host", "stream 7")]:
        for kind, key, name in [("process_name", pid, f"p{pid}"), ("thread_name", tid, f"t{tid}")]:
            events.append({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}})
        mine = {}
        random_calls(rng, events, pid, tid, 1_700_000_000_000_000, 1_700_000_500_000_000, 4, (), mine)
        own |= {(f"t{tid}", *stack): ns for stack, ns in mine.items()}
    xs = [event for event in events if event["ph"] == "X"]
    rest = [event for event in events if event["ph"] != "X"]
    rng.shuffle(xs)  # calls with a length come in any order; two alike are told apart by it
    seen = {}
    for event in xs:
        key = (event["pid"], event["tid"], event["ts"], event["dur"])
        assert seen.setdefault(key, event) is event, "the generator made two calls alike"
    events = rest + xs
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": events} if shape == "object" else events)
    data = (text[:-1] if shape == "cut off" else text).encode()
    (folder / "x").write_bytes(gzip.compress(data) if shape == "gzip" else data)
    stacks = parse_collapsed(cairn("export", "-f", "collapsed", "--threads", "x").expect().text)
    got = {tuple(frame.name for frame in stack): value for stack, value in stacks.items()}
    got = {(key[0].removeprefix("thread:"), *key[1:]): value for key, value in got.items()}
    wanted = {stack: ns / 1000 for stack, ns in own.items() if ns >= 2000}
    assert set(wanted) <= set(got)
    assert got == pytest.approx({key: own[key] / 1000 for key in got}, abs=1.5)
    report = cairn.report("x", "--idle")
    for rows in (report["rows"], cairn("query", "x", "flame").expect().json()["rows"]):
        assert rows and all(row["samples"] is row["total_samples"] is None for row in rows)
    table = list(csv.DictReader(io.StringIO(cairn("export", "-f", "csv", "x").expect().text)))
    assert table and all(row["samples"] == row["total_samples"] == "" for row in table)
    quality = report["quality"]
    assert quality["imported"] == "chrome" and quality["stacks"] == "recorded" and quality["samples"] is None


def test_calls_that_outlast_their_caller_are_cut_and_told_of(cairn, folder):
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 10, "name": "main (a.py:3)"},
              {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 50, "name": "late"},
              {"ph": "i", "pid": 1, "tid": 1, "ts": 7, "name": "a mark"},
              {"ph": "E", "pid": 1, "tid": 2, "ts": 9, "name": "nothing"}]  # fmt: skip
    (folder / "x").write_text(json.dumps(events))
    assert sorted(collapsed_text(cairn, "x").splitlines()) == ["main (a.py:3) 5", "main (a.py:3);late 5"]
    lost = cairn("report", "x").expect().text
    assert "1 events that are no calls, 1 ends without a beginning" in lost


def test_collapsed_stacks_with_tabs_and_remarks(cairn, folder):
    """As flamegraph.pl reads them, and as people write them by hand."""
    (folder / "x").write_text("# taken by hand, 3 times\n#\nmain;a\t10\nmain;# b c 20\n# 7\n\nmain;d\t 3\n")
    assert sorted(collapsed_text(cairn, "x").splitlines()) == ["# 7", "main;# b c 20", "main;a 10", "main;d\\x09 3"]


def test_events_without_a_time_are_left_out_and_told_of(cairn, folder):
    events = [{"ph": "X", "tid": 1, "ts": 0, "dur": 10, "name": "main"}]
    odd = [{"dur": -1, "ts": 2}, {"dur": 1, "ts": "1"}, {"dur": 1, "ts": None}, {"dur": 1}]
    events += [{"ph": "X", "tid": 1, "name": "odd", **each} for each in odd]
    (folder / "x").write_text(json.dumps(events))
    assert collapsed_text(cairn, "x").split() == ["main", "10"]
    assert "4 calls without a time that can be" in cairn("report", "x").expect().text


@pytest.mark.parametrize("kind", ["i", "C", "b", "X"])
def test_a_trace_without_calls_says_so(cairn, folder, kind):
    """Nothing was measured by calls, and nothing is shown as if it had been."""
    events = [{"ph": kind, "tid": 1, "ts": None if kind == "X" else 3, "name": "a"}]
    (folder / "x").write_text(json.dumps({"traceEvents": events}))
    for command in [["report"], ["html"], ["import", "-o", "y.cairn"]]:
        told = cairn(*command, "x").expect(harness.DAMAGED).talk
        assert f"no calls: {kind != 'X':d} events are of other kinds" in told, told


def test_profiles_of_one_name_are_two(cairn, folder):
    """As two threads may be called the same: neither is the other, and their times lie side by side."""
    profiles = [{"type": "sampled", "name": "main", "unit": "milliseconds", "startValue": 0,
                 "endValue": 10, "samples": [[frame]], "weights": [10]} for frame in (0, 1)]  # fmt: skip
    schema = "https://www.speedscope.app/file-format-schema.json"
    (folder / "x").write_text(json.dumps({"$schema": schema, "profiles": profiles, "shared":
                                          {"frames": [{"name": "a"}, {"name": "b"}]}}))  # fmt: skip
    report = cairn.report("x", "--by", "thread", "--idle")
    assert [row["total_s"] for row in report["rows"]] == pytest.approx([0.01, 0.01])
    assert report["recording"]["wall_s"] == pytest.approx(0.01, rel=0.01)


def test_a_trace_of_more_calls_than_memory_holds(cairn, folder):
    """What is sorted by way of the disk is what it would be in memory; meanwhile a terminal is told
    how far it is."""
    calls, threads = 4_300_000, 3
    with (folder / "x").open("w") as out:
        out.write("[")
        for first in range(0, calls, 100_000):  # later ones first, the callers behind all of them
            out.write("".join(f'{{"ph":"X","tid":{n % threads + 1},"ts":{calls - n},"dur":0.5,"name":"f{n % 7}"}},'
                              for n in range(first, first + 100_000)))  # fmt: skip
        out.write(",".join(f'{{"ph":"X","tid":{n + 1},"ts":0,"dur":{calls + 2},"name":"main"}}'
                           for n in range(threads)))  # fmt: skip
    master, slave = pty.openpty()
    process = harness.spawn([cairn.binary, "import", "-o", "y.cairn", "x"], cwd=folder, stdout=slave,
                            stderr=slave, env=cairn.environment(TERM="xterm"))  # fmt: skip
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):  # which is how a terminal ends
        while data := os.read(master, 65536):
            seen += data
    os.close(master)
    process.stdin.close()
    assert process.wait(harness.DEADLINE_S) == 0
    assert re.search(rb"cairn: reading, \d+ %, about \d+ s left", seen) and seen.endswith(b"\r\x1b[K")
    own = rows_of(cairn.report("y.cairn", "--idle"))
    each = sum(n % 7 == 0 for n in range(calls)) * 0.5e-6
    assert own == pytest.approx({f"f{n}": each for n in range(7)} |
                                {"main": threads * (calls + 2) * 1e-6 - calls * 0.5e-6}, rel=1e-5)  # fmt: skip


def test_without_room_on_disk_a_trace_is_refused(cairn, folder):
    """What has no room is told of, and nothing is left behind."""
    (folder / "x").write_text("[" + '{"ph":"X","ts":1,"dur":1,"name":"f"},' * 4_200_000 + "]")
    ended = cairn("import", "-o", "y.cairn", "x", env={"TMPDIR": str(folder / "nowhere")}).expect(123)
    assert "holds more than Cairn reads" in ended.talk and not (folder / "y.cairn").exists()


def lprof_bytes(timings, unit, protocol=2):
    """A pickle of line_profiler's class by its name, and of what it is set to."""
    state = pickle.dumps({"timings": timings, "unit": unit}, protocol)
    state = state[2:] if protocol >= 2 else state
    return b"\x80\x04cline_profiler.line_profiler\nLineStats\n)\x81" + state[:-1] + b"b."


@pytest.mark.parametrize("protocol", [None, *range(6)])
def test_lines_of_line_profiler(cairn, folder, protocol):
    """Each line has the time that line_profiler says, from its own files and from every pickle."""
    if protocol is None:
        line_profiler = pytest.importorskip("line_profiler", reason="tests/requirements.txt")

        def work(n):
            total = 0
            for i in range(n):
                total += i * i
            return total

        profiler = line_profiler.LineProfiler(work)
        profiler.runcall(work, 20_000)
        profiler.dump_stats(str(folder / "x.lprof"))
        stats = profiler.get_stats()
        timings, unit = stats.timings, stats.unit
    else:
        timings = {("a.py", 3, "f"): [(4, 2, 1500), (5, 1 << 40, 12.5)], ("b.py", 1, "g"): [(2, 1, 1 << 20)]}
        unit = 1e-6
        (folder / "x.lprof").write_bytes(lprof_bytes(timings, unit, protocol))
    wanted = {(name, line): time * unit for (_, _, name), rows in timings.items()
              for line, _, time in rows if time}  # fmt: skip
    report = cairn.report("x.lprof", "--idle", "--by", "line")
    got = {(row["name"], row["line"]): row["self_s"] for row in report["rows"]}
    assert len(wanted) >= 3 and got == pytest.approx(wanted, abs=2e-6)
    assert report["quality"]["imported"] == "lprof" and report["quality"]["samples"] is None
    assert {(line["function"], line["line"]): (line["hits"], line["time_s"]) for line in report["lines"]} == {
        (name, line): (hits, pytest.approx(time * unit, abs=1e-9)) for (_, _, name), rows in timings.items()
        for line, hits, time in rows}  # fmt: skip
    text = cairn("report", "x.lprof").expect().text
    assert report["quality"]["stacks"] == "none"
    assert "called whom: stacks" not in " ".join(text.split()) and "callers" not in text
    assert all(f" {hits} " in text for rows in timings.values() for _, hits, _ in rows)


def test_a_pickle_that_calls_something_is_refused_and_nothing_called(cairn, folder):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {folder}/called",)

    for protocol in range(6):
        data = pickle.dumps(("LineStats", Evil()), protocol)
        (folder / "x.lprof").write_bytes(data)
        ended = cairn("report", "x.lprof").expect(123)
        assert ended.out == b"" and not (folder / "called").exists()
        if protocol >= 2:
            assert "it would call posix.system, which no profile does" in ended.talk


@pytest.mark.parametrize("form", ["chrome", "gecko"])
def test_threads_of_one_name_whose_numbers_are_texts(cairn, folder, form):
    """Each is a thread of its own: the time of both is no one's."""
    tids = ["4.1", "4.2", "main"]
    if form == "chrome":
        told = [{"ph": "M", "name": "thread_name", "pid": 4, "tid": tid, "args": {"name": "worker"}} for tid in tids]
        told += [{"ph": "X", "name": "f", "pid": 4, "tid": tid, "ts": 10, "dur": 1000 * i} for i, tid in enumerate(tids, 1)]
    else:
        tables = {"stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0]]},
                  "frameTable": {"schema": {"location": 0}, "data": [[0]]}, "stringTable": ["f"]}
        told = {"meta": {"interval": 1, "version": 24}, "libs": [], "processes": [], "threads": [
            {"name": "worker", "pid": 4, "tid": tid, **tables,
             "samples": {"schema": {"stack": 0, "time": 1}, "data": [[0, at] for at in range(i)]}}
            for i, tid in enumerate(tids, 1)]}
    (folder / "x.json").write_text(json.dumps(told))
    threads = cairn.report(folder / "x.json", "--by", "thread")["rows"]
    assert sorted(round(row["total_s"] * 1000) for row in threads) == [1, 2, 3], threads


@pytest.mark.parametrize("form", ["chrome", "gecko"])
def test_processes_of_one_name_whose_numbers_are_texts(cairn, folder, form):
    """As threads are: each is a process of its own."""
    pids = ["4.1", "4.2", "main"]
    if form == "chrome":
        told = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "worker"}} for pid in pids]
        told += [{"ph": "X", "name": "f", "pid": pid, "tid": 1, "ts": 10, "dur": 1000 * i} for i, pid in enumerate(pids, 1)]
    else:
        tables = {"stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0]]},
                  "frameTable": {"schema": {"location": 0}, "data": [[0]]}, "stringTable": ["f"]}
        told = {"meta": {"interval": 1, "version": 24}, "libs": [], "processes": [], "threads": [
            {"name": "main", "processName": "worker", "pid": pid, "tid": 1, **tables,
             "samples": {"schema": {"stack": 0, "time": 1}, "data": [[0, at] for at in range(i)]}}
            for i, pid in enumerate(pids, 1)]}
    (folder / "x.json").write_text(json.dumps(told))
    processes = cairn.report(folder / "x.json", "--by", "process")["rows"]
    assert sorted(round(row["total_s"] * 1000) for row in processes) == [1, 2, 3], processes
    # Without a name they are called by what they have in place of a number.
    if form == "gecko":
        for thread in told["threads"]:
            del thread["processName"]
        (folder / "x.json").write_text(json.dumps(told))
        processes = cairn.report(folder / "x.json", "--by", "process")["rows"]
        assert sorted(row["name"] for row in processes) == sorted(pids), processes


def test_gecko_by_row_and_by_column(cairn, folder):
    """As Gecko and perf write it, and as the Firefox profiler keeps it: 1.5 ms a sample."""
    meta = {"interval": 1.5, "version": 27}
    table = {"schema": {"stack": 0, "time": 1}, "data": [[1, 0.5], [1, 2], [0, 3.5], [None, 5]]}
    rows = {"meta": meta, "libs": [], "threads": [{
        "name": "main", "pid": 7, "tid": 8, "stringTable": ["main (in a.out)", "work"],
        "frameTable": {"schema": {"location": 0, "line": 4}, "data": [[0], [1, False, 0, None, 5]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1]]},
        "samples": table}]}  # fmt: skip
    own = {"stringArray": ["main", "work", "a.py"], "funcTable": {"name": [0, 1], "fileName": [2, 2]},
           "frameTable": {"func": [0, 1], "line": [4, 9]}, "stackTable": {"frame": [0, 1], "prefix": [None, 0]},
           "samples": {"stack": [1, 0, None], "timeDeltas": [1, 3, 3], "weight": [2, 1, 1],
                       "weightType": "samples"}}  # fmt: skip
    columns = {"meta": meta, "threads": [{"name": "main", "pid": "7", "tid": 8, **own}]}
    for document, stacks in [(rows, ["main (in a.out) 1500", "main (in a.out);work 3000"]),
                             (columns, ["main (a.py:4) 1500", "main (a.py:4);work (a.py:9) 3000"])]:  # fmt: skip
        (folder / "x").write_text(json.dumps(document))
        assert sorted(collapsed_text(cairn, "x").splitlines()) == stacks
        quality = cairn.report("x")["quality"]
        assert quality["imported"] == "gecko" and quality["samples"] == 3
        assert "1 samples without a stack" in cairn("report", "x").expect().text


def mojo_number(value):
    """6 bits in the first byte, 7 in each other, of which there are more while the highest bit is set."""
    out = [value & 0x3F]
    value >>= 6
    while value:
        out[-1] |= 0x80
        out.append(value & 0x7F)
        value >>= 7
    return bytes(out)


def mojo_sample(version, pid, thread, *events):
    interpreter = mojo_number(0) if version >= 3 else b""
    return b"\2" + mojo_number(pid) + interpreter + thread.encode() + b"\0" + b"".join(events)


def mojo_string(key, text):
    return b"\13" + mojo_number(key) + text.encode() + b"\0"


def mojo_frame(version, key, file, name, line):
    ends = b"".join(map(mojo_number, (line, 1, 9))) if version >= 2 else b""
    return b"\3" + b"".join(map(mojo_number, (key, file, name, line))) + ends


def mojo_time(us):
    return b"\11" + mojo_number(us)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_mojo_by_its_description(cairn, folder, version):
    """Two processes that use the same numbers for other texts and frames; since version 4 a stack may be
    said to be as it was, below new frames of C, and tasks have stacks of their own."""
    def told(file, name):
        return [mojo_string(1000, file), mojo_string(200_000, name), mojo_frame(version, 3, 1000, 200_000, 4)]

    at, key = b"\5" + mojo_number(3), (1 << 64) - 1  # Austin numbers a frame without a line so
    data = [b"MOJ" + mojo_number(version) + b"\1mode\0wall\0",
            mojo_sample(version, 11, "MainThread", *told("a.py", "main"), at, at, mojo_time(70_000)),
            mojo_sample(version, 12, "MainThread", *told("b.py", "other"), at, b"\7", mojo_time(5)),
            mojo_sample(version, 11, "MainThread", at, b"\4", mojo_time(30)),
            mojo_sample(version, 11, "MainThread", at, b"\12" + mojo_number(9)),
            mojo_sample(version, 11, "MainThread", mojo_frame(version, key, 1000, 200_000, 7),
                        b"\5" + mojo_number(key), mojo_time(6))]  # fmt: skip
    wanted = {"process:11;thread:MainThread;main (a.py:4);main (a.py:4) 70000",
              "process:12;thread:MainThread;other (b.py:4) 5",
              "process:11;thread:MainThread;main (a.py:4);[invalid] 30",
              "process:11;thread:MainThread;main (a.py:7) 6"}  # fmt: skip
    if version == 4:
        native = [mojo_string(9, "libc.so"), mojo_string(8, "read"), mojo_frame(version, 5, 9, 8, 0)]
        data += [mojo_sample(version, 11, "T", *native, at, b"\5" + mojo_number(5), mojo_time(8)),
                 mojo_sample(version, 11, "T", b"\15", mojo_time(4), b"\16" + mojo_number(1) + mojo_number(0) + at
                             + mojo_time(99) + b"\17" + mojo_number(1) + mojo_number(2))]  # fmt: skip
        wanted |= {"process:11;thread:T;main (a.py:4);read (libc.so) 8", "process:11;thread:T;main (a.py:4) 4"}
    (folder / "x.mojo").write_bytes(b"".join(data))
    got = collapsed_text(cairn, "x.mojo", "--threads", "--processes").splitlines()
    assert {re.sub(r"^(process:\d+)[^;]*", r"\1", line) for line in got} == wanted
    quality = cairn.report("x.mojo")["quality"]
    assert quality["imported"] == "mojo" and quality["samples"] == len(wanted)
    assert "1 samples without a time" in cairn("report", "x.mojo").expect().text


def write_mojo(names):
    out = [mojo_sample(3, 1, "main")]
    for key, name in enumerate(names, 2):
        out += [mojo_string(key, name.replace("\0", " ")), mojo_frame(3, key, key, key, 1), b"\5" + mojo_number(key)]
    return b"MOJ\3" + b"".join(out) + mojo_time(5)


def write_gecko(names):
    own = {"stringArray": names, "funcTable": {"name": list(range(len(names)))},
           "frameTable": {"func": list(range(len(names)))},
           "stackTable": {"frame": list(range(len(names))), "prefix": [None, *range(len(names) - 1)]},
           "samples": {"stack": list(range(len(names))), "time": list(range(len(names)))}}  # fmt: skip
    return json.dumps({"meta": {"interval": 1}, "threads": [{"name": "main", **own}]}).encode()


def write_lprof(names):
    return lprof_bytes({(name, 1, name): [(1, 1, 5)] for name in names}, 1e-6)


def write_chrome(names):
    return json.dumps([{"ph": "X", "pid": 1, "tid": 1, "ts": n, "dur": 100 - 2 * n, "name": name}
                       for n, name in enumerate(names)]).encode()  # fmt: skip


def write_collapsed(names):
    stack = ";".join(name.replace("\n", " ") for name in names)
    return f"{stack} 5\n".encode()


def write_speedscope(names):
    profile = {"type": "sampled", "name": names[0], "unit": "microseconds", "startValue": 0,
               "endValue": 5, "samples": [list(range(len(names)))], "weights": [5]}  # fmt: skip
    frames = [{"name": name, "file": name, "line": 1} for name in names]
    return json.dumps({"shared": {"frames": frames}, "profiles": [profile]}).encode()


def write_pprof(names):
    profile = profile_classes()()
    profile.string_table.extend(["", "wall", "microseconds", *names])
    profile.sample_type.add(type=1, unit=2)
    for number in range(len(names)):
        profile.function.add(id=number + 1, name=3 + number, filename=3 + number)
        profile.location.add(id=number + 1).line.add(function_id=number + 1)
    profile.sample.add(location_id=range(len(names), 0, -1), value=[5])
    return profile.SerializeToString()


def write_prof(names):
    return marshal.dumps({(name, 1, name): (1, 1, 1e-6, 1e-6, {}) for name in names})


def write_callgrind(names):
    return ("events: ns\n" + "".join(f"fl={n}\nfn={n}\n1 5\n" for n in names)).encode()


def write_cpuprofile(names):
    nodes = [{"id": n, "callFrame": {"functionName": name, "url": name, "lineNumber": 0}}
             for n, name in enumerate(names, 1)]  # fmt: skip
    return json.dumps({"nodes": nodes, "startTime": 0, "endTime": 5 * len(nodes), "timeDeltas":
                       [5] * len(nodes), "samples": [n["id"] for n in nodes]}).encode()  # fmt: skip


WRITERS = {
    "callgrind": write_callgrind,
    "chrome": write_chrome,
    "cpuprofile": write_cpuprofile,
    "collapsed": write_collapsed,
    "speedscope": write_speedscope,
    "gecko": write_gecko,
    "lprof": write_lprof,
    "mojo": write_mojo,
    "pprof": write_pprof,
    "prof": write_prof,
}


@pytest.mark.parametrize("form", WRITERS)
def test_hostile_names_pass_through(cairn, folder, form):
    (folder / "x").write_bytes(WRITERS[form](HOSTILE))
    report = cairn.report("x", "--idle", "-n", "100")
    assert report["quality"]["imported"] == form
    names = {row["qualname"] for row in report["rows"]}
    assert {"x" * 10_000, "</script><b>", "line\u2028end"} <= names
    text = cairn("report", "x").expect().out
    assert b"\0" not in text and "\u2028".encode() not in text and "\u202e".encode() not in text
    page = cairn("html", "-o", "x.html", "x").expect() and (folder / "x.html").read_text()
    assert "</script><b>" not in page
    for export in ["collapsed", "speedscope", "pprof", "flamegraph"]:
        cairn("export", "--force", "-f", export, "-o", "y", "x").expect()


@pytest.mark.parametrize("form", ["collapsed", "prof"])
def test_what_is_no_utf_8_passes_through(cairn, folder, form):
    data = WRITERS[form](["before", "QQQQ"]).replace(b"QQQQ", b"\xff\xfe\xc3(")
    (folder / "x").write_bytes(data)
    ended = cairn("report", "x")
    assert ended.status in (0, 123)
    if ended.status == 0:
        assert json.loads(cairn("report", "--json", "x").expect().out)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))


def damaged():
    rng = random.Random(7)
    wholes = {form: write(["main", "work", "leaf"]) for form, write in WRITERS.items()}
    yield "noise", rng.randbytes(300_000)
    yield "zeros", bytes(1 << 20)
    yield "text", b"It is a text, and no profile.\n" * 1000
    yield "one line", b"x" * (64 << 20)
    yield "deep", b"[" * (8 << 20)
    yield "bomb", gzip.compress(b" " * (64 << 20))
    yield "cut gzip", gzip.compress(wholes["pprof"] * 100)[:-20]
    yield "late", b"a;b 1\n" * 2_000_000 + b"no number\n"
    for form, whole in wholes.items():
        if form == "callgrind":
            continue  # lines without an end: a part of it is a whole
        yield f"{form} cut", whole[: len(whole) - len(whole) // 4 - 1]
    yield "speedscope backwards", wholes["speedscope"].replace(b"[5]", b"[-5]")
    yield "speedscope outside", wholes["speedscope"].replace(b"[0, 1, 2]", b"[0, 1, 2000000]")


@pytest.mark.parametrize("name, data", damaged(), ids=lambda v: v if isinstance(v, str) else "")
def test_what_cannot_be_read_is_told_soon_and_shortly(cairn, folder, name, data):
    (folder / "x").write_bytes(data)
    for command in [["report", "x"], ["import", "-o", "out.cairn", "x"], ["html", "-o", "p.html", "x"]]:
        start = time.monotonic()
        ended = cairn(*command, preexec_fn=limit_memory).expect(123)
        assert time.monotonic() - start < 10
        assert ended.out == b"" and 1 <= len(ended.talk.strip().splitlines()) <= 4, ended.talk
        assert not (folder / "out.cairn").exists() and not (folder / "p.html").exists()


def test_a_large_file_takes_little_memory(cairn, folder):
    """A file far larger than the memory that reading it may take."""
    with open(folder / "big", "w") as file:
        file.write('{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[')
        for thread in range(4):
            file.write("," * bool(thread) + '{"type":"sampled","name":"t%d","unit":"none",' % thread)
            file.write('"startValue":0,"endValue":1,"samples":[[0]')
            stack = "," + json.dumps(list(range(40)), separators=(",", ":"))
            for _ in range(20):
                file.write(stack * 2000)
            file.write('],"weights":[1' + ",1" * 40_000 + "]}")
        frames = [{"name": f"f{n}", "file": "a.py", "line": n + 1} for n in range(40)]
        file.write('],"shared":{"frames":%s}}' % json.dumps(frames))

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))

    ended = cairn("report", "--json", "big", preexec_fn=limit).expect()
    assert json.loads(ended.out)["total_s"] == pytest.approx(4 * 40_001 * 1e-6)


def test_counts_become_samples_with_a_rate(cairn, folder):
    (folder / "x").write_text("main (a.py:1);work (a.py:2) 75\nmain (a.py:3) 25\n")
    assert cairn.report("x")["quality"]["samples"] is None
    report = cairn.report("x", "--each", "10ms")
    assert report["quality"]["samples"] == 100 and report["total_s"] == pytest.approx(1)
    low, high = report["rows"][0]["self_low"], report["rows"][0]["self_high"]
    assert low < 0.75 < high
    cairn("export", "-f", "collapsed", "--unit", "samples", "x").expect(122)
    cairn("diff", "x", "x").expect(3)
    cairn("diff", "--each", "10ms", "x", "x").expect(0)

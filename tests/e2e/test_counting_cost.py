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
loops = calls, natives, resumes, slow, uncounted
spent, ran = [{function.__name__: 0 for function in loops} for _ in range(2)]
for _ in range(int(sys.argv[2])):
    for function in loops:
        begin, begin_cpu = time.perf_counter(), time.process_time()
        function(int(sys.argv[1]))
        ran[function.__name__] += time.process_time() - begin_cpu
        spent[function.__name__] += time.perf_counter() - begin
import json
print(json.dumps({"spent": spent, "ran": ran}))
"""
COUNT, TURNS = 10_000, 20
ROUNDS, MOST_ROUNDS = 9, 45
MOST_LEFT = 0.5  # of what counting added, either way
HAD = 0.9  # of its time a program ran, with a processor to itself
COUNTED = ("calls", "natives", "resumes")


@pytest.fixture
def script(cairn, counts_place):
    path = Path(counts_place.get("TMPDIR", cairn.folder)) / "program.py"
    path.write_text(PROGRAM)
    return path


def command_of(interpreter, script):
    chroot = ["chroot", interpreter.chroot] if interpreter.chroot else []
    return [*chroot, interpreter.executable, script, COUNT, TURNS]


def counted(cairn, interpreter, script, env, *options, what=("--exact",)):
    done = cairn("run", *what, *options, "--force", "--report", "none", "-o", "x.cairn", "--",
                 *command_of(interpreter, script), env=env).expect()  # fmt: skip
    return cairn.report(cairn.folder / "x.cairn"), done.last_json()


def is_settled(values):
    """Whether the median's own 95 % interval, between two of the values, lies on one side of 0: a
    machine that is busy takes more rounds to tell."""
    ranked, spread = sorted(values), 1.96 * len(values) ** 0.5
    out = int((len(values) - spread) / 2)
    return not ranked[out] <= 0 <= ranked[-1 - out]


def test_a_median_is_settled_when_it_is_sure():
    assert is_settled([0.1] * 9) and is_settled([-0.9] * 9) and is_settled([0.1] * 8 + [-3.0])
    assert not is_settled([-0.1] * 5 + [0.6] * 4)


@pytest.mark.alone
def test_corrected_times_are_those_without_counting(cairn, interpreter, counts_place, script):
    """A machine can be twice as fast at one moment as at another: the program takes its loops in turns
    with one in which nothing is counted, whose time says how fast the machine was for each run; a run
    is compared with those just before and behind it, and of many the middle one counts; so of how
    much slower a run says that it was. What others had of the processor meanwhile is in the times,
    and was not added by counting: the program tells how much of each loop it did run."""
    above = {name: [] for name in COUNTED}  # what is left, less the most that may be
    below = {name: [] for name in COUNTED}  # and less the least: no quotients, added may be lost in noise
    slowdowns = []
    before = execute(command_of(interpreter, script)).expect().last_json()
    for number in range(1, MOST_ROUNDS + 1):
        report, itself = counted(cairn, interpreter, script, counts_place)
        behind = execute(command_of(interpreter, script)).expect().last_json()
        rows = {row["name"]: row for row in report["rows"]}
        if itself["ran"]["calls"] > HAD * itself["spent"]["calls"]:  # else most of it is waiting
            assert rows["tiny"]["confidence"] in ("poor", "fair")
        assert rows["slow"]["confidence"] == "good"
        spent, ran = itself["spent"], itself["ran"]
        added = report["quality"]["engines"][1]["slowdown"] - 1
        slowdowns.append(1 + added * sum(spent.values()) / sum(ran.values()))
        for name in COUNTED:
            ratios = [run["ran"][name] / run["ran"]["uncounted"] for run in (before, behind)]
            without = ran["uncounted"] * sum(ratios) / 2 + spent[name] - ran[name]
            within, told = rows[name]["total_s"], rows[name]["total_corrected_s"]
            above[name].append(told - without - MOST_LEFT * (within - without))
            below[name].append(told - without + MOST_LEFT * (within - without))
        before = behind
        if number >= ROUNDS and all(map(is_settled, [*above.values(), *below.values()])):
            break
    medians = {name: [round(1e3 * statistics.median(side[name]), 2) for side in (below, above)]
               for name in COUNTED}
    print(f"\n{interpreter.label}: ms above the least and the most, {number} rounds: {medians}")
    for name in COUNTED:
        # Of what counting added half and more is taken off, and no more than half as much again.
        assert statistics.median(above[name]) < 0 < statistics.median(below[name]), (above, below)
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


@pytest.mark.alone
@pytest.mark.parametrize("what", [["--lines"], ["--exact", "--lines"]], ids=" ".join)
def test_what_lines_take_is_told(cairn, interpreter, counts_place, script, what):
    """Judged as above, by what all loops took more: of that half and more is told, and no more than half
    as much again."""
    above, below, slowdowns, texts = [], [], [], []
    before = execute(command_of(interpreter, script)).expect().last_json()
    for number in range(1, MOST_ROUNDS + 1):
        report, itself = counted(cairn, interpreter, script, counts_place, what=what)
        texts.append(cairn("report", cairn.folder / "x.cairn").expect().text)
        behind = execute(command_of(interpreter, script)).expect().last_json()
        engines = report["quality"]["engines"][1:]
        slowdowns.append([engine["slowdown"] for engine in engines])
        told = sum(engine["event_ns"] * engine["events"] for engine in engines) / 1e9
        ran, within, without = itself["ran"], 0, 0
        for name in set(ran) - {"uncounted"}:
            ratios = [run["ran"][name] / run["ran"]["uncounted"] for run in (before, behind)]
            without += ran["uncounted"] * sum(ratios) / 2
            within += ran[name]
        above.append(told - (1 + MOST_LEFT) * (within - without))
        below.append(told - (1 - MOST_LEFT) * (within - without))
        before = behind
        if number >= ROUNDS and is_settled(above) and is_settled(below):
            break
    print(f"\n{interpreter.label}: {engines}, {within:.3f} s, without {without:.3f} s, {number} rounds")
    assert statistics.median(above) < 0 < statistics.median(below), (above, below)
    # Where the machine became faster than it was when that was measured, it is said not to be known.
    known = [some for some in slowdowns if None not in some]
    assert 2 * len(known) > number, slowdowns
    assert all(1 < some[0] and some == sorted(some) for some in known), slowdowns
    for some, text in zip(slowdowns, texts):
        [line] = [line for line in text.splitlines() if line.split()[:1] == ["lines"]]
        assert ("n/a (by the estimate" if None in some else "(estimated)") in line, text


@pytest.mark.parametrize("what, filters, why", [
    (["--lines=hybrid"], [], "of lines without times it is not measured"),
    (["--lines", "--opcodes"], [], "of instructions it is not measured"),
    (["--lines"], ["--thread", "1"], "it is known of the whole recording")], ids=str)  # fmt: skip
def test_where_it_is_not_known_what_lines_take_the_reason_is_told(cairn, python, what, filters, why):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, "line_work.py", "plain", options=what)
    lines = cairn.report(file, *filters)["quality"]["engines"][1]
    assert (lines["name"], lines["slowdown"], lines["why"]) == ("lines", None, why)
    text = " ".join(cairn("report", *filters, file).expect().text.split())
    assert f"lines time n/a ({why})" in text


def test_without_counts_there_is_one_engine_to_tell_of(cairn, python):
    file, _ = cairn.record(python, "busy.py", 0.3)
    report = cairn.report(file)
    [sampling] = report["quality"]["engines"]
    assert sampling["name"] == "sampling" and sampling["slowdown"] is None
    assert sampling["events"] == report["quality"]["samples"]
    assert {row["self_corrected_s"] for row in report["rows"]} == {None}
    text = cairn("report", file).expect().text
    assert "engines  sampling beside the program, " in text and "counting" not in text


def test_what_counts_says_who_tells_it_of_calls_and_of_which_nobody_does(cairn, interpreter, counts_place):
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    cairn("run", "--exact", "--report", "none", "-o", "x.cairn", "--",
          *interpreter.command("unseen.py"), env=counts_place).expect()  # fmt: skip
    report = cairn.report(cairn.folder / "x.cairn")
    monitors = interpreter.version >= (3, 12)
    names = {row["name"] for row in report["rows"] if row["calls"]}
    assert any("hex" in name for name in names) and not any("abs" in name for name in names), names
    assert any("'int'" in name for name in names) == monitors, names
    [sampling, counting] = report["quality"]["engines"]
    assert (sampling["source"], sampling["unseen"]) == (None, None)
    assert counting["source"] == ("sys.monitoring" if monitors else "the profile function")
    assert counting["unseen"] == f"calls from C to C, {'' if monitors else 'of types, '}and operators"
    text = " ".join(cairn("report", cairn.folder / "x.cairn").expect().text.split())
    assert f" by {counting['source']}" in text and f"unseen: {counting['unseen']}" in text


@pytest.mark.parametrize("options, names", [
    (["--lines"], ["sampling", "lines"]),
    (["--exact", "--lines", "--opcodes"], ["sampling", "counting", "lines", "opcodes"]),
    (["--timeline", "--opcodes", "--lines"], ["sampling", "counting", "lines", "opcodes", "tracing"]),
])
def test_each_engine_has_a_row(cairn, python, options, names):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    script = cairn.folder / "program.py"
    script.write_text(PROGRAM)
    done = cairn("run", *options, "-o", "x.cairn", "--", python.executable, script, 100, 1).expect()
    quality = cairn.report(cairn.folder / "x.cairn")["quality"]
    engines = {engine["name"]: engine for engine in quality["engines"]}
    assert list(engines) == names
    assert sum(engines[name]["events"] for name in names if name in ("counting", "lines")) == quality["events"]
    assert all(engines[name]["events"] > 0 for name in names[1:])
    assert [name for name in names[1:] if engines[name]["bytes"] is None] == [
        name for name in names[2:] if name != "tracing"]  # fmt: skip
    assert (engines.get("counting", {}).get("event_ns") or 0) > 0 or "counting" not in names
    assert set(names) <= {line[9:].partition(" ")[0] for line in done.talk.splitlines()}


def test_what_an_event_took_is_of_the_calls_that_are_kept(cairn, python):
    """What the calls of one thread took was divided by the calls of all of them."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    script = cairn.folder / "program.py"
    script.write_text(PROGRAM.replace("import json\n", "import json, threading\n") + '''
thread = threading.Thread(target=lambda: print(threading.get_native_id()) or calls(100))
thread.start()
thread.join()
''')
    done = cairn("run", "--exact", "-o", "x.cairn", "--", python.executable, script, 1000, 20).expect()
    kept = {}
    for options in ((), ("--thread", done.text.split()[-1])):
        report = cairn.report(cairn.folder / "x.cairn", *options)
        kept[options] = report["quality"]["engines"][1]["event_ns"]
    whole, few = kept.values()
    assert 0.2 * whole < few < 5 * whole, kept


def test_what_is_done_to_measure_it_is_not_counted(cairn, interpreter, counts_place, script):
    for what in (["--exact"], ["--exact", "--lines"], ["--exact", "--timeline"]):
        report, _ = counted(cairn, interpreter, script, counts_place, what=what)
        cairn("export", "-f", "csv", "-o", "x.csv", "--metric", "counted", "x.cairn").expect()
        told = (cairn.folder / "x.csv").read_text()
        assert "tiny" in told and "empty" not in told and "calls_one" not in told, what
        (cairn.folder / "x.csv").unlink()

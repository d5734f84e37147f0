"""`cairn run --timeline`: when each call was. Judged by what a program noted of its own clock
(tests/targets/timed_work.py), and by the sums of the same run's exact tree."""
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import harness

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "compat"))
import second_reader  # noqa: E402

SCRIPT = "timed_work.py"
TARGETS = Path(__file__).resolve().parents[1] / "targets"
# By line: before 3.11 a recording of calls knows no qualified names.
NAMES = {
    node.lineno: node.name for node in ast.walk(ast.parse((TARGETS / SCRIPT).read_text()))
    if isinstance(node, ast.FunctionDef)
}  # fmt: skip
MAY_BE_OFF_NS = 20_000  # of two clocks that are read one after the other


@pytest.fixture
def timed(cairn, interpreter, counts_place):
    """Runs a case: the file, what each process noted, the calls by track."""

    def run(*case, options=(), status=0):
        file, ended = cairn.record(interpreter, SCRIPT, *case, options=["--timeline", *options],
                                   status=status, env=counts_place)  # fmt: skip
        said = [json.loads(line) for line in ended.text.splitlines() if line.startswith("{")]
        return file, said, calls_of(file)

    return run


def calls_of(file):
    """{track: [(function, first_ns, last_ns), in the order of the recording]}, sorted by time."""
    calls = defaultdict(list)
    for row in second_reader.read(file)[0]:
        if not row.startswith("5 track="):
            continue
        head, stack = row.split(" stack=")
        track, time, dur = (word.split("=")[1] for word in head.split()[1:])
        innermost = stack.split(";")[-1]
        if SCRIPT in innermost:
            line = int(innermost.rsplit(":", 1)[1].split("+")[0])
            name = NAMES.get(line, "<module>")
            calls[track].append((name, int(time), int(time) + int(dur)))
    return {track: sorted(rows, key=lambda row: (row[1], -row[2])) for track, rows in calls.items()}


def check_nested(rows):
    """One call lies within another, or behind it."""
    ends = []
    for _, first, last in rows:
        while ends and ends[-1] <= first:
            ends.pop()
        assert not ends or last <= ends[-1]
        ends.append(last)


def check_noted(rows, noted):
    """Each call holds the moments that it noted of itself, and little more."""
    late = []
    leaves = [first for name, first, _ in rows if name == "leaf"]
    for name in {"leaf", "branch", "rec", "steps", "fails"}:
        told = [row for row in rows if row[0] == name]
        wanted = sorted((entry for entry in noted if entry[1] == name), key=lambda e: (e[2], -e[3]))
        # A generator is entered once more behind its last yield, and ends there.
        told = [row for row in told if name != "steps" or any(row[1] <= at <= row[2] for at in leaves)]
        assert len(told) == len(wanted), name
        for (_, first, last), (_, _, begin, end) in zip(told, wanted):
            assert first - MAY_BE_OFF_NS <= begin <= end <= last + MAY_BE_OFF_NS, name
            late.append(begin - first)
    assert sorted(late)[len(late) // 2] < MAY_BE_OFF_NS


def test_calls_lie_where_the_program_saw_them(cairn, timed):
    file, [said], calls = timed("plain")
    [rows] = calls.values()
    check_nested(rows)
    check_noted(rows, said["noted"])
    check_against_the_tree(cairn, file)


def check_against_the_tree(cairn, file):
    """As many as were counted, and as long."""
    report = cairn.report(file)
    quality = report["quality"]
    assert quality["timeline_lost"] == quality["timeline_gone"] == quality["events_lost"] == 0
    assert quality["timeline_calls"] == quality["events"]
    times, trees = Counter(), Counter()
    for row in second_reader.read(file)[0]:
        fields = dict(word.split("=", 1) for word in row.split(" stack=")[0].split()[1:] if "=" in word)
        stack = row.split(" stack=")[-1]
        if row.startswith("5 track="):
            times[fields["track"], stack] += int(fields["dur"])
        elif row.startswith("2 track="):
            numbers = dict(word.split("=") for word in stack.split(" ")[-5:])
            trees[fields["track"], stack.split(" calls=")[0]] += int(numbers["total"])
    assert set(+times) <= set(trees)
    for key, total in trees.items():
        assert abs(times[key] - total) <= 2 * quality["timeline_calls"], key


def test_threads_have_timelines_of_their_own(cairn, timed):
    file, [said], calls = timed("threads")
    by_thread = defaultdict(list)
    for entry in said["noted"]:
        by_thread[entry[0]].append(entry)
    assert len(by_thread) == 4
    for who, noted in by_thread.items():
        [rows] = [rows for track, rows in calls.items() if f"/T{said['tids'][who]}@" in track]
        check_nested(rows)
        check_noted(rows, noted)
    check_against_the_tree(cairn, file)


def test_a_forked_child_has_its_own(timed):
    _, said, calls = timed("family")
    noted = {entry["pid"]: entry["noted"] for entry in said}
    child, parent = sorted(noted, key=lambda pid: noted[pid][0][0])
    for pid in (child, parent):
        [rows] = [rows for track, rows in calls.items() if f"/P{pid}@" in track]
        check_nested(rows)
        check_noted(rows, noted[pid])


@pytest.mark.parametrize("case, status", [("killed", 137), ("exits", 7)])
def test_all_of_it_is_there_however_the_process_ends(cairn, timed, case, status):
    file, [said], calls = timed(case, status=status)
    [rows] = calls.values()
    check_nested(rows)
    check_noted(rows, said["noted"])
    quality = cairn.report(file)["quality"]
    assert quality["cut_short"] is True
    assert quality["timeline_calls"] == quality["events"]
    open_ones = {name: last for name, _, last in rows if name in ("<module>", case)}
    assert len(open_ones) == 2 and min(open_ones.values()) >= max(e[3] for e in said["noted"])
    # What was on when it ended began at its last moment: it is drawn within its callers.
    path, deepest = [], []
    for event in chrome(cairn, file):
        if event["ph"] == "B":
            path.append(event["name"])
            deepest = list(path)
        elif event["ph"] == "E":
            path.pop()
    assert case in deepest[:-1] and ("kill" if case == "killed" else "_exit") in deepest[-1]


CALLS = 600_000  # more than 8 MB have room for
ROOM = 8 * 1024 * 1024 // 4096 * 255


@pytest.mark.parametrize("mode", ["full", "ring"])
def test_what_has_no_room_is_told(cairn, interpreter, counts_place, mode):
    options = [f"--timeline={mode}", "--timeline-size", "8m"]
    file, _ = cairn.record(interpreter, SCRIPT, "many", CALLS, options=options, env=counts_place)
    quality = cairn.report(file)["quality"]
    kept, lost, gone = (quality[f"timeline_{key}"] for key in ("calls", "lost", "gone"))
    assert kept + lost + gone == quality["events"] > CALLS
    assert 0.99 * ROOM <= kept <= ROOM
    if mode == "ring":
        assert lost == 0 < gone
    else:
        assert gone == 0 < lost
    text = cairn("report", file).expect().text
    assert re.search(r"[\d,]+ in\s+the\s+timeline,?\s", text)
    for count, words in ((lost, "not kept"), (gone, "made room")):
        assert re.search(f"\\b{count:,}\\s+" + words.replace(" ", r"\s+"), text)
    out = cairn("export", "-f", "chrome", file).expect().out
    assert out.count(b'"ph":"B"') >= kept or out.count(b'"ph": "B"') >= kept
    there, not_there = (b'"last"', b'"first"') if mode == "ring" else (b'"first"', b'"last"')
    assert there in out and not_there not in out


def chrome(cairn, file, *options):
    out = cairn("export", "-f", "chrome", *options, file).expect().out
    return json.loads(out)["traceEvents"]


def test_exports_draw_each_call(cairn, timed):
    """Every begin has its end, on its own thread; a timeline is there in place of samples."""
    file, [said], calls = timed("threads")
    report = cairn.report(file)
    events = chrome(cairn, file)
    stacks, begun = defaultdict(list), Counter()
    for event in events:
        if event["ph"] == "B":
            stacks[event["tid"]].append(event["name"])
            begun[event["name"]] += 1
        elif event["ph"] == "E":
            assert stacks[event["tid"]].pop() == event["name"]
    assert not any(stacks.values())
    wanted = Counter()
    for row in report["rows"]:
        wanted[row["qualname"]] += row["calls"] + row["resumes"]
    assert begun["leaf"] == wanted["leaf"] == 4 * 14 and begun["steps"] == 4 * 4
    assert sum(begun.values()) >= sum(wanted.values())
    thread = said["tids"]["t2"]
    some = [e for e in chrome(cairn, file, "--thread", str(thread)) if e["ph"] == "B"]
    assert {e["tid"] for e in some} == {thread}
    assert Counter(e["name"] for e in some)["leaf"] == 14
    focused = Counter(e["name"] for e in chrome(cairn, file, "--focus", "rec") if e["ph"] == "B")
    assert focused["rec"] == 4 * 6 and focused["leaf"] == 4 and "branch" not in focused
    mine = Counter(e["name"] for e in chrome(cairn, file, "--only-my-code") if e["ph"] == "B")
    assert mine["leaf"] == 4 * 14 and not any("built-in" in name for name in mine)


def test_part_of_the_time_is_cut_at_its_edges(cairn, timed):
    file, _, _ = timed("plain")
    whole = [event for event in chrome(cairn, file) if event["ph"] in "BE"]
    leaves = [event["ts"] for event in whole if event["ph"] == "B" and event["name"] == "leaf"]
    edges = leaves[10], leaves[-10]
    options = [word for pair in zip(("--from", "--to"), edges) for word in (pair[0], f"{pair[1] / 1e3:.6f}ms")]
    events = [event for event in chrome(cairn, file, *options) if event["ph"] in "BE"]
    stamps = [event["ts"] for event in events]
    assert max(stamps) - min(stamps) <= edges[1] - edges[0] + 0.002
    begun = [event["name"] for event in events if event["ph"] == "B"]
    assert begun[0] == "<module>" and "plain" in begun
    assert abs(begun.count("leaf") - (len(leaves) - 20)) <= 1


def test_without_it_there_is_none(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, SCRIPT, "plain", options=["--exact"])
    quality = cairn.report(file)["quality"]
    assert quality["events"] > 0
    assert [quality[f"timeline_{key}"] for key in ("calls", "lost", "gone")] == [None] * 3


@pytest.mark.parametrize("options, says", [
    (["--timeline=some"], "--timeline: there is no MODE 'some'"),
    (["--timeline-size", "8m"], "--timeline-size is room for no timeline"),
    (["--timeline", "--timeline-size", "1m"], "'1m' cannot be used as SIZE"),
])  # fmt: skip
def test_what_cannot_be_is_refused(cairn, options, says):
    ended = cairn("run", *options, "-c", "pass").expect(122)
    assert says in ended.talk

"""Regions and marks that a program writes down, judged by the program's own clock."""
import json
import os
from pathlib import Path

import pytest

import harness
from harness import execute

NEAR = 1e-6, 1e-4  # of clocks that are read one after the other: s, and of a length


def command(interpreter, case, *words):
    return interpreter.command("regions.py", case, *words)


@pytest.fixture
def place(cairn, interpreter, counts_place):
    """Where the package is seen, and the recorder is found."""
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    return {**counts_place, "PYTHONPATH": interpreter.package()}


def record(cairn, interpreter, place, case, status=0, options=()):
    done = cairn("run", *options, "--force", "--report", "none", "-o", "x.cairn", "--",
                 *command(interpreter, case), env=place).expect(status)  # fmt: skip
    report = cairn.report(cairn.folder / "x.cairn")
    assert report["quality"]["regions_lost"] == 0
    return report, {row["name"]: row for row in report["regions"]}, done


def rank(lengths, percent):
    return sorted(lengths)[(len(lengths) * percent + 99) // 100 - 1]


@pytest.mark.parametrize("case", ["nested", "threads", "tasks"])
@pytest.mark.parametrize("options", [(), ("--exact",)])
def test_lengths_are_those_of_the_program(cairn, interpreter, place, case, options):
    report, rows, done = record(cairn, interpreter, place, case, options=options)
    truth, most = (done.last_json()[key] for key in ("regions", "most"))
    assert rows.keys() == truth.keys() == most.keys()
    for name, lengths in truth.items():
        row = rows[name]
        assert row["count"] == len(lengths) == len(most[name]) and row["cut"] == 0
        # Each holds what the program measured in it, and lies in what it measured around it: so do the
        # first, the middle and all of them, wherever the program lost its processor.
        for key, of in (("min_s", min), ("max_s", max), ("total_s", sum),
                        *((f"p{n}_s", lambda s, n=n: rank(s, n)) for n in (50, 90, 99))):
            near_s = NEAR[0] * len(lengths) + NEAR[1] * row[key]
            assert of(lengths) - near_s <= row[key] <= of(most[name]) + near_s, (name, key)
    assert report["quality"]["regions"] == sum(map(len, truth.values()))


def test_functions_that_are_timed_stay_what_they_are(cairn, interpreter, place):
    _, rows, _ = record(cairn, interpreter, place, "timed")
    assert {name: row["count"] for name, row in rows.items()} == {
        "plain": 2, "Thing.method": 2, "static": 1, "waits": 1, "counts": 1, "awaited": 2, "partial": 1}  # fmt: skip
    assert rows["plain"]["min_s"] > 0.001 and rows["waits"]["min_s"] > 0.01


def test_marks_have_their_values(cairn, interpreter, place):
    report, rows, done = record(cairn, interpreter, place, "moments")
    assert rows == {} and report["quality"]["marks"] == done.last_json()["marks"] == 52
    marks = report["marks"]
    assert [mark["values"] for mark in marks[:50]] == [f"frame={i}" for i in range(50)]
    assert {mark["name"] for mark in marks[:50]} == {"mark"}
    assert (marks[50]["name"], marks[51]["name"], marks[51]["values"]) == ("epoch", "bare", "")
    assert marks[50]["values"] == f"loss=0.25 step=-3 kind=train large={1 << 70} ok=1"
    assert all(a["time_s"] <= b["time_s"] for a, b in zip(marks, marks[1:]))


def test_the_first_marks_are_those_of_the_earliest_time(cairn, python, place_of_python):
    report, _, _ = record(cairn, python, place_of_python, "crowd")
    marks = report["marks"]
    assert report["quality"]["marks"] == 10_002 and len(marks) == 10_000
    assert marks[0]["name"] == "early" and {mark["name"] for mark in marks[1:]} == {"late"}


def test_a_recorder_is_found_from_another_place(cairn, python, place_of_python, folder):
    env = {**place_of_python, "TMPDIR": str(folder)}
    _, rows, _ = record(cairn, python, env, "elsewhere")
    assert rows["inner"]["count"] == 60
    left = [*folder.glob("cairn-of-*"), *Path("/tmp").glob("cairn-of-*")]
    assert not [link for link in left if str(folder) in os.path.realpath(link)]


def test_what_makes_the_text_of_a_value_may_do_anything(cairn, interpreter, place):
    report, rows, done = record(cairn, interpreter, place, "odd_values")
    assert rows["text"]["count"] == 3 and done.last_json()["marks"] == 7
    marks = [(mark["name"], mark["values"]) for mark in report["marks"]]
    assert len(marks) == 7
    inner = ("inner", "x=1")
    assert marks[:3] == [inner, ("outer", "a=1 odd=odd b=2"), inner]
    name, values = marks[3]
    # Only some Pythons refuse to write down so many digits.
    assert name == "huge" and values.endswith(" odd=? b=2")
    assert values.startswith("n=?" if "n=? " in values else "n=1000")
    assert marks[4] == ("named", " ".join(f"{number}={number}" for number in range(20)))
    assert marks[5] == ("cut", "text=" + "\u20ac" * 682 + " lone=?")
    assert marks[6] == inner  # Ctrl-C goes on, and there is no mark


def test_long_names_and_texts_are_not_kept(cairn, interpreter, place):
    record(cairn, interpreter, place, "texts")


def test_a_forked_child_has_its_own(cairn, interpreter, place):
    report, rows, _ = record(cairn, interpreter, place, "forks")
    assert {name: row["count"] for name, row in rows.items()} == {
        "outer": 20, "inner": 60, "work": 90, "after": 1}  # fmt: skip
    text = cairn("report", cairn.folder / "x.cairn").expect().text
    lines = [line.split() for line in text.splitlines()]
    assert ["count", "total", "p50", "p90", "p99", "max", "region"] in lines
    assert any(line[:1] == ["60"] and line[-1:] == ["inner"] for line in lines)


def test_a_forked_child_does_not_end_its_parents(cairn, interpreter, place):
    _, rows, _ = record(cairn, interpreter, place, "forked_within")
    assert (rows["within"]["count"], rows["within"]["cut"]) == (1, 1)


def test_one_object_may_be_entered_within_itself(cairn, interpreter, place):
    _, rows, _ = record(cairn, interpreter, place, "kept")
    assert rows["kept"]["count"] == 10 and rows["kept"]["cut"] == 0


def test_a_name_is_told_by_its_text(cairn, interpreter, place):
    execute(command(interpreter, "names", "alone"), env={**cairn.environment(), **place}).expect()
    _, rows, _ = record(cairn, interpreter, place, "names")
    assert {name: row["count"] for name, row in rows.items()} == {
        "one": 600, **{f"name {number}": 2 for number in range(300)}}  # fmt: skip


def test_threads_that_share_an_object_leave_each_their_own(cairn, interpreter, place):
    _, rows, done = record(cairn, interpreter, place, "shared")
    lengths = done.last_json()["regions"]["shared"]
    assert (rows["shared"]["count"], rows["shared"]["cut"]) == (2, 0)
    # Were they swapped, one would hold next to nothing.
    assert rows["shared"]["min_s"] >= min(lengths) - 1e-6


def test_what_is_no_region_is_refused(cairn, interpreter, place):
    _, rows, _ = record(cairn, interpreter, place, "hooks")
    assert (rows["hooked"]["count"], rows["hooked"]["cut"]) == (1, 0)


def test_interpreters_with_locks_of_their_own(cairn, interpreter, place):
    if interpreter.version < (3, 12):
        pytest.skip("interpreters have locks of their own from 3.12 on")
    report, rows, _ = record(cairn, interpreter, place, "interpreters")
    assert (rows["inside"]["count"], rows["inside"]["cut"]) == (12000, 0)
    assert report["quality"]["marks"] == 4


def test_what_a_killed_process_wrote_is_there(cairn, interpreter, place):
    _, rows, _ = record(cairn, interpreter, place, "killed", status=128 + 9)
    assert (rows["part"]["count"], rows["part"]["cut"]) == (300, 0)
    assert (rows["whole"]["count"], rows["whole"]["cut"], rows["whole"]["max_s"]) == (1, 1, None)
    assert rows["whole"]["total_s"] >= rows["part"]["total_s"]


def test_without_a_recorder_they_are_nothing(cairn, interpreter, place):
    for case in ("nested", "timed", "moments", "kept", "odd_values", "texts", "shared", "hooks"):
        execute(command(interpreter, case), env={**cairn.environment(), **place}).expect()


def test_nothing_shows_in_the_program(cairn, python, folder):
    """No word of it in the environment, and nothing of it is left behind."""
    code = "import os; print(sorted(os.environ)); print(os.listdir(os.environ['TMPDIR']))"
    place = folder / "tmp"
    place.mkdir()
    env = cairn.environment(TMPDIR=str(place))
    alone = execute([python.executable, "-c", code], env=env).expect()
    within = cairn("run", "--report", "none", "--", python.executable, "-c", code, env=env).expect()
    assert within.out.splitlines()[0] == alone.out.splitlines()[0]
    assert list(place.iterdir()) == []


def test_the_span_cuts_what_goes_on_behind_it(cairn, python, place_of_python):
    report, rows, _ = record(cairn, python, place_of_python, "nested")
    half_s = next(mark["time_s"] for mark in report["marks"])
    parts = [cairn.report(cairn.folder / "x.cairn", *words)["regions"] for words in
             (["--to", f"{half_s:.6f}s"], ["--from", f"{half_s:.6f}s"])]  # fmt: skip
    inner = [next(row for row in part if row["name"] == "inner") for part in parts]
    assert [row["count"] for row in inner] == [32, 29] and [row["cut"] for row in inner] == [1, 1]
    assert sum(row["total_s"] for row in inner) == pytest.approx(rows["inner"]["total_s"], abs=1e-5)


def test_a_region_cuts_what_is_shown(cairn, interpreter, place):
    """What threads did within it: no more, no less; and what the slow ones have more of. A tick counts
    whole, so each of 120 edges is off by a third of an interval or more: at 1 kHz 4 ms together, by
    chance three times that once in some hundred runs."""
    _, rows, done = record(cairn, interpreter, place, "uneven", options=("-r", "4khz"))
    file, truth = cairn.folder / "x.cairn", done.last_json()["regions"]
    taken = sorted(truth["page"])
    mean_s = {"slow": sum(taken[-6:]) / 6, "middle": sum(taken[15:45]) / 30}
    report = cairn.report(file, "--region", "page", "--idle")
    spent = {row["name"]: row["total_s"] for row in report["rows"]}
    # Each of its edges may lie anywhere between two ticks, and those may come late.
    blind_s = cairn.blind_s(file, done)
    slack_s = 0.03 * sum(taken) + blind_s
    assert report["base_s"] == pytest.approx(rows["page"]["total_s"], abs=slack_s)
    assert spent["usual"] == pytest.approx(sum(truth["usual"]), abs=0.02 + slack_s)
    assert spent["seldom"] == pytest.approx(sum(truth["seldom"]), abs=0.02 + slack_s)
    slow = report["slow_regions"]
    assert (slow["slow"]["count"], slow["middle"]["count"]) == (6, 30)
    for part in ("slow", "middle"):
        assert slow[part]["mean_s"] == pytest.approx(mean_s[part], abs=0.004 + slack_s)
    if slow["enough"]:
        told = [row for row in slow["rows"] if row["distinguishable"] and row["more_s"] > 0]
        more_s = mean_s["slow"] - mean_s["middle"]
        # One that nobody saw for as long as the slow ones last can hide what these have more of.
        assert (told and told[0]["name"] == "spin") or blind_s > mean_s["slow"], slow
        for row in told[:1]:
            assert row["more_s"] == pytest.approx(more_s, abs=0.004 + slack_s)
    for length, count, names in (("slow", 6, {"seldom"}), ("middle", 30, {"usual"})):
        part = cairn.report(file, "--region", "p?ge", "--region-length", length, "--idle")
        assert part["slow_regions"] is None
        least_s = sum(min(truth[name]) for name in names) * count / 2 - blind_s
        seen = {row["name"] for row in part["rows"] if row["total_s"] > least_s}
        assert names <= seen or least_s <= 0, part["rows"]
        assert part["base_s"] == pytest.approx(count * mean_s[length], abs=0.02 + slack_s)
    cairn("report", "--region", "page", "--thread", "beside", file).expect(harness.USAGE)
    text = cairn("report", "--region", "page", file).expect().text
    assert not slow["enough"] or "the slowest 6 regions (" in text
    stacks = cairn.collapsed(file, "--region", "page")
    assert sum(stacks.values()) / 1e6 == pytest.approx(report["base_s"], abs=1e-3)


def test_a_trace_draws_them(cairn, interpreter, place):
    report, rows, done = record(cairn, interpreter, place, "nested")
    out = cairn("export", "-f", "chrome", cairn.folder / "x.cairn").expect().out
    events = json.loads(out)["traceEvents"]
    begun = {event["id"]: event for event in events if event["ph"] == "b"}
    ended = {event["id"]: event for event in events if event["ph"] == "e"}
    assert begun.keys() == ended.keys() and len(begun) == 80
    spans = {name: sorted((begun[i]["ts"], ended[i]["ts"]) for i in begun if begun[i]["name"] == name)
             for name in rows}  # fmt: skip
    for name, row in rows.items():
        assert len(spans[name]) == row["count"]
        assert sum(b - a for a, b in spans[name]) / 1e6 == pytest.approx(row["total_s"], abs=1e-6)
    for i, (first, last) in enumerate(spans["inner"]):
        outer = spans["outer"][i // 3]
        assert outer[0] <= first <= last <= outer[1]
    [mark] = [event for event in events if event["ph"] == "i"]
    assert mark["name"] == "half" and mark["s"] == "t"
    assert mark["ts"] / 1e6 == pytest.approx(report["marks"][0]["time_s"], abs=1e-3)
    samples = [event["ts"] for event in events if event["ph"] == "B" and event["name"] == "spin"]
    # A row begins at the tick before.
    blind_us = cairn.blind_s(cairn.folder / "x.cairn", done) * 1e6
    assert samples or blind_us > 100_000
    for begin in samples[:1]:
        assert spans["outer"][0][0] - 2000 - blind_us < begin < spans["outer"][-1][1]


@pytest.mark.parametrize("case", ["nested", "tasks", "threads", "moments"])
def test_perfetto_draws_them(cairn, python, place_of_python, case):
    """Each on a track of its thread's, within another or behind it."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

    report, rows, _ = record(cairn, python, place_of_python, case)
    trace = proto.Trace()
    data = cairn("export", "-f", "perfetto", cairn.folder / "x.cairn").expect().out
    assert trace.ParseFromString(data) == len(data)
    names, tracks, events, marks = {}, {}, [], []
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        names.update({entry.iid: entry.name for entry in packet.interned_data.event_names})
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if event.type == proto.TrackEvent.TYPE_INSTANT:
            assert tracks[event.track_uuid].HasField("thread")
            marks.append((names[event.name_iid], *[n.string_value for n in event.debug_annotations]))
        elif tracks[event.track_uuid].name == "regions":
            assert tracks[tracks[event.track_uuid].parent_uuid].HasField("thread")
            events.append((packet.timestamp, event.track_uuid, names.get(event.name_iid)))
    lasted, on = {name: [] for name in rows}, {}
    for time_ns, track, name in sorted(events, key=lambda event: event[0]):
        if name:
            on.setdefault(track, []).append((name, time_ns))
        else:
            begun, begun_ns = on[track].pop()
            lasted[begun].append((time_ns - begun_ns) / 1e9)
    assert not any(on.values())
    for name, row in rows.items():
        assert len(lasted[name]) == row["count"]
        assert max(lasted[name]) == pytest.approx(row["max_s"], abs=1e-9)
        assert sum(lasted[name]) == pytest.approx(row["total_s"], abs=1e-6)
    wanted = [(mark["name"], *([mark["values"]] if mark["values"] else [])) for mark in report["marks"]]
    assert marks == wanted


def test_a_region_that_is_not_there(cairn, python, place_of_python):
    record(cairn, python, place_of_python, "uneven")
    for words, said in (
        (["--region", "pag"], "There are: page, part."),
        (["--region", "page", "--metric", "counted"], "--region"),
        (["--region-length", "slow"], "Say which ones"),
    ):
        told = cairn("report", *words, "x.cairn").expect(harness.USAGE)
        assert said in told.talk and told.out == b""


@pytest.fixture
def place_of_python(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    return {"PYTHONPATH": python.package()}


def test_a_process_that_is_attached_to_finds_out(cairn, python, place_of_python):
    until = cairn.folder / "until"
    env = {**cairn.environment(), **place_of_python}
    process = harness.spawn(command(python, "later", until), env=env)
    try:
        cairn("attach", "--for", "3s", "--report", "none", "-o", "x.cairn", process.pid).expect()
    finally:
        until.touch()
        harness.finish(process).expect()
    report = cairn.report(cairn.folder / "x.cairn")
    (row,) = report["regions"]
    assert row["name"] == "later" and row["count"] > 100 and row["p50_s"] >= 0.002


def test_workers_of_a_process_that_is_attached_to_find_out(cairn, python, place_of_python):
    until = cairn.folder / "until"
    env = {**cairn.environment(), **place_of_python}
    process = harness.spawn(command(python, "workers", until), env=env)
    try:
        assert harness.read_line(process) == "ready"
        cairn("attach", "--for", "3s", "--report", "none", "-o", "x.cairn", process.pid).expect()
    finally:
        until.touch()
        harness.finish(process).expect()
    report = cairn.report(cairn.folder / "x.cairn")
    rows = {row["name"]: row["count"] for row in report["regions"]}
    assert rows.keys() == {"plain", "worker 0", "worker 1"} and min(rows.values()) > 100


@pytest.mark.parametrize("case", ["profiled", "marked"])
def test_one_recording_after_the_other(cairn, python, place_of_python, case):
    files = [cairn.folder / "a.cairn", cairn.folder / "b.cairn"]
    env = {**cairn.environment(), **place_of_python}
    execute(command(python, case, *files), env=env).expect()
    for file in files:
        report = cairn.report(file)
        assert report["quality"]["regions_lost"] == 0
        if case == "marked":
            assert report["quality"]["marks"] > 10
        else:
            rows = {row["name"]: row["count"] for row in report["regions"]}
            assert rows["block"] > 10
            # The first was not looked for when the function was made, but when it was called.
            assert file != files[0] or rows["plain"] == 1

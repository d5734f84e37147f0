"""`cairn export` to formats that show when things were: chrome, perfetto, firefox, cpuprofile; and
csv. Their own readers open them, and their sums are the model's, to the nanosecond where the format
has room for one."""
import csv
import io
import json
import os
import re
import shutil
import sys
from collections import Counter
from decimal import Decimal

import pytest

import harness

sys.path.append(str(harness.ROOT / "tests" / "compat"))
import second_reader  # noqa: E402

METRICS = ["wall", "cpu"]


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    """Threads that run, sleep and wait."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("times"))
    return cairn.need_sight(*cairn.record(python, "states.py", 0.8))


@pytest.fixture(scope="module")
def named(python, tmp_path_factory):
    """Names that are hard."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("named"))
    file, ended = cairn.record(python, "names.py", 0.9, 9)
    return file, ended.last_json()


def exported(cairn, file, name, *options):
    return cairn("export", "-f", name, *options, file).expect().out


def exact(data):
    """JSON with its numbers as they stand there."""
    return json.loads(data, parse_float=Decimal)


def rows_of(cairn, file, *options):
    """{(qualname, file): ns of self} of the report; file: a module where the code is native."""
    out = cairn("report", "--json", "--idle", *options, file).expect().out
    sums = Counter()
    for row in exact(out)["rows"]:
        if row["self_s"]:
            sums[row["qualname"], row["file"] or row["module"]] += int(row["self_s"] * 10**9)
    return +sums


class Slices:
    """What slices say: the time of each function itself, and when it was seen first."""

    def __init__(self):
        self.open, self.last_ns = {}, {}
        self.self_ns, self.began_ns = Counter(), {}

    def spend(self, track, now_ns):
        stack = self.open.setdefault(track, [])
        before_ns = self.last_ns.get(track, now_ns)
        assert now_ns >= before_ns, "the times of a track never go back"
        if stack:
            self.self_ns[stack[-1]] += now_ns - before_ns
        self.last_ns[track] = now_ns
        return stack

    def begin(self, track, now_ns, function):
        self.spend(track, now_ns).append(function)
        self.began_ns.setdefault(function[0], now_ns)

    def end(self, track, now_ns):
        return self.spend(track, now_ns).pop()

    def finished(self):
        assert not any(self.open.values()), "what began has ended"
        return +self.self_ns


def chrome_slices(data):
    slices = Slices()
    document = exact(data)
    for event in document["traceEvents"]:
        track = event["pid"], event["tid"]
        if event["ph"] == "M":
            continue
        now_ns = int(Decimal(event["ts"]) * 1000)
        args = event.get("args", {})
        if event["ph"] == "B":
            slices.begin(track, now_ns, (event["name"], args.get("file", args.get("module", ""))))
        else:
            assert event["ph"] == "E" and slices.end(track, now_ns)[0] == event["name"]
    return document, slices


@pytest.mark.parametrize("metric", METRICS)
def test_chrome_sums_to_the_model(cairn, recording, metric):
    _, slices = chrome_slices(exported(cairn, recording, "chrome", "--metric", metric))
    rows = rows_of(cairn, recording, "--metric", metric)
    assert sum(rows.values()) > 0 and slices.finished() == rows


def test_chrome_names_its_tracks(cairn, recording):
    document, slices = chrome_slices(exported(cairn, recording, "chrome"))
    meta = [event for event in document["traceEvents"] if event["ph"] == "M"]
    names = {event["args"]["name"]: event["tid"] for event in meta if event["name"] == "thread_name"}
    assert {"sleeper", "waiter", "busy"} <= set(names)
    threads = {e["name"]: e["tid"] for e in document["traceEvents"] if e["ph"] == "B"}
    assert threads["sleep_through"] == names["sleeper"] and threads["spin"] == names["busy"]


@pytest.fixture(scope="module")
def perfetto_trace():
    """The message classes of the format's own package."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    return perfetto_trace_pb2


def assert_known(message):
    """All that it holds is of the format, and nothing lies at another's number."""
    from google.protobuf import unknown_fields

    assert len(unknown_fields.UnknownFieldSet(message)) == 0
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                assert_known(inner)


def perfetto_slices(proto, data):
    """The slices of threads, and those of their states by thread."""
    trace = proto.Trace()
    assert trace.ParseFromString(data) == len(data)
    assert_known(trace)
    names, places, tracks = {}, {}, {}
    calls, states = Slices(), Slices()
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        for entry in packet.interned_data.source_locations:
            places[entry.iid] = entry
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        slices = calls if tracks[event.track_uuid].HasField("thread") else states
        if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
            file = places[event.source_location_iid].file_name if slices is calls else ""
            slices.begin(event.track_uuid, packet.timestamp, (names[event.name_iid], file))
        else:
            assert event.type == proto.TrackEvent.TYPE_SLICE_END
            slices.end(event.track_uuid, packet.timestamp)
    return trace, tracks, calls, states


@pytest.mark.parametrize("metric", METRICS)
def test_perfetto_sums_to_the_model(cairn, recording, perfetto_trace, metric):
    data = exported(cairn, recording, "perfetto", "--metric", metric)
    calls = perfetto_slices(perfetto_trace, data)[2]
    assert calls.finished() == rows_of(cairn, recording, "--metric", metric)


def test_perfetto_has_threads_in_processes_and_states_below(cairn, recording, perfetto_trace):
    data = exported(cairn, recording, "perfetto")
    trace, tracks, calls, states = perfetto_slices(perfetto_trace, data)
    assert trace.packet[0].clock_snapshot.primary_trace_clock == 3  # MONOTONIC
    assert trace.packet[1].trace_packet_defaults.timestamp_clock_id == 3
    threads = {t.thread.thread_name: t for t in tracks.values() if t.HasField("thread")}
    assert {"sleeper", "waiter", "busy"} <= set(threads)
    for thread in threads.values():
        process = tracks[thread.parent_uuid].process
        assert process.pid == thread.thread.pid and "states.py" in process.cmdline[0]
    wall = sum(rows_of(cairn, recording).values())
    assert sum(states.finished().values()) == wall, "states are all of the time"
    assert {name for name, _ in states.self_ns} <= {
        "running", "runnable", "blocked", "gil_wait", "stopped", "unknown"}


class StackSamples:
    """The stack samples of a trace: the weights of each (tid, stack), stacks as those that
    Cairn.collapsed() reads."""

    TABLES = ("function_names", "source_paths", "frames", "callstacks", "stack_sample_task_contexts")

    def __init__(self, proto, data):
        self.proto, self.tables = proto, {name: {} for name in self.TABLES}
        self.primary, self.follower, self.times_ns = Counter(), Counter(), {}
        self.defaults = None
        for packet in proto.Trace.FromString(data).packet:
            self.read(packet)

    def read(self, packet):
        if packet.sequence_flags & self.proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            assert self.defaults is None, "what was told is not forgotten on the way"
            self.defaults = packet.trace_packet_defaults.stack_sample_defaults
        for name, table in self.tables.items():
            for entry in getattr(packet.interned_data, name):
                assert entry.iid > 0 and table.setdefault(entry.iid, entry) is entry, "told once"
        if not packet.HasField("stack_sample"):
            return
        assert packet.sequence_flags & self.proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        sample = packet.stack_sample
        task = self.tables["stack_sample_task_contexts"][sample.task_context_iid]
        key = task.tid, self.stack(sample.callstack_iid)
        self.primary[key] += sample.primary_weight
        assert len(sample.follower_weights) == len(self.defaults.follower_descriptors)
        for weight in sample.follower_weights:
            self.follower[key] += weight
        self.times_ns.setdefault((task.pid, task.tid), []).append(packet.timestamp)

    def stack(self, number):
        frames = self.tables["frames"]
        return tuple(harness.parse_frame(self.frame(frames[i]))
                     for i in self.tables["callstacks"][number].frame_ids)

    def frame(self, frame):
        path = self.tables["source_paths"].get(frame.source_path_iid)
        name = self.tables["function_names"][frame.function_name_id].str.decode()
        if frame.kind == frame.KIND_NATIVE:
            return f"{name} [{path.str.decode()}]"
        line = f":{frame.line_number}" if frame.line_number else ""
        return f"{name} ({path.str.decode()}{line})" if path else name

    def counters(self):
        told = self.defaults.primary_descriptor, *self.defaults.follower_descriptors
        return [(counter.name, counter.unit) for counter in told]

    def by_stack(self, weights, tid=None):
        sums = Counter()
        for (thread, stack), weight in weights.items():
            if tid in (None, thread):
                sums[stack] += weight
        return sums


FILTERS = {
    "all": [], "cpu": ["--metric", "cpu"], "lines": ["--lines", "executing"],
    "thread": ["--thread", "waiter"], "time": ["--from", "200ms", "--to", "500ms"],
    "stacks": ["--focus", "spin"], "mine": ["--only-my-code"]}


@pytest.mark.parametrize("name", FILTERS)
def test_perfetto_stack_samples_are_the_stacks_of_collapsed(cairn, recording, perfetto_trace, name):
    options = FILTERS[name]
    told = StackSamples(perfetto_trace, exported(cairn, recording, "perfetto", *options))
    lines = [] if "--lines" in options else ["--lines", "first"]
    stacks = cairn.collapsed(recording, *options, *lines)
    samples = told.by_stack(told.primary)
    filters = [] if "--lines" in options else options
    assert sum(samples.values()) == sum(rows_of(cairn, recording, *filters).values()) > 0
    for stack in set(samples) | set(stacks):
        # Collapsed stacks are in whole us, and their sum is exact: one may be off by one.
        assert abs(samples[stack] / 1000 - stacks.get(stack, 0)) <= 1, stack
    unit = perfetto_trace.StackSample
    assert told.defaults.source == "cairn" and told.counters() == [
        ("cpu" if name == "cpu" else "wall", unit.UNIT_NANOSECONDS), ("samples", unit.UNIT_COUNT)]


def test_perfetto_stack_samples_can_be_counted(cairn, recording, perfetto_trace):
    """Their number is beside their time, and in front of it when asked."""
    told = StackSamples(perfetto_trace, exported(cairn, recording, "perfetto"))
    counts = cairn.collapsed(recording, "--unit", "samples", "--lines", "first")
    assert told.by_stack(told.follower) == counts
    asked = StackSamples(perfetto_trace, exported(cairn, recording, "perfetto", "--unit", "samples"))
    assert [name for name, _ in asked.counters()] == ["samples", "wall"]
    assert asked.primary == told.follower and asked.follower == told.primary


def test_perfetto_counts_no_stack_samples_that_nobody_counted(cairn, recording, perfetto_trace, folder):
    """Of a file of times alone nobody knows how many samples they were."""
    (folder / "times.json").write_bytes(exported(cairn, recording, "speedscope"))
    told = StackSamples(perfetto_trace, exported(cairn, folder / "times.json", "perfetto"))
    assert [name for name, _ in told.counters()] == ["wall"] and not told.follower
    wall_ns = sum(rows_of(cairn, folder / "times.json").values())
    assert sum(told.primary.values()) == wall_ns > 0


def test_perfetto_stack_samples_are_of_their_threads(cairn, recording, perfetto_trace):
    data = exported(cairn, recording, "perfetto")
    told, tracks = StackSamples(perfetto_trace, data), perfetto_slices(perfetto_trace, data)[1]
    threads = {(t.thread.pid, t.thread.tid): t.thread.thread_name
               for t in tracks.values() if t.HasField("thread")}
    assert set(told.times_ns) == set(threads)
    for times_ns in told.times_ns.values():
        assert times_ns == sorted(set(times_ns)), "no two of a thread at one moment"
    for (_, tid), name in threads.items():
        if name not in ("sleeper", "waiter", "busy"):
            continue
        stacks = cairn.collapsed(recording, "--thread", tid, "--unit", "samples", "--lines", "first")
        assert told.by_stack(told.follower, tid) == stacks, name


def test_slices_stand_where_the_program_was(cairn, python, perfetto_trace):
    """Both the program and the trace tell CLOCK_MONOTONIC."""
    file, ended = cairn.record(python, "names.py", 0.9)
    facts, blind_s = ended.last_json(), cairn.blind_s(file, ended)
    calls = perfetto_slices(perfetto_trace, exported(cairn, file, "perfetto"))[2]
    chrome = chrome_slices(exported(cairn, file, "chrome"))[1]
    shown = {name: name.replace("\0", "\\x00") for name in facts["functions"]}
    seen = {name for name in facts["functions"] if shown[name] in calls.began_ns}
    origins = {calls.began_ns[shown[name]] - chrome.began_ns[name] for name in seen}
    assert len(origins) == 1, "the other one counts from the start"
    for name, began_s, spent_s in zip(facts["functions"], facts["began_s"], facts["spent_s"]):
        # A tick before the function was seen it was not yet there, or had just begun; not seen is who
        # was there only while nobody looked.
        late_s = calls.began_ns[shown[name]] / 1e9 - began_s if name in seen else spent_s
        assert abs(late_s) < 0.05 + blind_s, name


PROFILER_CLI = "0.10.0"


class FirefoxReader:
    """The Firefox profiler's own code, on the command line: a process that has a profile open, and
    commands that ask it."""

    def __init__(self, folder):
        package = harness.npm_package("@firefox-devtools/profiler-cli", PROFILER_CLI)
        self.program = ["node", package / "dist" / "profiler-cli.js"]
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(folder)}
        self.folder = folder
        self.processes = []

    def json(self, *words):
        ended = harness.execute([*self.program, *words, "--session", self.session, "--json"],
                                cwd=self.folder, env=self.env)
        return ended.expect().json()

    def load(self, data, name):
        """Its log says when it is ready, so that goes to a pipe."""
        self.session = name
        (self.folder / name).write_bytes(data)
        (self.folder / f"{name}.log").symlink_to("/dev/stdout")
        process = harness.spawn([*self.program, "--daemon", self.folder / name, "--session", name],
                                cwd=self.folder, env=self.env)
        self.processes.append(process)
        while "loaded successfully" not in (line := harness.read_line(process)):
            assert "ERROR" not in line, line

    def close(self):
        for process in self.processes:
            harness.end_group(process)
            process.wait(harness.DEADLINE_S)

    def self_ms(self, thread):
        rows = self.json("thread", "functions", "--limit", "0", "--include-idle", "--thread", thread)
        sums = Counter()
        for row in rows["functions"]:
            sums[row["name"]] += row["selfSamples"]
        return rows["weightType"], sums


@pytest.fixture
def firefox(folder):
    if not shutil.which("node"):
        pytest.skip("node is not installed, which the Firefox profiler's reader runs on")
    place = folder / "reader"
    place.mkdir()
    reader = FirefoxReader(place)
    yield reader
    reader.close()


def by_name(rows):
    sums = Counter()
    for (name, _), value in rows.items():
        sums[name] += value
    return sums


def part_of_first_rows(file):
    """Of all CPU time, in the first row of each thread."""
    rows = [re.match(r"1 track=(\S+) tick=(\d+) .* cpu=(\d+) runq=", line) for line in second_reader.read(file)[0]]
    found = sorted((row[1], int(row[2]), int(row[3])) for row in rows if row)
    first = {track: cpu for track, _, cpu in reversed(found)}
    return sum(first.values()) / sum(cpu for _, _, cpu in found)


@pytest.mark.parametrize("metric", METRICS)
def test_firefox_opens_and_sums_to_the_model(cairn, recording, firefox, metric):
    firefox.load(exported(cairn, recording, "firefox", "--metric", metric), "firefox.json")
    sums, threads = Counter(), firefox.json("thread", "list")["threads"]
    for thread in threads:
        kind, values = firefox.self_ms(thread["threadHandle"])
        assert kind == "tracing-ms"
        sums.update(values)
    rows = by_name(rows_of(cairn, recording, "--metric", metric))
    assert {name for name, ms in sums.items() if ms > 1e-6} == set(rows)
    for name, value_ns in rows.items():
        assert abs(sums[name] - value_ns / 1e6) < 1e-4, name
    cpu_ns = sum(rows_of(cairn, recording, "--metric", "cpu").values())
    # What a thread had run when it was first seen is nobody's, says the format.
    least_ns = (1 - part_of_first_rows(recording)) * cpu_ns
    assert 0.999 * least_ns <= sum(t["cpuMs"] for t in threads) * 1e6 <= 1.0001 * cpu_ns


def test_firefox_shows_threads_and_states(cairn, recording, firefox):
    firefox.load(exported(cairn, recording, "firefox"), "firefox.json")
    threads = {t["name"]: t["threadHandle"] for t in firefox.json("thread", "list")["threads"]}
    assert {"sleeper", "waiter", "busy"} <= set(threads)
    spent = {}
    for name, handle in threads.items():
        kinds = firefox.json("thread", "markers", "--limit", "0", "--thread", handle)["byType"]
        spent[name] = {
            kind["markerName"]: kind["count"] * kind["durationStats"]["avg"] for kind in kinds}
    least_ms = 0.9 * 800 - cairn.report(recording)["quality"]["missed"]  # at 1 kHz
    assert spent["sleeper"]["blocked"] > least_ms and spent["waiter"]["blocked"] > least_ms
    assert spent["busy"]["running"] > 10 * spent["sleeper"].get("running", 0)


def test_firefox_counts_samples_when_asked(cairn, recording):
    document = exact(exported(cairn, recording, "firefox", "--unit", "samples"))
    counts = [sum(thread["samples"]["weight"]) for thread in document["threads"]]
    assert {t["samples"]["weightType"] for t in document["threads"]} == {"samples"}
    assert sum(counts) == cairn.report(recording)["quality"]["samples"]
    assert document["meta"]["preprocessedProfileVersion"] == 60


def test_the_firefox_profiler_opens_the_others_too(cairn, recording, firefox):
    firefox.load(exported(cairn, recording, "chrome"), "chrome.json")
    threads = {t["name"]: t["threadHandle"] for t in firefox.json("thread", "list")["threads"]}
    assert {"sleeper", "waiter", "busy"} <= set(threads)
    markers = firefox.json("thread", "markers", "--limit", "0", "--thread", threads["sleeper"])
    assert "sleep_through" in {kind["markerName"] for kind in markers["byType"]}
    firefox.load(exported(cairn, recording, "cpuprofile", "--thread", "busy"), "one.cpuprofile")
    kind, values = firefox.self_ms("t-0")
    assert kind == "samples" and "spin" in values


def cpuprofile_sums(document):
    """{(function, url): us of self} as VS Code adds them up: until the next sample."""
    nodes = {node["id"]: node["callFrame"] for node in document["nodes"]}
    sums, now = Counter(), document["startTime"]
    times = []
    for delta in document["timeDeltas"]:
        assert delta >= 0
        now += delta
        times.append(now)
    assert len(times) == len(document["samples"]) and now <= document["endTime"]
    for node, begin, end in zip(document["samples"], times, [*times[1:], document["endTime"]]):
        sums[nodes[node]["functionName"], nodes[node]["url"]] += end - begin
    del sums["(idle)", ""]
    return sums


@pytest.mark.parametrize("metric", METRICS)
def test_cpuprofile_sums_to_the_model(cairn, recording, metric):
    options = "--thread", "busy", "--metric", metric
    document = json.loads(exported(cairn, recording, "cpuprofile", *options))
    sums, rows = cpuprofile_sums(document), rows_of(cairn, recording, *options)
    assert sum(rows.values()) > 0
    for function in set(sums) | set(rows):
        # Whole microseconds, rounded where a sample begins and where it ends.
        assert abs(sums[function] - rows[function] / 1000) <= 1 + len(document["samples"])
    if metric == "wall":
        assert abs(sum(sums.values()) - sum(rows.values()) / 1000) <= 2


def test_cpuprofile_is_a_tree_with_lines(cairn, recording):
    document = json.loads(exported(cairn, recording, "cpuprofile", "--thread", "busy"))
    nodes = {node["id"]: node for node in document["nodes"]}
    children = [child for node in nodes.values() for child in node.get("children", ())]
    assert sorted([document["nodes"][0]["id"], *children]) == sorted(nodes), "each has one parent"
    spin = [node for node in nodes.values() if node["callFrame"]["functionName"] == "spin"]
    source = (harness.TARGETS / "states.py").read_text().splitlines()
    assert source[spin[0]["callFrame"]["lineNumber"]].startswith("def spin"), "counted from 0"
    body = {source[tick["line"] - 1].strip() for node in spin for tick in node["positionTicks"]}
    assert body and not any(line.startswith("def") for line in body), "counted from 1"


def test_cpuprofile_says_which_threads_it_leaves_out(cairn, recording):
    ended = cairn("export", "-f", "cpuprofile", recording).expect()
    assert "3 other threads" in ended.talk and "--thread" in ended.talk
    rows = {row["name"]: row["self_s"] for row in cairn.report(recording, "--by", "thread",
                                                              "--idle")["rows"]}
    sums = cpuprofile_sums(json.loads(ended.out))
    assert abs(sum(sums.values()) / 1e6 - max(rows.values())) < 1e-3
    ended = cairn("export", "-f", "cpuprofile", "--thread", "busy", recording).expect()
    assert "other thread" not in ended.talk


def read_csv(data):
    assert data.endswith(b"\r\n")
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


@pytest.mark.parametrize("by", ["function", "line", "thread", "module"])
def test_csv_has_the_rows_of_the_report(cairn, recording, by):
    table = read_csv(exported(cairn, recording, "csv", "--by", by))
    rows = cairn.report(recording, "--by", by, "--idle")["rows"]
    assert len(table) == len(rows) > 2
    for cells, row in zip(table, rows):
        for key, cell in cells.items():
            assert cell == row[key] if isinstance(row[key], str) else float(cell) == row[key], key


def test_csv_of_counted_calls_has_the_rows_of_the_report(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, "exact_work.py", "calls", options=["--exact"])
    table = read_csv(exported(cairn, file, "csv"))
    rows = cairn.report(file, "--idle", "--sort", "self")["rows"]
    assert len(table) == len(rows) > 20 and any(row["confidence"] for row in rows)
    for cells, row in zip(table, rows):
        for key, cell in cells.items():
            if key in ("samples", "total_samples"):
                assert cell == ""
            elif isinstance(row[key], str):
                assert cell == row[key], key
            else:
                assert float(cell) == row[key], key


def test_csv_defuses_formulas(cairn, named):
    file, facts = named
    names = {row["name"] for row in read_csv(exported(cairn, file, "csv"))}
    formulas = [name for name in facts["functions"] if name[0] in "=+-@"]
    assert formulas and {"'" + name for name in formulas} <= names
    assert not any(name.startswith(("=", "+", "-", "@")) for name in names)


def shown_in_csv(name):
    for number in (*range(0x20), 0x7F):
        name = name.replace(chr(number), f"\\x{number:02x}")
    name = name.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return "'" + name if name[0] in "=+-@" else name


def test_hard_names_survive_every_format(cairn, named, perfetto_trace):
    file, facts = named
    wanted = set(facts["functions"])
    outs = {name: exported(cairn, file, name, "--thread", facts["thread"])
            for name in ("chrome", "firefox", "cpuprofile", "csv")}
    for name, out in outs.items():
        assert b"\xe2\x80\xa8" not in out and b"\xe2\x80\xa9" not in out, name
    assert wanted <= {event["name"] for event in json.loads(outs["chrome"])["traceEvents"]}
    assert wanted <= set(json.loads(outs["firefox"])["shared"]["stringArray"])
    frames = [node["callFrame"] for node in json.loads(outs["cpuprofile"])["nodes"]]
    assert wanted <= {frame["functionName"] for frame in frames}
    assert facts["file"] in {frame["url"] for frame in frames}
    assert {shown_in_csv(n) for n in wanted} <= {row["name"] for row in read_csv(outs["csv"])}
    _, tracks, calls, _ = perfetto_slices(perfetto_trace, exported(cairn, file, "perfetto"))
    assert {n.replace("\0", "\\x00") for n in wanted} <= set(calls.began_ns)
    told = StackSamples(perfetto_trace, exported(cairn, file, "perfetto")).tables
    texts = {entry.str.decode() for entry in told["function_names"].values()}
    assert {n.replace("\0", "\\x00") for n in wanted} <= texts
    assert facts["file"] in {entry.str.decode() for entry in told["source_paths"].values()}
    assert facts["thread"] in {t.thread.thread_name for t in tracks.values()}


@pytest.mark.parametrize("name", ["chrome", "perfetto", "firefox", "cpuprofile", "csv", "collapsed",
                                  "speedscope", "pprof", "flamegraph"])
def test_what_a_format_does_not_hold_is_told(cairn, recording, name):
    ended = cairn("export", "-f", name, recording).expect()
    assert f"cairn: {name} does not hold " in ended.talk


def test_filters_hold_for_times_too(cairn, recording):
    options = "--from", "300ms", "--to", "600ms", "--focus", "spin"
    _, slices = chrome_slices(exported(cairn, recording, "chrome", *options))
    rows = rows_of(cairn, recording, *options)
    assert rows and slices.finished() == rows
    _, slices = chrome_slices(exported(cairn, recording, "chrome", "--only-my-code"))
    assert slices.finished() == rows_of(cairn, recording, "--only-my-code")


def test_a_thread_that_overlaps_itself_stays_nested(cairn, recording, folder):
    """A recording and its own copy: every thread is at two places at every moment."""
    shutil.copy(recording, folder / "copy.cairn")
    out = cairn("export", "-f", "chrome", recording, folder / "copy.cairn").expect().out
    rows = exact(cairn("report", "--json", "--idle", recording, folder / "copy.cairn").expect().out)
    sums = sum(int(row["self_s"] * 10**9) for row in rows["rows"])
    assert sum(chrome_slices(out)[1].finished().values()) == sums


def test_tasks_are_refused(cairn, recording):
    ended = cairn("export", "-f", "csv", "--by", "task", recording).expect(harness.USAGE)
    assert ended.out == b"" and "task" in ended.talk

"""`cairn query`: the page's views as JSON, with handles that lead from one to the next."""
import json
import shutil

import pytest

import harness
from test_view import NO_DESKTOP, serving

ARGUMENTS = ["overview", "table --by line --limit 5", "table --metric cpu --sort total",
             "function told", "flame", "flame --depth 2 --cutoff 5", "flame --by line --limit 9",
             "graph --cutoff 5", "timeline --slices 7"]


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("query"))
    return cairn.need_sight(*cairn.record(python, "states.py", 0.5))


def ask(cairn, recording, *words):
    return cairn("query", recording, *words).expect().json()


@pytest.mark.parametrize("by", ["function", "line", "module", "thread", "process", "state"])
def test_a_table_is_that_of_the_report(cairn, recording, by):
    report = cairn.report(recording, "--by", by, "--sort", "total")
    table = ask(cairn, recording, "table", "--by", by, "--sort", "total")
    for key in ("rows", "base_s", "states", "quality", "recording", "rankable"):
        assert table[key] == report[key]


def test_the_overview_says_what_the_report_says(cairn, recording):
    overview, report = ask(cairn, recording, "overview"), cairn.report(recording)
    head = cairn("report", recording).expect().text.split("\ntime ")[0]
    assert overview["verdict"] == " ".join(head.split())
    assert overview["rows"] == report["rows"][:10] and overview["roles"] == report["roles"]


@pytest.mark.parametrize("by, lines", [("function", "none"), ("line", "executing")])
def test_boxes_are_the_stacks_of_the_export(cairn, recording, by, lines):
    """Each box has the time of the collapsed stacks that begin as it does, and there are no others."""
    stacks = cairn.collapsed(recording, "--lines", lines)
    totals, selves = {}, {}
    for stack, value in stacks.items():
        for depth in range(1, len(stack) + 1):
            totals[stack[:depth]] = totals.get(stack[:depth], 0) + value
        selves[stack] = value
    flame = ask(cairn, recording, "flame", "--by", by, "--cutoff", "0", "--idle")
    paths, found = {}, {}
    for box in flame["rows"]:
        frame = harness.Frame(box["qualname"], box["file"], box["line"])
        path = paths[box["stack"]] = (*paths.get(box["parent"], ()), frame)
        assert len(path) == box["depth"] and path not in found
        found[path] = box
    assert flame["left_out"] == 0 and set(found) == set(totals)
    for path, box in found.items():
        # The export's values are whole microseconds, each rounded for itself.
        assert abs(box["total_s"] * 1e6 - totals[path]) <= len(stacks)
        assert abs(box["self_s"] * 1e6 - selves.get(path, 0)) <= 1


def test_the_graph_is_that_of_the_stacks(cairn, recording):
    """Each call has the time of the collapsed stacks that hold it, and there are no others."""
    stacks = cairn.collapsed(recording, "--lines", "none")
    calls = {}
    for stack, value in stacks.items():
        for call in {*zip((None, *stack), stack)}:
            calls[call] = calls.get(call, 0) + value
    graph = ask(cairn, recording, "graph", "--cutoff", "0")
    names = {row["handle"]: harness.Frame(row["qualname"], row["file"]) for row in graph["rows"]}
    names[None] = None
    found = {(names[edge["caller"]], names[edge["callee"]]): edge for edge in graph["edges"]}
    assert len(found) == len(graph["edges"]) and set(found) == set(calls)
    assert graph["left_out"] == graph["edges_left_out"] == 0
    for call, edge in found.items():
        assert abs(edge["total_s"] * 1e6 - calls[call]) <= len(stacks)
    lengths = [edge["total_s"] for edge in graph["edges"]]
    assert lengths == sorted(lengths, reverse=True)
    assert graph["rows"] == cairn.report(recording, "--sort", "total", "--idle")["rows"]


def test_what_a_graph_leaves_out_is_told(cairn, recording):
    whole = ask(cairn, recording, "graph", "--cutoff", "0")
    for options in (["--limit", "4"], ["--cutoff", "10"]):
        graph = ask(cairn, recording, "graph", *options)
        assert graph["rows"] == whole["rows"][:len(graph["rows"])] and graph["left_out"] > 0
        assert len(graph["rows"]) + graph["left_out"] == len(whole["rows"])
        assert len(graph["edges"]) + graph["edges_left_out"] == len(whole["edges"])
        kept = {None, *(row["handle"] for row in graph["rows"])}
        assert all({edge["caller"], edge["callee"]} <= kept for edge in graph["edges"])


STATES = ["running", "gil_wait", "runnable", "blocked", "idle", "stopped", "unknown"]


@pytest.mark.parametrize("options", [[], ["--thread", "MainThread"], ["--from", "200ms", "--to", "600ms"]])
def test_the_timeline_adds_up_to_the_states(cairn, recording, options):
    timeline, report = (of(cairn, recording, options) for of in (
        lambda cairn, file, more: ask(cairn, file, "timeline", "--slices", "20", *more),
        lambda cairn, file, more: cairn.report(file, *more)))
    assert timeline["slices"] == 20 and timeline["states"] == report["states"]
    sums = {state: sum(sum(row[state] or []) for row in timeline["rows"]) for state in STATES}
    sums["blocked"] += sums.pop("idle")
    assert sums == pytest.approx({state: report["states"][f"{state}_s"] for state in sums}, abs=1e-6)
    end_s = timeline["from_s"] + timeline["slice_s"] * timeline["slices"]
    assert timeline["from_s"] == (0.2 if options and options[0] == "--from" else 0)
    wall_s = report["recording"]["wall_s"]  # until it ended, a moment after its last tick
    assert end_s == pytest.approx(min(0.6, wall_s) if "--to" in options else wall_s, abs=0.002)


def test_each_slice_has_what_the_report_has_of_that_time(cairn, recording):
    timeline = ask(cairn, recording, "timeline", "--slices", "4")
    for i in range(4):
        begin, end = (f"{timeline['slice_s'] * k:.9f}s" for k in (i, i + 1))
        states = cairn.report(recording, "--from", begin, "--to", end)["states"]
        for state in ("running", "runnable", "gil_wait"):
            of_slice_s = sum(row[state][i] for row in timeline["rows"] if row[state])
            assert of_slice_s == pytest.approx(states[f"{state}_s"], abs=1e-6)


def test_slices_have_their_ticks(cairn, recording):
    ticks = cairn.report(recording)["quality"]["ticks"]
    timeline = ask(cairn, recording, "timeline", "--slices", "10000")
    assert timeline["slices"] == ticks // 8
    assert all(len(row["running"]) == timeline["slices"] for row in timeline["rows"] if row["running"])


def test_what_cannot_be_written_is_said(cairn, folder):
    (folder / "x.txt").write_text("".join(f"main;f{i};g{i} 3\n" for i in range(4000)))
    words = ("query", "x.txt", "flame", "--cutoff", "0")
    with open("/dev/full", "wb") as full:
        ended = cairn(*words, stdout=full).expect(harness.CAIRN_FAILED)
    assert "No space left" in ended.talk
    assert len(cairn(*words).expect().out) > 1e6


def test_a_handle_leads_to_the_function(cairn, recording):
    row = next(row for row in ask(cairn, recording, "table")["rows"] if row["qualname"] == "spin")
    by_handle = ask(cairn, recording, "function", row["handle"])
    by_name = ask(cairn, recording, "function", "spin")
    assert by_handle["rows"][0]["file"].endswith("states.py")
    assert by_handle == by_name
    report = cairn.report(recording, "--of", row["handle"])
    assert all(by_handle[key] == report[key] for key in ("rows", "callers", "callees"))
    lines = cairn.report(recording, "--by", "line", "--idle")["rows"]
    assert by_handle["lines"] == [line for line in lines if line["handle"] == row["handle"]]


def test_handles_stay_from_recording_to_recording(cairn, python, recording, folder):
    again, _ = cairn.record(python, "states.py", 0.5)
    merged = folder / "merged.cairn"
    cairn("merge", "-o", merged, again, recording).expect()

    def of(file, *words):
        rows = ask(cairn, file, *words)["rows"]
        own = [row for row in rows if row["file"].endswith("states.py")]
        return {(row["qualname"], row["first_line"], row.get("depth")):
                (row["handle"], row.get("stack")) for row in own}

    for words in (["table"], ["table", "--only-my-code"], ["flame", "--depth", "2"]):
        first, second, both = (of(file, *words) for file in (recording, again, merged))
        shared = set(first) & set(second)
        assert len(shared) >= 1
        for key in shared:
            assert first[key] == second[key] == both[key]


def test_the_newest_recording_is_meant_when_none_is_named(cairn, recording, folder):
    (folder / ".cairn").mkdir()
    shutil.copy(recording, folder / ".cairn" / "x.cairn")
    answer = cairn("query", "function", "spin").expect().json()
    assert answer["recording"]["file"] == ".cairn/x.cairn"
    assert answer["rows"] == ask(cairn, recording, "function", "spin")["rows"]


@pytest.mark.parametrize("words, said", [
    ([], "needs a query"), (["flume"], "Did you mean flame?"), (["table", "x"], "takes no"),
    (["function"], "needs a FUNCTION"), (["function", ""], "needs a FUNCTION"), (["function", "nosuchfunction"], "nosuchfunction"),
    (["function", "f-0000000000000000"], "f-0000000000000000"), (["function", "("], "regex"),
    (["flame", "spin"], "s-"), (["flame", "s-0000000000000001"], "s-0000000000000001"),
    (["flame", "s-1"], "16 digits"), (["flame", "s-0000000000000000"], "no handle of a stack"),
    (["flame", "--by", "thread"], "by function or by line"), (["flame", "--cutoff", "101"], "100"),
    (["function", "a", "b"], '"b"'), (["table", "--by", "task"], "--by task"),
    (["timeline", "--slices", "0"], "1 to 10000"), (["graph", "--by", "line"], "Leave out --by"), (["timeline", "--task", "x"], "no timeline"), (["graph", "x"], "takes no"),
    (["timeline", "--focus", "("], "as Python's re reads them"),
    (["table", "--focus", "("], "as Python's re reads them"), (["table", "--ignore", "*x"], "as Python's re reads them"),
], ids=str)  # fmt: skip
def test_what_is_asked_wrong_is_said(cairn, recording, words, said):
    ended = cairn("query", recording, *words).expect(harness.USAGE)
    assert ended.out == b"" and said in ended.talk


def test_the_file_may_stand_behind_what_is_about_nothing_else(cairn, recording):
    for query in ("overview", "table", "graph", "timeline"):
        wanted = cairn("query", recording, query, "--limit", "2").expect().json()
        assert cairn("query", query, "--limit", "2", recording).expect().json() == wanted


def test_what_has_no_times_has_no_timeline(cairn, folder):
    (folder / "x.txt").write_text("main;work 3\n")
    ended = cairn("query", "x.txt", "timeline").expect(harness.USAGE)
    assert ended.out == b"" and "no timeline" in ended.talk
    assert cairn("query", "x.txt", "graph").expect().json()["edges"][0]["total_share"] == 1


def test_what_cannot_be_read_is_one_clear_answer(cairn, folder):
    (folder / "bad").write_bytes(b"no recording")
    ended = cairn("query", "bad", "table").expect(harness.DAMAGED)
    assert ended.out == b"" and len(ended.talk.splitlines()) <= 4


def path_of(arguments):
    """The words of a command line as the path of a request."""
    query, *words = arguments.split()
    subject = [] if not words or words[0].startswith("-") else [f"of={words.pop(0)}"]
    pairs = [f"{name[2:]}={value}" for name, value in zip(words[::2], words[1::2])]
    return f"/api/{query}?{'&'.join(subject + pairs)}"


def test_a_server_answers_the_same(cairn, recording):
    with serving(cairn, recording) as view:
        for arguments in ARGUMENTS:
            path = path_of(arguments)
            answer, body = view.ask(path, Cookie=view.cookie)
            assert answer.status == 200 and answer.headers["Content-Type"].startswith(
                "application/json")
            assert body == cairn("query", recording, *arguments.split()).expect().out
            assert answer.headers["Cache-Control"] == "no-store"
            assert view.status(path) == 403
            assert view.status(path, Cookie=view.cookie, Sec_Fetch_Site="same-site") == 403
            assert view.status(path, hosts=["evil.example"], Cookie=view.cookie) == 403


@pytest.mark.parametrize("path, status, said", [
    ("/api/", 404, "no query"), ("/api/flume", 404, "flame"), ("/api/../etc/passwd", 404, "query"),
    ("/api/table?output=x", 400, "output"), ("/api/table?force", 400, "force"),
    ("/api/table?help", 400, "help"), ("/api/table?limit=0", 400, "1000000"),
    ("/api/table?limit=", 400, "limit"), ("/api/table?focus=(", 400, "("),
    ("/api/table?by=task", 400, "task"), ("/api/table?from=2s&to=1s", 400, "--to"),
    ("/api/function", 400, "FUNCTION"), ("/api/function?of=%00", 400, "FUNCTION"),
    ("/api/flame?of=../../x", 400, "s-"), ("/api/table?%3Cscript%3E=1", 400, "<script>"),
])  # fmt: skip
def test_what_a_server_is_asked_wrong_is_said(cairn, view, path, status, said):
    answer, body = view.ask(path, Cookie=view.cookie)
    assert answer.status == status
    assert answer.headers["Content-Type"].startswith("application/json")
    error = json.loads(body)
    assert set(error) == {"schema", "error"} and said in error["error"]


@pytest.fixture(scope="module")
def view(recording, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("asked"))
    with serving(cairn, recording, env=NO_DESKTOP) as view:
        yield view


def test_options_of_the_view_are_those_of_its_answers(cairn, recording):
    with serving(cairn, "--metric", "cpu", "--ignore", "spin", recording) as view:
        _, body = view.ask("/api/table", Cookie=view.cookie)
        cpu = cairn("query", "--metric", "cpu", "--ignore", "spin", recording, "table").expect().out
        assert body == cpu
        _, body = view.ask("/api/table?metric=wall&idle", Cookie=view.cookie)
        wall = cairn("query", "--ignore", "spin", "--idle", recording, "table").expect().out
        assert body == wall

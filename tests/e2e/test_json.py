"""docs/json.md and what is printed: the same keys, in both directions, and of the said types."""
import re

import pytest

import harness

PAGE = (harness.ROOT / "docs" / "json.md").read_text()
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]*) \|", re.MULTILINE)
KINDS = {
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "text": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
    "null": lambda v: v is None,
}  # fmt: skip


def documented(command):
    section = PAGE.split(f"## `cairn {command} --json`")[1].split("\n## ")[0]
    keys = {key: kinds.strip().split(" or ") for key, kinds in ROW.findall(section)}
    assert keys and all(kind in KINDS for kinds in keys.values() for kind in kinds), keys
    return keys


def printed(value, path=""):
    """(path, value) of every key, however deep; free keys of the environment are not keys."""
    if isinstance(value, dict) and path != "recording.environment":
        for key, inner in value.items():
            inside = f"{path}.{key}" if path else key
            yield inside, inner
            yield from printed(inner, inside)
    elif isinstance(value, list):
        for inner in value:
            yield from printed(inner, f"{path}[]")


QUERIES = {
    "overview": (["overview"], ["base_s", "rankable", "samples_wanted", "rows", "roles", "waits"]),
    "table": (["table", "--limit", "3"], ["base_s", "rankable", "samples_wanted", "rows"]),
    "function FUNCTION": (
        ["function", "told"],
        ["base_s", "rankable", "samples_wanted", "rows", "callers", "callees", "counted"]),
    "flame [STACK]": (["flame"], []),
    "graph": (["graph"], ["rows"]),
    "timeline": (["timeline", "--slices", "20"], []),
}  # fmt: skip


def documented_query(heading, kept):
    """The keys of a query: those that every report begins with, those of its own section, and those
    that it has from the report."""
    report = documented("report")
    names = list(report)
    head = names[:names.index("waits")]
    first = [key for key in head if not key.startswith("roles")]
    keys = {key: report[key] for key in first}
    keys |= {key: report[key] for key in names if re.split(r"[.\[]", key)[0] in kept}
    section = PAGE.split(f"### `{heading}`")[1].split("\n## ")[0].split("\n### ")[0]
    keys |= {key: kinds.strip().split(" or ") for key, kinds in ROW.findall(section)}
    return keys


def seen_in(document, page, alike="callers|callees|counted"):
    """The keys that are printed: each is documented, and of that type."""
    seen = set()
    for path, value in printed(document):
        path = re.sub(r"^counted\[\]\.callees", "counted[].callers", path)
        path = re.sub(rf"^({alike})\[\]", "rows[]", path)
        assert path in page, f"{path} is not documented"
        assert any(KINDS[kind](value) for kind in page[path]), (path, value, page[path])
        seen.add(path)
    return seen


def check(document, command, missing=(), page=None):
    alike = "callers|callees|counted"
    alike = alike if page is None else f"{alike}|lines"  # of a query they are rows
    page = page or documented(command)
    if "tasks" in page and not document.get("tasks"):
        missing = {*missing, *(key for key in page if key.startswith("tasks[]"))}
    rows = [*document.get("rows", []), *(document.get("counted") or [])]
    if "rows[].callers[].calls" in page and not any(row.get("callers") for row in rows):
        missing = {*missing, *(key for key in page if key.startswith("rows[].callers[]"))}
    if "lines[].hits" in page and not document["lines"]:
        missing = {*missing, *(key for key in page if key.startswith("lines[]"))}
    if "regions[].name" in page and not document["regions"]:
        missing = {*missing, *(key for key in page if key.startswith("regions[]"))}
    if "slow_regions.enough" in page and not document["slow_regions"]:
        missing = {*missing, *(key for key in page if key.startswith("slow_regions."))}
    if "marks[].name" in page and not document["marks"]:
        missing = {*missing, *(key for key in page if key.startswith("marks[]"))}
    if "quality.engines" in page and not document["quality"]["engines"]:
        missing = {*missing, *(key for key in page if key.startswith("quality.engines[]"))}
    assert set(page) - seen_in(document, page, alike) == set(missing), "documented, but not printed"


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("json"))
    return cairn.need_sight(*cairn.record(python, "states.py", 1))


@pytest.mark.parametrize("by", ["function", "line", "module", "thread", "process", "state", "task"])
def test_report(cairn, recording, by):
    document = cairn.report(recording, "--by", by)
    assert document["rows"]
    check(document, "report", missing={"callers", "callees", "counted"})
    assert document["schema"] == 1


def test_calls_that_were_counted(cairn, python, folder):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, "exact_work.py", "threads", options=["--exact"])
    check(cairn.report(file), "report", missing={"callers", "callees", "counted"})
    of = cairn.report(file, "--of", "rec")
    assert of["counted"][0]["callees"]
    check(of, "report")


@pytest.mark.parametrize("tool", ["cProfile", "profile"])
def test_calls_that_another_tool_counted(cairn, python, folder, tool):
    harness.execute(python.command("profiled.py", folder / "a.prof", tool)).expect()
    page = documented("report")
    calls = {key for key in page if key.startswith("rows[]")}
    assert calls <= seen_in(cairn.report("a.prof"), page)
    of = cairn.report("a.prof", "--of", "even")
    assert of["counted"][0]["callees"] and {"callers", "callees", "counted"} <= seen_in(of, page)


def test_regions_and_marks(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    page = documented("report")
    for case, what, words in (
        ("nested", "regions[]", []),
        ("moments", "marks[]", []),
        ("uneven", "slow_regions", ["--region", "page"]),
    ):
        env = {"PYTHONPATH": python.package()}
        file, _ = cairn.record(python, "regions.py", case, env=env)
        report = cairn.report(file, *words)
        told = [pair for pair in printed(report) if pair[0].startswith(what)]
        wanted = {key for key in page if key.startswith(what)}
        if case == "uneven" and not report["slow_regions"]["enough"]:  # which is the machine's to say
            wanted = {key for key in wanted if not key.startswith("slow_regions.rows[]")}
        assert {path for path, _ in told} == wanted
        for path, value in told:
            assert any(KINDS[kind](value) for kind in page[path]), (path, value)


def test_lines_that_were_counted(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    page = {key: kinds for key, kinds in documented("report").items() if key.startswith("lines[]")}
    for options in (["--lines"], ["--lines", "--exact"], ["--lines=hybrid"]):
        file, _ = cairn.record(python, "line_work.py", "plain", options=options)
        lines = [pair for pair in printed(cairn.report(file)) if pair[0].startswith("lines[]")]
        assert {path for path, _ in lines} == page.keys()
        for path, value in lines:
            assert any(KINDS[kind](value) for kind in page[path]), (path, value)


def test_dis(cairn, python):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, "line_work.py", "plain", options=["--opcodes"])
    document = cairn("dis", "--json", "loops", file).expect().json()
    assert document["instructions"] and document["schema"] == 1
    check(document, "dis")


def test_callers_and_callees(cairn, recording):
    document = cairn.report(recording, "--of", "told")
    assert {row["name"] for row in document["callers"]} == {"run"}
    assert {row["name"] for row in document["callees"]} == {"spin", "sleep_through", "wait_for_lock"}
    check(document, "report")


@pytest.mark.parametrize("heading", QUERIES)
def test_query(cairn, recording, heading):
    words, kept = QUERIES[heading]
    document = cairn("query", recording, *words).expect().json()
    assert document["rows"] and document["schema"] == 1 and document["query"] == words[0]
    check(document, "query", page=documented_query(heading, kept))


def test_doctor(cairn, python, worker):
    target = worker(python)
    check(cairn("doctor", "--json", target.pid).expect().json(), "doctor")


def test_diff(cairn, recording):
    document = cairn("diff", "--json", recording, recording).expect().json()
    assert document["rows"] and document["schema"] == 1
    check(document, "diff")


def test_dump(cairn, python, worker):
    target = worker(python)
    check(cairn("dump", "--json", target.pid).expect().json(), "dump")


def test_imports(cairn, python, folder):
    (folder / "main.py").write_text("import decimal, own\n")
    (folder / "own.py").write_text("x = 1\n")
    command = ["--python", python.executable, "--json", "main.py"]
    check(cairn("imports", *command).expect().json(), "imports")

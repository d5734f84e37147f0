"""The page of a recording in which calls, lines, instructions or regions were counted says what
`cairn report --json` and `cairn dis --json` say of it."""
import base64
import gzip
import json
import re

import pytest
from playwright.sync_api import expect
from test_html import axe, browser, make, opened, parts, seconds, tab  # noqa: F401: a fixture

import harness
from test_max_overhead import COUNT, PROGRAM

HYBRID_ROUNDS = 1000
OWN = ("leaf", "fib", "even", "odd", "steps", "secret", "other", "main")


@pytest.fixture(scope="module")
def recordings(python, tmp_path_factory):
    """All that can be counted; and lines alone, of a program too short for samples."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    cairn = harness.Cairn(tmp_path_factory.mktemp("counts"))
    files = {}
    # Where times are those of samples it goes on for longer than a machine stands still.
    for name, options, rounds in (("all", ["--exact", "--lines", "--opcodes", "--timeline"], 6),
                                  ("lines", ["--lines"], 6), ("calls", ["--exact", "-r", "1hz"], 6),
                                  ("hybrid", ["--lines=hybrid"], HYBRID_ROUNDS)):
        files[name] = cairn.folder / f"{name}.cairn"
        cairn("run", "--report", "none", *options, "-o", files[name], "--",
              *python.command("paged.py", rounds), env={"PYTHONPATH": python.package()}).expect()
    return files


def calls_of(text):
    """How many calls, and primitive ones."""
    calls, _, primitive = text.replace(",", "").partition("/")
    return int(calls), int(primitive or calls)


def place(row):
    """Where a function is, as cProfile's table says it."""
    if row["kind"] == "python":
        return f"{row['file'].rpartition('/')[2]}:{row['first_line']}({row['qualname']})"
    name = row["qualname"]
    return "{" + name[1:-1] + "}" if name[:1] == "<" and name[-1:] == ">" else name


def near(text, wanted_s):
    return abs(seconds(text) - wanted_s) <= 0.006 * wanted_s + 1e-9


def call_table(page, id="table"):
    section = page.locator("section", has=page.locator(f"#{id}"))
    section.locator("tbody tr").first.wait_for()
    while section.get_by_role("button", name="Show more").count():
        section.get_by_role("button", name="Show more").click()
    return section.locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")


@pytest.mark.parametrize("one", [False, True], ids=["all", "thread"])
def test_the_table_is_that_of_cprofile(cairn, recordings, browser, one):
    """ncalls tottime percall cumtime percall, and what was resumed: of all threads, and of one."""
    file = make(cairn, recordings["all"])
    _, data = parts(file)
    # By number: the name of one that is soon over may not have been met.
    main, *_, other = data["threads"]
    assert main["tid"] == data["processes"][0]["pid"] != other["tid"]
    told = cairn.report(recordings["all"], *["--thread", other["tid"]] if one else [])["rows"]
    choice = f"&thread={len(data['threads']) - 1}" if one else ""
    with opened(browser, file, f"#tab=explore{choice}") as page:
        expect(page.get_by_label("Metric")).to_have_value("counted")
        rows = call_table(page)
    assert len(rows) == len(told) > (10 if one else 30)
    wanted = {}
    for row in told:
        wanted.setdefault(place(row), []).append(row)
    for ncalls, self_s, each, total_s, _, *resumed, name in rows:
        fits = [row for row in wanted[name] if (row["calls"], row["primitive_calls"]) == calls_of(
            ncalls) and near(self_s.replace(" ~", ""), row["self_s"]) and near(total_s, row["total_s"])]
        assert fits, (name, ncalls, self_s, total_s, wanted[name])
        row = fits[0]
        if row["calls"]:
            assert abs(seconds(each) - row["self_s"] / row["calls"]) <= 1e-9 + 0.006 * seconds(each)
        if resumed:
            assert int(resumed[0].replace(",", "")) == row["resumes"]
            assert near(resumed[1], row["suspended_s"])
    recursive = [row[0] for row in rows if row[-1].endswith("(fib)")]
    assert len(recursive) == 1 and "/" in recursive[0], "its primitive calls are told apart"


def test_it_is_sorted_and_searched(cairn, recordings, browser):
    with opened(browser, make(cairn, recordings["all"]), "#tab=explore") as page:
        table = page.locator("section", has=page.locator("#table"))
        for column, cell in (("ncalls", 0), ("cumtime", 3)):
            table.get_by_role("button", name=column).click()
            expect(table.get_by_role("columnheader", name=column)).to_have_attribute(
                "aria-sort", "descending")
            shown = [row[cell] for row in call_table(page)]
            keys = [calls_of(each)[0] if cell == 0 else seconds(each) for each in shown]
            assert keys == sorted(keys, reverse=True) and len(set(keys)) > 5
        table.get_by_role("button", name="filename").click()
        expect(table.get_by_role("columnheader", name="filename")).to_have_attribute(
            "aria-sort", "ascending")
        names = [row[-1] for row in call_table(page)]
        assert names == sorted(names)
        page.get_by_label("Search").fill("paged.py")
        expect(page.locator("#table + p")).to_contain_text("hold paged.py")
        assert len(call_table(page)) < len(names) and all(
            "paged.py" in row[-1] for row in call_table(page))


@pytest.mark.parametrize("name", ["fib", "leaf", "even", "steps", "main"])
def test_called_by_and_calls_have_their_numbers(cairn, recordings, browser, name):
    file = make(cairn, recordings["all"])
    _, data = parts(file)
    rows = cairn.report(recordings["all"])["rows"]
    number = next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == name
                  and data["strings"][row[1]].endswith("paged.py"))
    own = next(row for row in rows if row["qualname"] == name and row["file"].endswith("paged.py"))
    key = (own["qualname"], own["file"], own["first_line"])
    callers = [(place({**each, "kind": "python"}), each) for each in own["callers"]]
    callees = [(place(row), each) for row in rows for each in row["callers"]
               if (each["qualname"], each["file"], each["first_line"]) == key]
    with opened(browser, file, f"#tab=function&function={number}") as page:
        shown = {id: call_table(page, id) if wanted else [] for id, wanted in (
            ("callers", callers), ("callees", callees))}
    for id, wanted in (("callers", callers), ("callees", callees)):
        assert len(shown[id]) == len(wanted)
        for ncalls, self_s, total_s, where in shown[id]:
            assert any(where == told and calls_of(ncalls) == (each["calls"],
                       each["primitive_calls"]) and near(self_s, each["self_s"])
                       and near(total_s, each["total_s"]) for told, each in wanted), (where, wanted)


def lines_in(page):
    return page.locator("section", has=page.locator("#lines")).locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")


@pytest.mark.parametrize("which", ["all", "lines"])
def test_lines_have_their_hits_and_times(cairn, recordings, browser, which):
    """Also where nothing but lines was counted, and no samples were taken to speak of."""
    file = make(cairn, recordings[which])
    _, data = parts(file)
    told = [row for row in cairn.report(recordings[which])["lines"] if row["function"] == "main"]
    number = next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == "main"
                  and data["strings"][row[1]].endswith("paged.py"))
    with opened(browser, file, f"#tab=function&function={number}") as page:
        page.locator("#lines").wait_for()
        shown = {int(row[0]): row for row in lines_in(page)}
    whole = sum(row["time_s"] for row in told)
    assert len(told) > 8
    for row in told:
        line, hits, time, per_hit, percent, *rest = shown[row["line"]]
        assert int(hits.replace(",", "")) == row["hits"] and near(time, row["time_s"])
        assert abs(seconds(per_hit) - row["time_s"] / row["hits"]) <= 1e-9 + 0.006 * seconds(per_hit)
        share = 0 if percent.startswith("<") else float(percent.split()[0])
        assert abs(share - 100 * row["time_s"] / whole) <= 0.51
        if which == "all":
            assert near(rest[0], row["self_s"]) and near(rest[1], row["c_s"])


def test_lines_without_a_clock_have_hits_and_no_time_of_their_own(cairn, recordings, browser):
    file = make(cairn, recordings["hybrid"])
    _, data = parts(file)
    told = [row for row in cairn.report(recordings["hybrid"])["lines"] if row["function"] == "main"]
    number = next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == "main"
                  and data["strings"][row[1]].endswith("paged.py"))
    times = {(row["function"], row["line"]): row["time_s"]
             for row in cairn.report(recordings["hybrid"])["lines"]}
    with opened(browser, file, "#metric=wall&idle=1") as page:
        section = page.locator("section", has=page.locator("#hot-lines"))
        expect(section).to_contain_text("Hits are exact")
        hot = section.locator("tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")
    for _, time, *_, line, where in hot:
        assert near(time, times[where.partition("(")[2][:-1], int(line)]), (where, line)
    assert len(hot) == 10 and seconds(hot[0][1]) > 0
    with opened(browser, file, f"#tab=function&function={number}") as page:
        section = page.locator("section", has=page.locator("#lines"))
        expect(section).to_contain_text("no clock was read")
        heads = section.get_by_role("columnheader").all_inner_texts()
        shown = {int(row[0]): row for row in lines_in(page)}
    assert "Hits" in heads and not {"Time", "Per Hit", "% Time"} & {*heads}
    assert len(told) > 8 and all(row["times"] != "measured" for row in told)
    assert all(int(shown[row["line"]][1].replace(",", "")) == row["hits"] for row in told)


def test_instructions_are_those_that_dis_lists(cairn, recordings, browser):
    file = make(cairn, recordings["all"], "--source")
    _, data = parts(file)
    told = cairn("dis", "--json", "fib", recordings["all"]).expect().json()["instructions"]
    number = next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == "fib")
    with opened(browser, file, f"#tab=function&function={number}") as page:
        page.locator("#opcodes").wait_for()
        rows = page.locator("table.opcodes tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")
    assert len(rows) == len(told) > 8
    for row, wanted in zip(rows, told):
        *_, executed, offset, stack, text = row
        assert int(executed.replace(",", "")) == wanted["count"]
        assert int(offset.strip("» ")) == wanted["offset"]
        assert stack == ("n/a" if wanted["stack"] is None else str(wanted["stack"]))
        words = [wanted["opname"], wanted["argument"], wanted["specialized"]]
        assert text.strip() == (" ".join(word for word in words if word) + given_in(wanted)).strip()
    assert any(wanted["given"] for wanted in told)


def given_in(told):
    """What an instruction was given, as the page says it."""
    kinds = told["given"] or []
    if len(kinds) < 2:
        return "".join(f" of {kind['what']}" for kind in kinds)
    looked = f", of {told['looked_at']:,} looked at" if told["looked_at"] < told["count"] else ""
    return " polymorphic: " + "; ".join(f"{kind.get('what') or 'others'} {kind['count']:,}"
                                        for kind in kinds) + looked


def test_what_was_let_go_is_said(cairn, recordings, browser):
    file = make(cairn, recordings["all"])
    _, data = parts(file)
    number = next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == "fib")
    assert "let_go" not in data
    said = "counted until let go for --max-overhead"
    with opened(browser, file, f"#tab=function&function={number}") as page:
        page.locator("#opcodes").wait_for()
        assert said not in page.locator("main").inner_text()
    packed = base64.b64encode(gzip.compress(json.dumps({**data, "let_go": [number]}).encode()))
    page = file.read_bytes()  # whose script has a hash: not a line end may change
    file.write_bytes(re.sub(rb'(<script type="application/gzip" id="data">)[^<]+',
                            lambda match: match[1] + packed, page))
    with opened(browser, file, f"#tab=function&function={number}") as page:
        page.locator("#opcodes").wait_for()
        sections = page.locator("section", has_text="They were " + said)
        expect(sections).to_have_count(2)  # lines and instructions
        page.get_by_role("tab", name="Overview").click()
        expect(page.locator("section", has=page.locator("#hot-lines"))).to_contain_text(
            "Lines or instructions of 1 function were " + said)


def test_regions_are_those_of_the_report(cairn, recordings, browser):
    told = cairn.report(recordings["all"])
    with opened(browser, make(cairn, recordings["all"])) as page:
        rows = page.locator("section", has=page.locator("#regions")).locator(
            "table").first.locator("tbody tr")
        rows.first.wait_for()
        shown = rows.evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")
        expect(page.locator("summary", has_text="6 marks")).to_be_visible()
    assert [row[-1] for row in shown] == [row["name"] for row in told["regions"]]
    for row, wanted in zip(shown, told["regions"]):
        assert int(row[0]) == wanted["count"]
        for text, key in zip(row[1:6], ("total_s", "p50_s", "p90_s", "p99_s", "max_s")):
            assert near(text, wanted[key]), (row, wanted)
    assert len(told["marks"]) == 6


@pytest.mark.parametrize("which", ["lines", "calls"])
def test_what_was_hardly_sampled_is_no_empty_page(cairn, recordings, browser, which):
    file = make(cairn, recordings[which])
    with opened(browser, file) as page:
        panel = page.get_by_role("tabpanel")
        expect(panel).to_contain_text("paged.py")
        expect(panel).to_contain_text("main")
        if which == "calls":
            for shape in ("icicle", "call graph"):
                page.goto(file.as_uri() + f"#tab=explore&shape={shape}")
                expect(page.get_by_role("treegrid")).to_contain_text("main")
            assert page.locator("svg.calls g").count() > 5


def test_counted_times_add_up_in_every_view(cairn, recordings):
    _, data = parts(make(cairn, recordings["calls"]))
    told = cairn.report(recordings["calls"], "--metric", "counted")
    metric = next(each for each in data["metrics"] if each["name"] == "counted")
    assert metric["known"] and metric["total_ns"] == sum(data["calls"][3])
    assert abs(sum(data["calls"][3]) / 1e9 - told["total_s"]) < 1e-9
    rows = cairn.report(recordings["calls"])["rows"]
    assert sum(data["calls"][4]) == sum(row["calls"] for row in rows)


def test_data_quality_has_the_labels_of_the_report(cairn, recordings, browser):
    text = cairn("report", recordings["all"], env={"COLUMNS": "1000"}).expect().text
    told = {}  # lines by label
    for line in text[text.index("\nquality"):text.index("\nnext ")].splitlines()[1:]:
        label = line[:9].strip() or label
        told.setdefault(label, []).extend(line[9:].split())
    with opened(browser, make(cairn, recordings["all"]), "#metric=wall") as page:
        section = page.locator("section", has=page.locator("#quality"))
        section.locator("dt").first.wait_for()
        shown = dict(zip(section.locator("dt").all_inner_texts(),
                         section.locator("dd").all_inner_texts()))
    assert list(told) == ["quality", "engines"]
    # Where the terminal broke a line a comma may be gone.
    assert {label: [word.rstrip(",") for word in words] for label, words in told.items()} == {
        label: [word.rstrip(",") for word in words.split()] for label, words in shown.items()}


def test_what_was_let_go_is_marked(cairn, python, recordings, browser):
    """In the words that other formats have for it."""
    (cairn.folder / "program.py").write_text(PROGRAM)
    cairn("run", "--exact", "--max-overhead=5%", "--report", "none", "-o", "x.cairn", "--",
          python.executable, cairn.folder / "program.py", COUNT).expect()
    told = cairn.report(cairn.folder / "x.cairn")["rows"]
    with opened(browser, make(cairn, cairn.folder / "x.cairn"), "#tab=explore") as page:
        rows = call_table(page)
        expect(page.locator("section", has=page.locator("#table"))).to_contain_text(
            "the sum of all calls is too small")
    mark = " [partly counted]"
    assert {row[-1].removesuffix(mark) for row in rows if row[-1].endswith(mark)} == {
        place(row) for row in told if not row["exact"]}
    assert any(row[-1].endswith(f"(tiny){mark}") for row in rows)
    with opened(browser, make(cairn, recordings["all"]), "#tab=explore") as page:
        assert not [row for row in call_table(page) if mark in row[-1]]


def test_without_counts_nothing_is_offered(cairn, python, folder):
    cairn.record(python, "brief.py")
    _, data = parts(make(cairn, folder / "run.cairn"))
    assert "counted" not in [metric["name"] for metric in data["metrics"]]
    assert not {"calls", "lines", "opcodes", "regions", "timeline"} & data.keys()
    _, data = parts(make(cairn, folder / "run.cairn", "--metric", "counted"))
    asked = next(each for each in data["metrics"] if each["name"] == "counted")
    assert not asked["known"] and "--exact" in asked["why"] and data["metric"] == "counted"


def test_of_a_part_of_the_time_no_calls_are_told(cairn, recordings):
    """When they were is not in their sums; the timeline's calls are of that part."""
    _, data = parts(make(cairn, recordings["all"], "--from", "1ns"))
    asked = next(each for each in data["metrics"] if each["name"] == "counted")
    assert not asked["known"] and "was not kept" in asked["why"] and "calls" not in data
    assert data["metric"] == "wall" and data["timeline"]


def test_a_timeline_has_the_calls(cairn, recordings):
    _, data = parts(make(cairn, recordings["all"]))
    quality = cairn.report(recordings["all"])["quality"]
    calls = [data["timeline"][i:i + 4] for i in range(0, len(data["timeline"]), 4)]
    assert len(calls) == data["timeline_calls"] == quality["timeline_calls"]
    names = [data["strings"][row[0]] for row in data["functions"]]
    found = [names[data["frames"][2 * data["nodes"][2 * node + 1]]] for _, node, _, _ in calls]
    rows = cairn.report(recordings["all"])["rows"]
    for name in ("leaf", "fib", "even"):
        assert found.count(name) == sum(row["calls"] for row in rows if row["qualname"] == name)


def test_what_is_inferred_is_no_fact(cairn, python, folder, browser):
    harness.execute([python.executable, "-m", "cProfile", "-o", folder / "a.prof",
                     harness.TARGETS / "shapes.py"], cwd=folder).expect()
    with opened(browser, make(cairn, folder / "a.prof"), "#tab=explore") as page:
        expect(page.locator("section", has=page.locator("#flame"))).to_contain_text("Inferred: ")
        page.get_by_role("treegrid").wait_for()
    line_profiler = pytest.importorskip("line_profiler", reason="tests/requirements.txt")
    profiler = line_profiler.LineProfiler(seconds)  # it knows no calls at all
    profiler.runcall(seconds, "1 s")
    profiler.dump_stats(str(folder / "b.lprof"))
    with opened(browser, make(cairn, folder / "b.lprof"), "#tab=explore") as page:
        flame = page.locator("section", has=page.locator("#flame"))
        expect(flame).to_contain_text("nothing of who called whom")
        expect(flame).not_to_contain_text("Inferred")


def test_of_every_python_the_page_has_the_sums(cairn, interpreter, counts_place):
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    file, _ = cairn.record(interpreter, "line_work.py", "plain", env=counts_place,
                           options=["--exact", "--lines", "--opcodes"])
    _, data = parts(make(cairn, file))
    told = cairn.report(file)
    assert sum(data["calls"][4]) == sum(row["calls"] for row in told["rows"]) > 10
    assert sum(data["calls"][3]) == round(sum(row["self_s"] for row in told["rows"]) * 1e9)
    assert sum(row[2] for row in data["lines"]) == sum(row["hits"] for row in told["lines"]) > 10
    loops = next(i for i, row in enumerate(data["functions"])
                 if data["strings"][row[0]].endswith("loops"))
    listed = cairn("dis", "--json", "loops", file).expect().json()["instructions"]
    assert [(row[1], row[7]) for row in data["opcodes"] if row[0] == loops] == [
        (row["offset"], row["count"]) for row in listed]


def test_shared_it_says_nothing_of_who_and_what(cairn, recordings):
    open_page = json.dumps(parts(make(cairn, recordings["all"], "--source"))[1])
    plain = json.dumps(parts(make(cairn, recordings["all"]))[1])
    shared = json.dumps(parts(make(cairn, recordings["all"], "--redact", name="shared.html"))[1])
    assert "zaphod's own constant" in open_page and "zaphod's mark" in plain
    assert "zaphod's own constant" not in plain, "source only by choice"
    for word in ("own constant", "zaphod's mark", str(harness.TARGETS)):
        assert word not in shared
    assert '"load"' in shared and "LOAD_GLOBAL" in shared


@pytest.mark.parametrize("theme, width, views", [
    ("light", 320, ["Overview", "Function"]), ("dark", 1280, ["Explore", "Compare"])])
def test_counted_views_fit_and_are_accessible(cairn, recordings, browser, theme, width, views):
    file = make(cairn, recordings["all"], "--source")
    with opened(browser, file, color_scheme=theme, reduced_motion="reduce",
                viewport={"width": width, "height": 800}) as page:
        page.evaluate(axe())
        for name in views:
            tab(page, name).click()
            expect(tab(page, name)).to_have_attribute("aria-selected", "true")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            faults = page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found"
                                   ".violations.map((each) => [each.id, each.nodes[0].html]))")
            assert faults == [], name

"""The page's filters on what was counted: what the recording can tell of a part obeys them, and beside
what it cannot the page says so."""
import re
import shlex

import pytest
from playwright.sync_api import expect
from test_html import browser, make, opened, parts, percent, seconds, tab  # noqa: F401: a fixture

import harness


@pytest.fixture(scope="module")
def forked(python, tmp_path_factory):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    cairn = harness.Cairn(tmp_path_factory.mktemp("forked"))
    return cairn.record(python, "lined_apart.py", options=["--lines", "--opcodes", "-r", "200hz"])[0]


def number_of(data, name):
    return next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == name
                and data["strings"][row[1]].endswith("lined_apart.py"))


def cells(page, table):
    page.locator(f"{table} tbody tr").first.wait_for()
    return page.locator(f"{table} tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")


def whole(text):
    return int(text.replace(",", ""))


@pytest.mark.parametrize("process", [None, 0, 1])
def test_lines_and_instructions_are_those_of_the_process(cairn, forked, browser, process):
    _, data = parts(make(cairn, forked))
    assert len(data["processes"]) == 2
    chosen = [] if process is None else ["--process", data["processes"][process]["pid"]]
    told = {row["line"]: row["hits"] for row in cairn.report(forked, *chosen)["lines"]
            if row["function"] == "turns"}
    listed = cairn("dis", "--json", *chosen, "turns", forked).expect().json()["instructions"]
    choice = "" if process is None else f"&process={process}"
    file = make(cairn, forked)
    with opened(browser, file, f"#tab=function&function={number_of(data, 'turns')}{choice}") as page:
        lines = {int(row[0]): whole(row[1]) for row in cells(page, "table.lines:not(.opcodes)")}
        heads = page.locator("table.opcodes").get_by_role("columnheader").all_inner_texts()
        executed = [whole(row[heads.index("Executed")]) for row in cells(page, "table.opcodes")]
    assert lines == told and len(told) >= 4
    assert max(told.values()) >= 2000 and (process is None) == (max(told.values()) > 6000)
    assert executed == [row["count"] for row in listed] and len(executed) > 8
    hot = {row["line"]: row for row in cairn.report(forked, *chosen)["lines"]}
    with opened(browser, file, f"#tab=overview{choice}") as page:
        for row in cells(page, "table.hot"):
            assert whole(row[0]) == hot[whole(row[4])]["hits"]


@pytest.mark.parametrize("choice, words", [
    ("thread=0", ["thread"]), ("from=1&to=2", ["time"]), ("focus=main", ["focus"]),
    ("hide=nothing&thread=0", ["thread", "hide"])])
def test_what_is_of_the_whole_says_so(cairn, forked, browser, choice, words):
    """Lines and instructions are counted by process: nothing else of them is known."""
    _, data = parts(make(cairn, forked))
    file = make(cairn, forked)
    function = number_of(data, "turns")
    for tab, id in (("overview", "hot-lines"), ("function", "lines"), ("function", "opcodes")):
        with opened(browser, file, f"#tab={tab}&function={function}&{choice}") as page:
            section = page.locator("section", has=page.locator(f"#{id}"))
            expect(section.locator(".warn")).to_contain_text("of the whole recording")
            for word in words:
                expect(section.locator(".warn")).to_contain_text(word)
        with opened(browser, file, f"#tab={tab}&function={function}") as page:
            page.locator(f"#{id}").wait_for()
            assert page.locator("section", has=page.locator(f"#{id}")).locator(".warn").count() == 0


# --- regions ---

REGIONS = """
import threading, time, cairn
def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
def usual():
    spin(0.004)
def seldom():
    spin(0.02)
def beside(name):
    for _ in range(20):
        with cairn.region(name):
            time.sleep(0.003)
            spin(0.002)
thread = threading.Thread(target=beside, args=("a*b [c]",))
thread.start()
for i in range(40):
    with cairn.region("page"):
        usual()
        if i % 10 == 3:
            seldom()
    usual()
    with cairn.region("a?b"):
        time.sleep(0.001)
thread.join()
"""


@pytest.fixture(scope="module")
def regions(python, tmp_path_factory):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    cairn = harness.Cairn(tmp_path_factory.mktemp("regions"))
    (cairn.folder / "regions.py").write_text(REGIONS)
    file = cairn.folder / "run.cairn"
    cairn("run", "--report", "none", "-r", "1khz", "-o", file, "--", python.executable,
          cairn.folder / "regions.py", env={"PYTHONPATH": python.package()}).expect()
    return file


# Each means one name alone, however much of a pattern it looks.
PATTERNS = {"page": "page", "a*b [c]": r"a\*b \[c]", "a?b": r"a\?b"}


@pytest.mark.parametrize("metric", ["wall", "cpu", "gil", "blocked"])
@pytest.mark.parametrize("name", PATTERNS)
def test_what_was_done_in_a_region_is_what_the_report_tells(cairn, regions, name, metric):
    """Of all of the time, and of a part of it."""
    _, data = parts(make(cairn, regions))
    inside = {data["strings"][name]: columns for name, columns, _ in data["inside"]}
    assert inside.keys() == PATTERNS.keys()
    threads, _, _, slices, *states, idle, gil = inside[name]
    times = {"wall": [sum(row) for row in zip(*states)], "cpu": states[0], "gil": gil,
             "blocked": states[3]}[metric]
    count, width_ns = data["slices"]["count"], data["slices"]["width_ns"]
    assert count >= 8
    for first, last in ((0, count), (count // 4, count // 2), (count // 2, count // 2 + 1)):
        cut = [] if (first, last) == (0, count) else [
            "--from", f"{first * width_ns}ns", "--to", f"{last * width_ns}ns"]
        done = cairn("report", "--json", "--metric", metric, "--region", PATTERNS[name], *cut, regions)
        here = sum(value for value, slice in zip(times, slices) if first <= slice < last)
        if done.status:
            assert "no region" in done.talk and here == 0
            continue
        report = done.json()
        assert report["known"] or metric == "gil"
        if report["known"]:
            # A row that is cut at both ends may be a nanosecond off in each state.
            assert abs(here - report["total_s"] * 1e9) < 1e4, (first, last)
        if not cut and report["known"]:
            assert here == round(report["total_s"] * 1e9)
            waited = sum(idle) if metric in ("wall", "blocked") else 0
            assert waited == round(report["idle_s"] * 1e9)


def test_a_region_is_a_filter_of_every_view(cairn, regions, browser):
    told = cairn.report(regions, "--region", "page")
    by_name = {row["qualname"]: (100 * row["self_share"], 100 * row["total_share"])
               for row in told["rows"]}
    file = make(cairn, regions)
    with opened(browser, file) as page:
        page.get_by_role("combobox", name="Region").select_option("page")
        expect(page.locator("code.command")).to_have_text("cairn report --region page")
        tab(page, "Explore").click()
        heading = page.get_by_role("heading", name="Functions", exact=True)
        rows = page.locator("section", has=heading).locator("tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")
        assert len(rows) == sum(row["total_s"] > 0 for row in told["rows"])
        for own, _, total, _, _, name in rows:
            wanted = by_name[name.split()[0]]
            assert max(abs(a - b) for a, b in zip(wanted, (percent(own), percent(total)))) <= 0.51
        # Its lane is of the thread that it was in alone.
        assert page.locator(".lane-strip canvas").bounding_box()["height"] == pytest.approx(30, abs=4)
        tab(page, "Overview").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("about all that this page holds")
        for _ in range(3):
            page.go_back()
        expect(page.get_by_role("combobox", name="Region")).to_have_value("-1")
    with opened(browser, file) as page:
        page.locator("section", has=page.locator("#regions")).get_by_text("a*b [c]").click(
            button="right")
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        page.get_by_role("menuitem", name="Copy as command").click()
        assert page.evaluate("window.copied") == r"cairn report --region 'a\*b \[c]'"
        page.locator("section", has=page.locator("#regions")).get_by_text("a*b [c]").click(
            button="right")
        page.get_by_role("menuitem", name="Filter: only what was done in it").click()
        expect(page.locator("code.command")).to_have_text(r"cairn report --region 'a\*b \[c]'")
        page.keyboard.press("x")
        assert page.locator("code.command").count() == 0


@pytest.mark.parametrize("made, then, wanted", [
    (["--from", "40ms", "--to", "250ms", "--ignore", "seldom"], "thread=0", []),
    (["--from", "40ms", "--ignore", "seldom"], "from=2&to=5&hide=sleep%7C%5Eusual", ["--ignore"]),
    (["--thread", "MainThread", "--while", "gil_held", "--metric", "cpu"], "idle=1", []),
    (["--focus", "<module>", "--only-my-code"], "process=0", ["--process"]),
    (["--focus", "<module>"], "focus=usual", ["--focus"]),
    (["--focus", "<module>", "--focus", "usual", "--ignore", "nowhere"], "hide=seldom", ["--ignore"]),
])
def test_the_command_holds_what_the_page_was_made_of(cairn, regions, browser, made, then, wanted):
    """And what is chosen on it, so that both tell the same."""
    file = make(cairn, regions, *made)
    with opened(browser, file, f"#tab=explore&{then}") as page:
        command = shlex.split(page.locator("code.command").inner_text())
        shown_s = seconds(page.locator("#flame").inner_text().split(": ")[1])
        tab(page, "Overview").click()
        page.get_by_text("What is in this file").click()
        told = page.get_by_text("Only what was chosen when it was made").inner_text()
    assert command[:2] == ["cairn", "report"]
    asked = [word for word in [*made, *wanted] if word[:2] == "--"]
    assert all(command.count(word) == asked.count(word) for word in asked)
    report = cairn.report(regions, *command[2:])
    idle_s = 0 if "--idle" in command else report["idle_s"]
    assert shown_s == pytest.approx(report["total_s"] - idle_s, rel=0.006)
    said = shlex.split(told.partition(": ")[2])
    assert sorted(said) == sorted(word for word in made if word not in ("--metric", "cpu"))


def test_the_chart_of_calls_goes_and_comes_with_what_it_shows(cairn, python, browser):
    """Of a thread without any it is not there; it is drawn as soon as there is something again."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (cairn.folder / "apart.py").write_text(
        "import threading, time, cairn\n"
        "thread = threading.Thread(target=time.sleep, args=(0.3,), name='beside')\n"
        "thread.start()\n"
        "with cairn.region('page'):\n"
        "    time.sleep(0.2)\n"
        "thread.join()\n")
    cairn("run", "--report", "none", "-o", "x.cairn", "--", python.executable, "apart.py",
          env={"PYTHONPATH": python.package()}).expect()
    file = make(cairn, cairn.folder / "x.cairn")
    _, data = parts(file)
    beside = next(i for i, thread in enumerate(data["threads"]) if thread["name"] == "beside")
    with opened(browser, file, f"#tab=explore&thread={beside}") as page:
        thread = page.get_by_role("combobox", name="Thread", exact=True)
        for choice, charts in (("-1", 1), (str(beside), 0), ("-1", 1)):
            thread.select_option(choice)
            expect(page.locator("canvas.call-chart")).to_have_count(charts)
        page.wait_for_function("""() => {
            const canvas = document.querySelector('canvas.call-chart');
            return canvas.width > 300
                && canvas.getContext('2d').getImageData(0, 0, canvas.width, 14).data.some(Boolean);
        }""")


def test_a_thread_without_a_number_is_chosen_by_its_name(cairn, browser):
    """As threads of other tools' files are."""
    (cairn.folder / "x").write_text("thread:A one;f 10\nthread:B;g 20\n")
    with opened(browser, make(cairn, cairn.folder / "x"), "#tab=explore") as page:
        thread = page.get_by_role("combobox", name="Thread", exact=True)
        thread.select_option(label="A one 0")
        words = shlex.split(page.locator("code.command").inner_text())
    assert words[:4] == ["cairn", "report", "--thread", "A one"]
    told = cairn.report(cairn.folder / "x", *words[2:])
    assert [row["name"] for row in told["rows"]] == ["f"]


def test_a_box_without_time_in_what_is_chosen_is_not_zoomed_to(cairn, regions, browser):
    """All is shown then, and the box again when there is something of it."""
    file = make(cairn, regions)
    _, data = parts(file)
    beside = next(i for i, thread in enumerate(data["threads"]) if thread["name"] != "MainThread")
    with opened(browser, file, "#tab=explore") as page:
        row = page.locator("[role=treegrid] tbody tr", has_text="<module>").first
        row.click(button="right")
        page.get_by_role("menuitem", name="Drill: zoom in to it").click()
        first = page.locator("[role=treegrid] tbody tr").first
        expect(first).to_contain_text("<module>")
        thread = page.get_by_role("combobox", name="Thread", exact=True)
        thread.select_option(str(beside))
        expect(first).to_contain_text("all")
        page.locator("section:has(#flame) canvas").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#flame-detail")).to_contain_text("100 %")
        thread.select_option("-1")
        expect(first).to_contain_text("<module>")


def test_what_a_region_leaves_alone_says_so(cairn, python, browser):
    """Calls and lines are not told apart by what they were in."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    cairn("run", "--exact", "--lines", "--report", "none", "-o", "x.cairn", "--",
          *python.command("paged.py"), env={"PYTHONPATH": python.package()}).expect()
    of_a_part = make(cairn, cairn.folder / "x.cairn", "--from", "1ms")
    with opened(browser, of_a_part, "#metric=counted") as page:
        expect(page.locator("section", has=page.locator("#hot-lines")).locator(".warn")
               ).to_contain_text("(time)")
    file = make(cairn, cairn.folder / "x.cairn")
    with opened(browser, file, "#region=0&metric=counted") as page:
        expect(page.locator("header .warn")).to_contain_text("the chosen region is left out of them")
        expect(page.locator("section", has=page.locator("#hot-lines")).locator(".warn")
               ).to_contain_text("(region)")
    with opened(browser, file, "#region=0&metric=counted&hide=nowhere") as page:
        command = shlex.split(page.locator("code.command").inner_text())
    assert cairn.report(cairn.folder / "x.cairn", *command[2:])["metric"] == "counted"


def test_compared_is_a_region_with_one_of_that_name(cairn, regions, browser):
    file = make(cairn, regions, "--before", regions)
    with opened(browser, file, "#tab=compare&metric=wall&scale=time") as page:
        told = cairn.report(regions, "--region", "page")
        page.get_by_role("combobox", name="Region").select_option(label="page")
        text = page.locator("#panel .verdict").inner_text()
        assert page.get_by_role("combobox", name="Region").locator("option:checked").inner_text() == "page"
        left, right = (seconds(part) for part in re.match(
            r"Left ([\d.]+ \w+), right ([\d.]+ \w+)", text).groups())
    assert left == right == pytest.approx(told["total_s"] - told["idle_s"], rel=0.006)

"""What tasks of one name ran and waited in, on the page: as `--task` tells it."""
import re

import pytest
from playwright.sync_api import expect
from test_html import browser, make, opened, parts, percent, tab  # noqa: F401: a fixture
from test_view import page_of, serving

import harness

TASKS = """
import asyncio, time

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

async def rest(seconds):
    await asyncio.sleep(seconds)

async def fetch(n):
    for _ in range(8):
        await rest(0.03)
        spin(0.01)

async def parse():
    for _ in range(8):
        spin(0.03)
        await asyncio.sleep(0.01)

async def main():
    tasks = [asyncio.create_task(fetch(i), name=f"fetch-{i}") for i in range(2)]
    await asyncio.gather(fetch(9), asyncio.create_task(parse(), name="a*b [c]"), *tasks)

asyncio.run(main())
"""
# Each means one name alone, however much of a pattern it looks.
PATTERNS = {"a*b [c]": r"a\*b \[c]"}


@pytest.fixture(scope="module")
def tasks(python, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("tasks"))
    (cairn.folder / "own_tasks.py").write_text(TASKS)
    file = cairn.folder / "run.cairn"
    cairn("run", "--report", "none", "-r", "1khz", "-o", file, "--", python.executable,
          cairn.folder / "own_tasks.py").expect()
    return file


def names(report):
    return {task[key] for task in report["tasks"] for key in ("name", "coroutine")} - {""}


def functions(page):
    tab(page, "Explore").click()
    heading = page.get_by_role("heading", name="Functions", exact=True)
    return {name.split()[0]: (percent(own), percent(total)) for own, _, total, _, _, name in
            page.locator("section", has=heading).locator("tbody tr").evaluate_all(
                "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")}


def check(rows, report):
    """The rows of the page are the report's."""
    wanted = {row["qualname"]: (100 * row["self_share"], 100 * row["total_share"])
              for row in report["rows"] if row["total_s"] > 0}
    assert rows.keys() == wanted.keys()
    for name, shares in wanted.items():
        assert rows[name] == pytest.approx(shares, abs=0.51)


def test_each_name_has_what_the_report_tells(cairn, tasks):
    _, data = parts(make(cairn, tasks))
    inside = {data["strings"][name]: columns for name, columns, task in data["inside"] if task}
    assert inside.keys() == names(cairn.report(tasks)) >= {"fetch", "fetch-0", "a*b [c]", "parse", "main"}
    assert data["slices"]["count"] > 1
    for name, (threads, _, _, slices, *states, idle, gil) in inside.items():
        report = cairn.report(tasks, "--task", PATTERNS.get(name, name))
        running, waiting = (round(report["states"][state] * 1e9) for state in ("unknown_s", "blocked_s"))
        assert [sum(state) for state in states] == [0, 0, 0, waiting, 0, running]
        assert {*slices} == {0} and {*idle, *gil} == {0} and max(threads) < len(data["threads"])


@pytest.mark.parametrize("name", ["fetch", "a*b [c]"])
def test_a_task_is_a_filter_of_every_view(cairn, tasks, browser, name):
    told = cairn.report(tasks, "--task", PATTERNS.get(name, name), "--limit", "1000")
    with opened(browser, make(cairn, tasks)) as page:
        page.locator("#verdict").wait_for()
        assert page.get_by_role("combobox", name="Region").count() == 0
        page.get_by_role("combobox", name="Task").select_option(label=name)
        expect(page.locator("code.command")).to_have_text(
            f"cairn report --task '{PATTERNS[name]}'" if name in PATTERNS else f"cairn report --task {name}")
        expect(page.locator("header .note")).to_contain_text("where the others waited")
        expect(page.get_by_role("tabpanel")).to_contain_text("about all that this page holds")
        check(functions(page), told)
        assert page.locator("#timeline").count() == 0  # they are of all of the time
        page.get_by_role("combobox", name="Metric").select_option("cpu")
        tab(page, "Overview").click()
        expect(page.locator("#panel .warn").last).to_contain_text("cpu: n/a, of tasks it is known")
        for _ in range(4):
            page.go_back()
        expect(page.get_by_role("combobox", name="Task")).to_have_value("-1")
        tab(page, "Explore").click()
        page.locator("#timeline").wait_for()


def test_a_part_of_the_time_is_left_out_and_said_so(cairn, tasks, browser):
    with opened(browser, make(cairn, tasks), "#from=1&to=2") as page:
        page.get_by_role("combobox", name="Task").select_option(label="parse")
        expect(page.locator("header .warn")).to_contain_text("Of this region or task the page has all of the time")
        expect(page.locator("code.command")).to_have_text("cairn report --task parse")
        check(functions(page), cairn.report(tasks, "--task", "parse", "--limit", "1000"))


def test_a_row_of_tasks_filters_by_its_names(cairn, tasks, browser):
    with opened(browser, make(cairn, tasks)) as page:
        row = page.locator("section", has=page.locator("#tasks")).locator("tr", has_text="fetch-1")
        for name in ("fetch-1", "fetch"):
            row.click(button="right")
            page.get_by_role("menuitem", name=f"Filter: only tasks {name}", exact=True).click()
            expect(page.locator("code.command")).to_have_text(f"cairn report --task {name}")


def test_a_served_page_has_the_same_tasks(cairn, tasks, browser):
    """Its columns lie apart from its JSON."""
    with serving(cairn, tasks) as view, page_of(browser, view.link) as page:
        page.get_by_role("combobox", name="Task").select_option(label="fetch")
        check(functions(page), cairn.report(tasks, "--task", "fetch", "--limit", "1000"))
    with serving(cairn, "--task", "parse", tasks) as view, page_of(browser, view.link) as page:
        check(functions(page), cairn.report(tasks, "--task", "parse", "--limit", "1000"))


def test_a_page_of_one_task_holds_no_more(cairn, tasks, browser):
    report = cairn("report", "--task", "fetch", tasks).expect().text
    file = make(cairn, tasks, "--task", "fetch")
    _, data = parts(file)
    assert data["chosen"] == {"task": "fetch"} and data["inside"] == [] and data["slices"]["count"] == 1
    told = cairn.report(tasks, "--task", "fetch", "--limit", "1000")
    held = {data["strings"][row[0]] for row in data["functions"]}
    assert held == {row["qualname"] for row in told["rows"]}
    # A sample within asyncio.sleep() may see what that calls, which is of asyncio and no task's own.
    assert {"fetch", "rest", "sleep", "spin"} <= held and not held & {"parse", "main", "<module>"}
    own = {row["qualname"] for row in told["rows"] if row["file"].endswith("own_tasks.py")}
    assert own == {"fetch", "rest", "spin"}
    known = {metric["name"]: metric["known"] for metric in data["metrics"]}
    assert known == {name: name in ("wall", "blocked") for name in known} and len(known) == 6
    with opened(browser, file) as page:
        verdict = page.locator("#verdict + *").inner_text()
        assert re.search(r"Tasks fetch \(own_tasks\.py\) took \S+ \S+, ", verdict), verdict
        assert " ".join(verdict.split()) in " ".join(report.split())
        assert page.get_by_role("combobox", name="Task").count() == 0
        check(functions(page), told)
    _, data = parts(make(cairn, tasks, "--from", "100ms"))
    assert data["inside"] == []  # no part of the time is known of tasks

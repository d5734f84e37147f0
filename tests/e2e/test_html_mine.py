"""Of the page: only the user's code, from the first view to the hot line by one key, the menu of what
is compared, what was waited for, and asyncio's tasks."""
import re
import shlex

import pytest
from playwright.sync_api import expect
from test_html import browser, make, opened, percent, seconds, tab, table_rows  # noqa: F401

import harness

PROGRAM = """
import asyncio, json, time

def encode(n):
    return json.dumps([{"a": [n] * 50, "b": str(n)} for _ in range(400)], indent=1)

async def fetch(n):
    for _ in range(8):
        await asyncio.sleep(0.01)
        encode(n)

async def main():
    await asyncio.gather(*(asyncio.ensure_future(fetch(n)) for n in range(3)))

asyncio.run(main())
end = time.monotonic() + 0.4
while time.monotonic() < end:
    encode(1)
time.sleep(0.3)
"""


@pytest.fixture(scope="module")
def served(python, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("mine"))
    (cairn.folder / "served.py").write_text(PROGRAM)
    cairn("run", "--report", "none", "-o", "x.cairn", "--", python.executable,
          "served.py").expect()
    return cairn.folder / "x.cairn"


def place(row):
    return f"{row['file'].rpartition('/')[2]}:{row['first_line']}" if row["file"] else ""


@pytest.mark.parametrize("then, wanted", [("", []), ("&hide=encode", ["--ignore", "encode"]),
                                          ("&focus=%5Efetch&idle=1", ["--focus", "^fetch", "--idle"]),
                                          ("&focus=encoder", ["--focus", "encoder"]),  # a library's
                                          ("&hide=encoder", ["--ignore", "encoder"])])
def test_only_my_code_is_as_on_the_command_line(cairn, served, browser, then, wanted):  # noqa: F811
    report = cairn.report(served, "--only-my-code", "--limit", "1000", *wanted)
    with opened(browser, make(cairn, served), f"#tab=explore&mine=1{then}") as page:
        assert shlex.split(page.locator("code.command").inner_text())[2:] == [
            *wanted[:2], *wanted[2:], "--only-my-code"]
        shown_s = seconds(page.locator("#flame").inner_text().split(": ")[1])
        rows = table_rows(page, "Functions")
    idle_s = 0 if "--idle" in wanted else report["idle_s"]
    assert shown_s == pytest.approx(report["total_s"] - idle_s, rel=0.006)
    told = {f"{row['qualname']} {place(row)}".strip(): row for row in report["rows"]}
    shown = {" ".join(row[5].split()): row for row in rows}
    assert set(shown) == {name for name, row in told.items() if row["total_s"] > 0}, told
    assert len(shown) > 2 and not any("encoder.py" in name for name in shown)
    for name, row in shown.items():
        assert seconds(row[1]) == pytest.approx(told[name]["self_s"], rel=0.006, abs=1e-6), name
        assert seconds(row[3]) == pytest.approx(told[name]["total_s"], rel=0.006, abs=1e-6), name


def test_only_my_code_comes_and_goes(cairn, served, browser):  # noqa: F811
    with opened(browser, make(cairn, served), "#tab=explore") as page:
        before = table_rows(page, "Functions")
        page.keyboard.press("c")
        expect(page.get_by_label("Only my code")).to_be_checked()
        expect(page).to_have_url(re.compile("mine=1"))
        assert len(table_rows(page, "Functions")) < len(before)
        page.keyboard.press("x")
        expect(page.get_by_label("Only my code")).not_to_be_checked()
        assert table_rows(page, "Functions") == before


def test_the_hot_line_is_two_keys_away(cairn, served, browser):  # noqa: F811
    with opened(browser, make(cairn, served), "") as page:
        first = page.locator("#top ~ * a").first.locator(".name").first.inner_text()
        page.keyboard.press("Enter")
        expect(page.locator("h2.title")).to_have_text(first)
        page.keyboard.press("Enter")
        line = page.locator("#lines ~ * tr:focus")
        expect(line).to_be_in_viewport()
        shares = page.locator("#lines ~ * tbody tr td:nth-child(3)").all_inner_texts()
        assert percent(line.locator("td").nth(2).inner_text()) == max(map(percent, shares))
        page.locator("#callers ~ * a").first.focus()
        page.keyboard.press("Enter")  # what has the focus has its own
        expect(page.locator("h2.title")).not_to_have_text(first)


def test_what_is_compared_has_the_menu(cairn, served, browser):  # noqa: F811
    with opened(browser, make(cairn, served), "#tab=compare") as page:
        page.locator(".changes tbody tr").first.click(button="right")
        page.get_by_role("menuitem", name="Focus: only stacks that hold it").click()
        expect(page.locator(".chip")).to_contain_text("focus")


def test_waits_and_tasks_are_told(cairn, served, browser):  # noqa: F811
    report = cairn.report(served)
    assert report["tasks"]
    with opened(browser, make(cairn, served), "#idle=1") as page:
        rows = table_rows(page, "asyncio tasks")
        findings = page.locator("section", has=page.locator("#findings")).inner_text()
        tab(page, "Explore").click()
    slept = max(report["waits"], key=lambda wait: wait["waited_s"] - wait["idle_s"])
    [told] = re.findall(rf"^(\S+ ms) {slept['syscall']}", findings, re.MULTILINE)
    assert seconds(told) == pytest.approx(slept["waited_s"] - slept["idle_s"], rel=0.006)
    assert len(rows) == len(report["tasks"])
    for task, (running, waiting, name) in zip(report["tasks"], rows):
        assert (seconds(running), seconds(waiting)) == pytest.approx(
            (task["running_s"], task["waiting_s"]), rel=0.006, abs=1e-6)
        assert f"{task['name']} {task['coroutine']}".strip() in name
        assert re.search(r"waits most at served\.py:\d+", name), name

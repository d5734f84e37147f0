"""Of the page: only the user's code, from the first view to the hot line by one key, the menu of what
is compared, what was waited for, and asyncio's tasks."""
import base64
import gzip
import json
import re
import shlex
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from test_html import (browser, make, opened, parts, parts_of_functions, percent, seconds, tab,  # noqa: F401
                       table_rows)
from test_html_counts import call_table, near
from test_html_counts import place as called

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


def test_what_has_no_file_is_no_code_of_mine(cairn, folder, browser):  # noqa: F811
    """A module of which nothing but that is known, as the sampler tells some; labels, which nobody wrote,
    stay. As in tally.c; a file that tells of such a module cannot be written by hand."""
    (folder / "x").write_text("main (/u/a.py:1);<module>;f (/u/b.py:2) 30\nmain (/u/a.py:1);[torn] 10\n")
    file = make(cairn, folder / "x")
    _, data = parts(file)
    (row,) = (row for row in data["functions"] if data["strings"][row[0]] == "<module>")
    assert row[3:5] == [2, 4]  # of files of other tools it is a label
    row[3] = 0
    packed = base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()
    file.write_text(re.sub(r'(id="data">)[^<]*', lambda match: match[1] + packed, file.read_text(), count=1))
    with opened(browser, file, "#tab=explore&mine=1") as page:
        assert {row[5].split()[0] for row in table_rows(page, "Functions")} == {"main", "f", "[torn]"}


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


def test_each_note_of_the_page_has_its_text(cairn, served):  # noqa: F811
    """The script names its longer sentences, the data holds them."""
    _, data = parts(make(cairn, served))
    sources = "".join(file.read_text() for file in sorted((harness.ROOT / "web/src").glob("*.ts*")))
    either = re.findall(r"notes\[[^]]*\? '(\w+)' : '(\w+)'\]", sources)
    follow = re.search(r"type Follow = 'no' \| (.*);", sources)[1]
    assert "notes[follow]" in sources
    used = {*re.findall(r"\bnotes\.(\w+)", sources), *(name for pair in either for name in pair),
            *re.findall(r"'(\w+)'", follow)}
    assert used == data["notes"].keys() and len(used) > 10 and all(data["notes"].values())
    bundle = (harness.ROOT / "tools/bundle.py").read_text()
    renamed = set(re.search(r"OWN = \((.*?)\)\.split", bundle, re.DOTALL)[1].replace('"', "").split())
    assert len(renamed) > 50 and not used & renamed  # the bundler gives those other names


def test_what_is_compared_has_the_menu(cairn, served, browser):  # noqa: F811
    with opened(browser, make(cairn, served), "#tab=compare") as page:
        page.locator(".changes tbody tr").first.click(button="right")
        page.get_by_role("menuitem", name="Focus: only stacks that hold it").click()
        expect(page.locator(".chip")).to_contain_text("focus")


def test_what_only_the_other_side_has_is_copied(cairn, folder, browser):  # noqa: F811
    """What the page itself does not hold can be copied, and nothing else: it is in no other view."""
    (folder / "a").write_text("main (/u/a.py:1);kept (/u/a.py:5) 500\n")
    (folder / "b").write_text("main (/u/a.py:1);kept (/u/a.py:5) 300\nmain (/u/a.py:1);gone (/u/a.py:9) 200\n")
    with opened(browser, make(cairn, folder / "a", "--before", folder / "b"), "#tab=compare") as page:
        row = page.locator(".changes tbody tr", has_text="gone")
        row.focus()
        page.keyboard.press(".")
        assert page.get_by_role("menuitem").all_inner_texts() == ["Copy its name"]
        assert page.locator(".menu p").inner_text() == "gone"


def test_waits_and_tasks_are_told(cairn, served, browser):  # noqa: F811
    report = cairn.report(served)
    assert report["tasks"]
    with opened(browser, make(cairn, served), "#idle=1") as page:
        rows = table_rows(page, "asyncio tasks")
        findings = page.locator("section", has=page.locator("#findings")).inner_text()
        page.get_by_label("Only my code").check()
        page.locator("#verdict").wait_for()
        assert page.locator("#findings").count() == 0  # they are of all that the page holds
    slept = max(report["waits"], key=lambda wait: wait["waited_s"] - wait["idle_s"])
    [told] = re.findall(rf"^(\S+ ms) {slept['syscall']}", findings, re.MULTILINE)
    assert seconds(told) == pytest.approx(slept["waited_s"] - slept["idle_s"], rel=0.006)
    assert len(rows) == len(report["tasks"])
    for task, (running, waiting, name) in zip(report["tasks"], rows):
        assert (seconds(running), seconds(waiting)) == pytest.approx(
            (task["running_s"], task["waiting_s"]), rel=0.006, abs=1e-6)
        assert f"{task['name']} {task['coroutine']}".strip() in name
        assert re.search(r"waits most at served\.py:\d+", name), name


def test_what_is_no_time_has_no_unit_of_time(cairn, browser):  # noqa: F811
    """Callgrind's events, in every view."""
    (cairn.folder / "x").write_text(
        "events: Ir\nfl=a.py\nfn=main\n1 2000000\ncfn=f\ncalls=4 5\n1 6000000\n\nfn=f\n5 6000000\n")
    with opened(browser, make(cairn, cairn.folder / "x"), "#function=1") as page:
        expect(page.get_by_role("combobox", name="Metric").locator("option").first).to_have_text("numbers, no time")
        for name in ("Overview", "Explore", "Function"):
            tab(page, name).click()
            expect(page.get_by_role("tabpanel")).to_contain_text("6 M")
            text = page.get_by_role("tabpanel").inner_text().replace("one is 1 ns;", "")
            assert not re.search(r"\d\s(ns|us|ms|s|min)\b", text), text


COUNTED = """
import json

def leaf(n):
    return sum(range(n))

def plain(thing):  # json's encoder calls it
    leaf(300)
    return {"b": str(thing)}

def encode(n):
    leaf(100)
    return json.dumps([n, frozenset({n})], indent=1, default=plain)

def main():
    for n in range(200):
        encode(n)

main()
"""


@pytest.fixture(scope="module")
def counted(python, tmp_path_factory):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    cairn = harness.Cairn(tmp_path_factory.mktemp("counted"))
    (cairn.folder / "counted.py").write_text(COUNTED)
    cairn("run", "--exact", "--report", "none", "-o", "x.cairn", "--", python.executable,
          "counted.py").expect()
    return cairn.folder / "x.cairn"


# How often what is chosen was called; None: that is of calls that are not chosen.
@pytest.mark.parametrize("then, wanted, calls", [
    ("&mine=1", ["--only-my-code"], {"main": 1, "encode": 200, "plain": 200, "leaf": 400}),
    ("&mine=1&focus=encoder", ["--only-my-code", "--focus", "encoder"],  # a library's
     {"<module>": None, "main": None, "encode": None, "plain": 200, "leaf": 200}),
    ("&focus=encoder", ["--focus", "encoder"], {"main": None, "encode": None, "plain": 200, "leaf": 200}),
    ("&mine=1&focus=encode%20", ["--only-my-code", "--focus", "encode "],
     {"main": None, "encode": 200, "plain": 200, "leaf": 400}),
    ("&mine=1&hide=encoder", ["--only-my-code", "--ignore", "encoder"],
     {"main": 1, "encode": 200, "leaf": 200}),
    ("&hide=leaf", ["--ignore", "leaf"], {"main": 1, "encode": 200, "plain": 200}),
])
def test_counted_calls_have_the_times_of_what_is_chosen(cairn, counted, browser, then, wanted,  # noqa: F811
                                                        calls):
    report = cairn.report(counted, "--metric", "counted", "--limit", "1000", *wanted)
    told = {called(row): row for row in report["rows"] if row["file"][:1] == "/" and row["total_s"]}
    with opened(browser, make(cairn, counted), f"#tab=explore&metric=counted{then}") as page:
        rows = call_table(page)
    shown = {row[-1]: row for row in rows}
    assert len(shown) == len(rows) and set(told) <= set(shown)
    for name, row in told.items():
        ncalls, self_s, each, total_s, every = shown[name][:5]
        assert near(self_s.replace(" ~", ""), row["self_s"]), (name, self_s, row)
        assert near(total_s, row["total_s"]), (name, total_s, row)
    for name, count in calls.items():
        [row] = [row for place, row in shown.items() if place.endswith(f"({name})") and "counted.py" in place]
        assert row[0] == (str(count) if count is not None else "?"), row
        assert (row[2] == row[4] == "n/a") is (count is None), row


@pytest.mark.parametrize("then, wanted", [("&mine=1&focus=encoder", ["--only-my-code", "--focus", "encoder"]),
                                          ("&mine=1&hide=leaf", ["--only-my-code", "--ignore", "leaf"])])
def test_counted_edges_have_the_times_of_what_is_chosen(cairn, counted, browser, then, wanted):  # noqa: F811
    file = make(cairn, counted)
    number = next(i for i, row in enumerate(parts_of_functions(file)) if row["qualname"] == "encode")
    report = cairn.report(counted, "--metric", "counted", "--limit", "1000", *wanted)
    told = {row["qualname"]: row for row in report["rows"]}
    ncalls = "?" if "focus" in then else "200"
    with opened(browser, file, f"#tab=function&metric=counted&function={number}{then}") as page:
        [caller] = call_table(page, "callers")
        [callee] = [row for row in call_table(page, "callees") if row[-1].endswith("(plain)")]
        expect(page.locator("#panel")).to_contain_text(
            "How often it was called is not known: tottime" if ncalls == "?" else "200 calls: tottime")
    assert caller[0] == ncalls and caller[-1].endswith("(main)")
    assert near(caller[1], told["encode"]["self_s"]) and near(caller[2], told["encode"]["total_s"])
    assert callee[0] == "200" and near(callee[2], told["plain"]["total_s"])


@pytest.mark.parametrize("pattern", [r"\<enc", r"\<code", r"encode\>", r"enco\>", r"\<(encode|fetch)\>", r"[\<]module",
                                     r"\\<", r"^\<\w+\>", r"\bencode\b", r"served\.py", "<module>", r"\de", r"(?:de|en)code\s",
                                     r"[^\]]ncode", r"[\w<]+>\s", r"e(?=tch)", r"en{1,2}c?o+?d"])
def test_a_pattern_means_what_it_does_on_the_command_line(cairn, served, browser, pattern):  # noqa: F811
    """Edges of words as well, which regular expressions of a browser do not have by these signs."""
    report = cairn.report(served, "--idle", "--focus", pattern, "--limit", "1000")
    with opened(browser, make(cairn, served), f"#tab=explore&idle=1&focus={quote(pattern)}") as page:
        if report["total_s"] == 0:
            expect(page.locator("#panel")).to_contain_text("No time is left")
            return
        rows = call_table(page)
    assert {row[5].split()[0] for row in rows} == {
        row["qualname"].split()[0] for row in report["rows"] if row["total_s"] > 0}

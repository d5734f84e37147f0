"""`cairn html`: one page, which needs nothing but itself, shows what the report tells, to whoever
looks, listens or types, and obeys no name."""
import base64
import contextlib
import gzip
import io
import json
import keyword
import os
import re
import shlex
import sys
import tokenize
import zlib
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect, sync_playwright

import harness

CHROMIUMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
PATIENCE_MS = 60_000  # a machine with other work on it; nothing waits so long otherwise
expect.set_options(timeout=PATIENCE_MS)
METRICS = ["wall", "cpu", "gil", "gil-wait", "runq", "blocked"]
SHELL_MAX_BYTES = 45_000
WIDTHS = [(320, 700), (1280, 800), (3840, 2160)]
TABS = ["Overview", "Explore", "Function", "Compare"]


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    """Threads and states enough that a sum put in the wrong place would show."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("html"))
    file, ended = cairn.record(python, "states.py", 0.8)
    return cairn.need_sight(file, ended), cairn.blind_s(file, ended)


def make(cairn, file, *options, name="page.html"):
    page = cairn.folder / name
    cairn("html", "--force", "-o", page, *options, file).expect()
    return page


def parts(page):
    """The page without what is in its data, and the data."""
    text = page.read_text()
    match = re.search(r'<script type="application/gzip" id="data">([^<]*)</script>', text)
    data = json.loads(gzip.decompress(base64.b64decode(match[1], validate=True)))
    return text.replace(match[1], ""), data


@pytest.fixture(scope="module")
def browser():
    found = [path for path in CHROMIUMS if os.access(path, os.X_OK)]
    assert found, f"none of {CHROMIUMS} is there: make deps installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found[0], timeout=PATIENCE_MS,
            args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser, file, hash="", **options):
    """The page in a context of its own; no request but its own, and no word on the console."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    told, asked = [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    # Of some errors the browser's own console alone tells, not this one.
    page.add_init_script("addEventListener('error', (event) => console.error(event.message))")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri() + hash)
    page.get_by_role("tab", name="Overview").wait_for()
    try:
        yield page
    finally:
        seen = list(told), [url for url in asked if not url.startswith(file.as_uri())]
        context.close()
    assert seen == ([], [])


def tab(page, name):
    return page.get_by_role("tab", name=name, exact=True)


def visible(name):
    """A name as the terminal and the page write it, on one line."""
    def written(match):
        code = ord(match[0])
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return re.sub("[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]", written, name)


def parts_of_functions(file):
    """The functions of a page, by their number."""
    _, data = parts(file)
    return [{"qualname": data["strings"][row[0]]} for row in data["functions"]]


def seconds(text):
    """A time as the page writes it, with its sign."""
    number, unit = text.lstrip("+\u2212\u00b1").split()
    value = float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]
    return -value if text.startswith("\u2212") else value


def percent(text):
    return 0.0 if text.startswith("<") else float(text.split()[0])


def table_rows(page, heading):
    """The rows of the table below a heading, as lists of the texts of their cells."""
    heading = page.get_by_role("heading", name=heading, exact=True)
    rows = page.locator("section", has=heading).locator("tbody tr")
    rows.first.wait_for()
    return rows.evaluate_all("rows => rows.map((row) => [...row.cells].map((cell) => "
                             "cell.textContent))")


def test_it_opens_from_the_disk_and_needs_nothing_else(cairn, recording, browser):
    file = make(cairn, recording[0])
    with opened(browser, file) as page:
        for name in TABS:
            expect(tab(page, name)).to_be_enabled()
        expect(tab(page, "Overview")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel")).to_contain_text("spin")
        verdict = page.locator(".verdict").inner_text()
    head = cairn("report", recording[0]).expect().text.split("\ntime ")[0]
    assert verdict == " ".join(head.split())


def test_the_shell_is_small_and_allows_nothing_but_itself(cairn, recording):
    shell, data = parts(make(cairn, recording[0]))
    assert len(gzip.compress(shell.encode())) <= SHELL_MAX_BYTES
    assert "<title>states.py - Cairn</title>" in shell  # whatever way leads to it, and to its Python
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', shell)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and "unsafe" not in policy
    assert re.fullmatch(r"'sha256-[\w+/=]{44}'", rules["script-src"])
    assert not re.search(r"(?:https?:)?//(?!www\.w3\.org/)[\w.]+/", shell.split("<script>")[0])
    assert data["schema"] == 2


@pytest.mark.parametrize("metric", METRICS)
def test_its_sums_are_those_of_the_report(cairn, recording, metric):
    _, data = parts(make(cairn, recording[0]))
    told = next(each for each in data["metrics"] if each["name"] == metric)
    report = cairn.report(recording[0], "--metric", metric)
    assert told["known"] == report["known"]
    threads, _, _, slices, *states, idle, gil = data["cells"]
    column = {"cpu": 0, "gil-wait": 1, "runq": 2, "blocked": 3}.get(metric)
    times = gil if metric == "gil" else states[column] if column is not None else sum(states, [])
    if report["known"]:
        assert sum(times) == round(report["total_s"] * 1e9)
        waited = sum(idle) if metric in ("wall", "blocked") else 0
        assert waited == round(report["idle_s"] * 1e9)
        assert set(threads) <= set(range(len(data["threads"])))
        count, width_s = data["slices"]["count"], data["slices"]["width_ns"] / 1e9
        without = set(range(count)) - set(slices)
        assert set(slices) <= set(range(count)) and count >= 32
        # Between two ticks lie no more than two that came and those that were missed.
        assert len(without) * width_s <= recording[1] + 0.003, "none without its ticks"


@pytest.mark.parametrize("first, last", [(0, 5), (10, 25), (31, 32)])
@pytest.mark.parametrize("metric", ["wall", "cpu", "gil"])
def test_a_part_of_the_time_is_that_of_the_report(cairn, recording, metric, first, last):
    """To the last tick: slices begin and end where `--from` and `--to` cut."""
    _, data = parts(make(cairn, recording[0]))
    told, (_, _, _, slices, *states, idle, gil) = data["slices"], data["cells"]
    values = {"wall": [sum(row) for row in zip(*states)], "cpu": states[0], "gil": gil}[metric]
    first, last = (slice * told["count"] // 32 for slice in (first, last))
    assert told["count"] >= 32 and told["first_ns"] == 0
    begin, end = (f"{slice * told['width_ns']}ns" for slice in (first, last))
    report = cairn.report(recording[0], "--metric", metric, "--from", begin, "--to", end)
    here = sum(value for value, slice in zip(values, slices) if first <= slice < last)
    # A row that is cut at both ends may be a nanosecond off in each state.
    assert abs(here - report["total_s"] * 1e9) < 1e4, (here, report["total_s"])


def test_what_it_shows_of_functions_is_what_the_report_says(cairn, recording, browser):
    report = cairn.report(recording[0])
    by_name = {}
    for row in report["rows"]:
        where = Path(row["file"]).name + (f":{row['first_line']}" if row["first_line"] else "")
        name = visible(row["qualname"])
        shares = 100 * row["self_share"], 100 * row["total_share"]
        by_name.setdefault(f"{name} {visible(where)}" if row["file"] else name, []).append(shares)
    with opened(browser, make(cairn, recording[0]), "#tab=explore") as page:
        shown = table_rows(page, "Functions")
    assert len(shown) == min(40, sum(row["total_s"] > 0 for row in report["rows"]))
    for self_share, _, total_share, _, _, name in shown:
        seen = percent(self_share), percent(total_share)
        rows = by_name[" ".join(name.split())]  # several: <module> of __init__.py
        assert any(max(abs(a - b) for a, b in zip(row, seen)) <= 0.51 for row in rows), (
            name, seen, rows)


@pytest.mark.parametrize("options", [
    ["--focus", "spin"], ["--ignore", "spin"], ["--idle"], ["--thread", "sleeper"],
    ["--metric", "cpu"]], ids=" ".join)
def test_a_filter_of_the_page_is_that_of_the_command_line(cairn, recording, browser, options):
    file = make(cairn, recording[0])
    names = [thread["name"] for thread in parts(file)[1]["threads"]]
    keys = {"--focus": "focus=spin", "--ignore": "hide=spin", "--idle": "idle=1",
            "--thread": f"thread={names.index('sleeper')}", "--metric": "metric=cpu"}
    report = cairn.report(recording[0], *options)
    with opened(browser, file, f"#tab=explore&{keys[options[0]]}") as page:
        shown = table_rows(page, "Functions")
    top = max(report["rows"], key=lambda row: row["self_s"])
    assert abs(percent(shown[0][0]) - 100 * top["self_share"]) <= 0.51
    assert shown[0][5].split()[0] == top["qualname"]


def first_share(shown):
    return percent(shown[0][0]), shown[0][5].split()[0]


def test_the_timeline_chooses_a_part_of_the_time(cairn, recording, browser):
    """By the pointer and by keyboard; what is left is what the command beside it reports."""
    file = make(cairn, recording[0])
    _, told = parts(file)
    with opened(browser, file, "#tab=explore") as page:
        strip = page.locator(".lane-strip canvas")
        box = strip.bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.25, y)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
        page.mouse.up()
        count = told["slices"]["count"]
        expect(page).to_have_url(re.compile(r"from=(\d+)&to=(\d+)"))
        first, last = map(int, re.search(r"from=(\d+)&to=(\d+)", page.url).groups())
        assert abs(first - count / 4) <= 1 and abs(last - count / 2) <= 1, page.url
        command = page.locator("code.command").inner_text().split()
        assert command[:2] == ["cairn", "report"] and command[2::2] == ["--from", "--to"]
        report = cairn.report(recording[0], *command[2:])
        share, name = first_share(table_rows(page, "Functions"))
        top = max(report["rows"], key=lambda row: row["self_s"])
        assert abs(share - 100 * top["self_share"]) <= 0.51 and name == top["qualname"]
        page.get_by_label("To", exact=True).focus()
        page.keyboard.press("End")
        expect(page).to_have_url(re.compile(rf"to={count}\b"))
        page.keyboard.press("ArrowLeft")
        expect(page).to_have_url(re.compile(rf"to={count - 1}\b"))
        page.get_by_role("button", name="Compare with the rest").click()
        expect(page).to_have_url(re.compile("tab=compare"))
        sides = page.locator("#panel select").evaluate_all("all => all.map((each) => "
                                                           "each.selectedOptions[0].text)")
        assert sides[0].startswith("not ") and " to " in sides[1], sides
        page.go_back()
        page.get_by_role("button", name="All time").click()
        expect(page).not_to_have_url(re.compile("from="))
        page.mouse.click(box["x"] + 5, y)
        assert "from=" not in page.evaluate("location.href")


def test_a_function_shows_its_threads_and_when_it_was_there(cairn, recording, browser):
    """As `--focus` of the command line tells of each thread and state."""
    file = make(cairn, recording[0])
    names = [row["qualname"] for row in parts_of_functions(file)]
    with opened(browser, file, f"#tab=function&function={names.index('spin')}") as page:
        shown = {row[2].rsplit(" ", 1)[0]: seconds(row[1]) for row in table_rows(page, "Its threads")}
        bar = page.get_by_role("img", name="States").get_attribute("aria-label")
        page.get_by_role("img", name="What one thread did over").wait_for()
        page.get_by_role("slider", name="From").press("ArrowRight")
        expect(page.locator(".chip")).to_contain_text("time")
    report = cairn.report(recording[0], "--focus", "^spin ", "--by", "thread")
    told = {row["name"]: row["self_s"] for row in report["rows"]}
    assert shown.keys() == told.keys() == {"busy"}, (shown, told)
    assert abs(shown["busy"] - told["busy"]) < 0.006 * told["busy"]
    states = cairn.report(recording[0], "--focus", "^spin ", "--idle")["states"]
    running = 100 * states["running_s"] / sum(states.values())
    assert abs(float(re.search(r"running ([\d.]+) %", bar)[1]) - running) <= 0.51, (bar, states)


@pytest.mark.parametrize("shape", ["icicle", "flame", "sunburst"])
def test_shapes_of_the_flame_graph_say_the_same(cairn, recording, browser, shape):
    """The same frames are reached by the keys in each, and the pointer finds what is drawn."""
    with opened(browser, make(cairn, recording[0]), f"#tab=explore&shape={shape}") as page:
        expect(page.locator(".flame canvas")).to_have_attribute("width", re.compile("..."))  # drawn
        page.locator(".flame canvas").focus()
        said, detail = [], page.locator("#flame-detail")

        def press(key):
            page.keyboard.press(key)
            if said:
                expect(detail).not_to_have_text(said[-1])
            said.append(detail.inner_text())

        inwards = "ArrowUp" if shape == "flame" else "ArrowDown"
        press("ArrowDown")
        press(inwards)
        while "_bootstrap" not in said[-1]:  # beside it what began the threads may be too thin to show
            press("ArrowRight")
        press(inwards)
        press(inwards)
        assert len(set(said)) == len(said) >= 4 and "all" in said[0], said
        for key in ("depth", "cutoff"):
            page.get_by_role("combobox", name=key.capitalize()).select_option(index=1)
            expect(page).to_have_url(re.compile(f"{key}="))
        box = page.locator(".flame canvas").bounding_box()
        # The middle of the sunburst, the foot of the flame, the top of the icicle: all of it.
        y = {"icicle": 5, "flame": box["height"] - 5, "sunburst": box["height"] / 2}[shape]
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + y)
        expect(page.locator("#flame-detail")).to_contain_text("all")


def test_numbers_of_the_call_tree_stand_beside_the_longest_names(cairn, folder, browser):
    deep = folder / "long.collapsed"
    deep.write_text(f"main;{'std::map<' * 200}int{'>' * 200} 100\n" + ";".join(f"f{i}" for i in range(40)) + " 50\n")
    file = make(cairn, deep)
    for width in (320, 1000, 1280, 3840):
        with opened(browser, file, "#tab=explore", viewport={"width": width, "height": 800}) as page:
            page.locator(".tree tbody tr").first.wait_for()
            lasts = page.evaluate("[...document.querySelectorAll('.tree tr')].map("
                                  "(row) => row.lastElementChild.getBoundingClientRect().right)")
            assert lasts and max(lasts) <= width, (width, lasts)


def test_rings_that_have_no_room_are_told(cairn, folder, browser):
    """A sunburst has room for so many; so has whatever the reader limits the depth of."""
    deep = folder / "deep.collapsed"
    deep.write_text(";".join(f"f{i}" for i in range(40)) + " 100\nf0;f1 50\n")
    file = make(cairn, deep)
    for told, hash in ((True, "shape=sunburst"), (False, "shape=icicle"), (True, "shape=icicle&depth=4")):
        with opened(browser, file, f"#tab=explore&{hash}") as page:
            expect(page.locator(".flame canvas")).to_have_attribute("width", re.compile("..."))  # drawn
            words = "What is deeper is left out. Arrows" if told else "Arrows"
            expect(page.locator("#flame-detail")).to_have_text(re.compile(f"^{words} move"))


def test_the_call_graph_is_that_of_the_stacks(cairn, recording, browser):
    """Functions, calls and shares, as DOT; the same as SVG, and as PNG."""
    file = make(cairn, recording[0])
    with opened(browser, file, "#tab=explore&idle=1&shape=call+graph") as page:
        boxes = page.locator("svg.calls g").evaluate_all(
            "all => all.map((each) => each.getAttribute('aria-label'))")
        saved = {}
        for kind in ("DOT", "SVG", "PNG"):
            with page.expect_download() as download:
                page.get_by_role("button", name=kind, exact=True).click()
            saved[kind] = Path(download.value.path()).read_bytes()
        page.locator("svg.calls").focus()
        before = page.locator("svg.calls").get_attribute("viewBox")
        for key in ("+", "ArrowRight"):
            page.keyboard.press(key)
            expect(page.locator("svg.calls")).not_to_have_attribute("viewBox", before)
        page.keyboard.press("0")
        expect(page.locator("svg.calls")).to_have_attribute("viewBox", before)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("function="))
    dot = saved["DOT"].decode()
    nodes = {number: (name, where.partition(":")[0], float(total)) for number, name, where, total in
             re.findall(r'f(\d+) \[label="(.*)\n(.*)\nself .* total ([\d.]+) %"', dot)}
    # Two functions of one name are told apart by ear as well.
    assert sorted(label.rpartition(", self ")[0].strip() for label in boxes) == sorted(
        f"{name} {where}".strip() for name, where in re.findall(r'f\d+ \[label="(.*)\n(.*)\nself', dot))
    lines = {(nodes[a][:2], nodes[b][:2]): float(share) for a, b, share in
             re.findall(r'f(\d+) -> f(\d+) \[label="([\d.]+) %"', dot)}
    stacks = cairn.collapsed(recording[0])
    whole, told = sum(stacks.values()), {}
    for stack, value in stacks.items():
        keys = [(frame.name, Path(frame.file).name) for frame in stack if frame.file]
        for key in {*keys, *zip(keys, keys[1:])}:
            told[key] = told.get(key, 0) + 100 * value / whole
    known = [key for key in told if "." not in key[0]]
    assert len(lines) > 5 and len(boxes) == len(nodes) > 5
    for name, where, share in nodes.values():
        if where.endswith(".py") and [each[:2] for each in nodes.values()].count((name, where)) == 1:
            assert abs(share - told[name, where]) < 0.11, (name, share, told[name, where])
    alone = [pair for pair in lines if pair in told]
    assert len(alone) > 5 and known
    for pair in alone:
        assert lines[pair] < told[pair] + 0.11, (pair, lines[pair], told[pair])
    assert saved["PNG"].startswith(b"\x89PNG\r\n")
    drawn = ElementTree.fromstring(saved["SVG"])
    paths = drawn.findall("{http://www.w3.org/2000/svg}path")
    own = sum(a == b for a, b in re.findall(r"f(\d+) -> f(\d+)", dot))
    assert len(paths) == len(re.findall(r"f\d+ -> f\d+", dot)) - own


def test_callers_and_callees_are_those_of_the_report(cairn, recording, browser):
    top = max(cairn.report(recording[0])["rows"], key=lambda row: row["self_s"])
    told = cairn.report(recording[0], "--of", top["qualname"], "--idle")
    with opened(browser, make(cairn, recording[0]), "#tab=function&idle=1") as page:
        expect(page.locator("h2.title")).to_contain_text(re.compile(r"\w"))
        name = page.locator("h2.title").inner_text()
        if name != top["qualname"]:
            told = cairn.report(recording[0], "--of", f"^{re.escape(name)}$", "--idle")
        callers = table_rows(page, "Called by")
    total_s = told["rows"][0]["total_s"]
    wanted = sorted(100 * row["total_s"] / total_s for row in told["callers"])
    found = sorted(percent(row[0]) for row in callers)
    assert len(found) == len(wanted)
    assert all(abs(a - b) <= 0.51 for a, b in zip(found, wanted))


def test_everything_is_reached_by_keyboard(cairn, recording, browser):
    with opened(browser, make(cairn, recording[0])) as page:
        press = page.keyboard.press
        press("Tab")
        press("Tab")
        expect(tab(page, "Overview")).to_be_focused()
        press("ArrowRight")
        expect(tab(page, "Explore")).to_be_focused()
        tree = page.get_by_role("treegrid", name="Call tree")
        rows = tree.locator("tbody [role=row]")
        expect(rows.first).to_have_attribute("aria-expanded", "true")
        rows.first.focus()
        press("ArrowDown")
        expect(rows.nth(1)).to_be_focused()
        chosen = rows.nth(1).locator(".name").first.inner_text()
        press("f")
        expect(page.locator(".chip")).to_contain_text("focus")
        expect(page).to_have_url(re.compile("focus="))
        press("[")  # back undoes
        expect(page.locator(".chip")).to_have_count(0)
        expect(rows.nth(1)).to_be_visible()
        rows.nth(1).focus()
        press("Enter")
        expect(tab(page, "Function")).to_have_attribute("aria-selected", "true")
        expect(page.locator("h2.title")).to_have_text(chosen)
        press("[")
        expect(tab(page, "Explore")).to_have_attribute("aria-selected", "true")
        press("/")
        page.keyboard.type("spin")
        expect(page.locator("#table + p")).to_contain_text("hold")
        press("Tab")
        press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        press("Escape")
        expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_the_flame_graph_is_moved_and_zoomed_by_keyboard(cairn, recording, browser):
    with opened(browser, make(cairn, recording[0]), "#tab=explore") as page:
        graph = page.get_by_role("application")
        detail = page.locator("#flame-detail")
        graph.focus()
        page.keyboard.press("ArrowDown")
        expect(detail).to_have_text(re.compile(": all$"))  # it is drawn: the next goes on from there
        page.keyboard.press("ArrowDown")
        expect(detail).not_to_have_text(re.compile(": all$"))
        name = detail.locator(".name").inner_text()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("zoom="))
        first = page.get_by_role("treegrid").locator("tbody [role=row]").first
        expect(first).to_contain_text(name.split()[0])
        page.keyboard.press("Escape")
        expect(first).to_contain_text("all")
        expect(page).not_to_have_url(re.compile("zoom="))


def test_names_are_shown_and_not_obeyed(cairn, python, browser):
    file, ended = cairn.record(python, "hostile.py", 1.4)
    names = ended.last_json()["functions"]
    shell, _ = parts(make(cairn, file))
    assert shell.count("</script>") == 2 and "obeyed" not in shell
    with opened(browser, make(cairn, file), "#tab=explore") as page:
        texts = page.locator(".functions .function > bdi").all_text_contents()
        isolated = page.locator(".functions bdi").evaluate_all(
            "all => all.every((each) => getComputedStyle(each).unicodeBidi === 'isolate')")
        wide = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        threads = page.get_by_role("combobox", name="Thread", exact=True).locator("option").all_text_contents()
        obeyed = page.evaluate("window.obeyed")
    assert obeyed is None and isolated and wide
    assert any(text.startswith("</script>right\\u202eto\\x1b[31m ") for text in threads), threads
    wanted = [visible(name) for name in names if not name.startswith("invalid")]
    assert "right\\u202eto\\u2066left" in wanted and "null\\x00escape\\x1b[31m" in wanted
    assert set(wanted) <= set(texts)
    assert any(text.startswith("invalid") and "\ufffd" in text for text in texts)


def test_names_are_chosen_on_the_command_line_as_on_the_page(cairn, python, browser):
    """Also those that the page writes otherwise than they are."""
    file, ended = cairn.record(python, "hostile.py", 1.4)
    page_file = make(cairn, file)
    count = 0
    with opened(browser, page_file, "#tab=explore") as page:
        for number, function in enumerate(parts_of_functions(page_file)):
            if visible(function["qualname"]).isascii() and "\\" not in visible(function["qualname"]):
                continue
            page.evaluate("hash => { location.hash = hash; }", f"#tab=explore&function={number}")
            expect(page.locator(".selected")).to_be_visible()
            page.keyboard.press("f")
            words = shlex.split(page.locator("code.command").inner_text())
            shown_s = seconds(page.locator("#flame").inner_text().split(": ")[1])
            told = cairn.report(file, *words[2:])
            assert shown_s == pytest.approx(told["total_s"] - told["idle_s"], rel=0.006), function
            page.keyboard.press("x")
            expect(page.locator("code.command")).to_have_count(0)
            count += 1
    assert count >= 4


def axe():
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", WIDTHS, ids=lambda size: str(size[0]))
def test_it_fits_and_is_accessible(cairn, recording, browser, theme, size):
    file = make(cairn, recording[0], "--source")
    with opened(browser, file, color_scheme=theme, reduced_motion="reduce",
                viewport={"width": size[0], "height": size[1]}) as page:
        page.evaluate(axe())  # by the debugger, which no policy of the page holds back
        for name in TABS:
            tab(page, name).click()
            expect(tab(page, name)).to_have_attribute("aria-selected", "true")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            faults = page.evaluate("axe.run().then((found) => found.violations.map((each) => "
                                   "[each.id, each.nodes[0].html, each.nodes[0].failureSummary]))")
            assert faults == [], name
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != (
            "rgb(255, 255, 255)")
    assert dark == (theme == "dark")


def test_a_call_graph_larger_than_its_frame(cairn, folder, browser):
    """What has the focus is on the screen, and what is not drawn is told with the reason."""
    names = [f"f{i} (/u/a.py:{i})" for i in range(1, 701)]
    lines = [f"{';'.join(names[at:at + 20])} 10\n" for at in range(0, 700, 7)]
    (folder / "a.txt").write_text("".join(f"main (/u/a.py:900);{line}" for line in lines)
                                  + "main (/u/a.py:900);rare (/u/a.py:901) 1\n")
    file = make(cairn, folder / "a.txt")
    with opened(browser, file, "#tab=explore&shape=call+graph&cutoff=1") as page:
        expect(page.locator("svg.calls g")).to_have_count(150)
        said = page.locator("p.detail", has_text="The redder").text_content()
        page.locator("svg.calls").focus()
        seen = set()
        for _ in range(12):
            page.keyboard.press("Tab")
            frame, box = (page.locator(each).bounding_box() for each in ("svg.calls", "svg.calls g:focus"))
            assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"], box
            assert frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"], box
            seen.add(page.locator("svg.calls g:focus").get_attribute("aria-label"))
    assert len(seen) == 12
    assert "1 function below the cutoff" in said and "551 behind the first 150" in said, said


LONG = "a_function_whose_name_is_longer_than_a_box_of_the_call_graph_can_be_wide"


@pytest.mark.parametrize("names", ["short", "long"])
def test_boxes_of_the_call_graph_are_called_what_they_say(cairn, folder, browser, names):
    """Who speaks to the page says what is written in a box, and who hears it hears the whole name."""
    (folder / "a.txt").write_text("main (/u/a.py:1);main (/u/a.py:1) 30\nmain (/u/a.py:1) 20\n"
                                  f"main (/u/a.py:1);{LONG if names == 'long' else 'f'} (/u/a.py:9) 50\n")
    file = make(cairn, folder / "a.txt")
    with opened(browser, file, "#tab=explore&shape=call+graph") as page:
        expect(page.locator("svg.calls g")).to_have_count(2)
        page.evaluate(axe())
        found = page.evaluate("axe.run('svg.calls', {runOnly: ['label-content-name-mismatch']}).then("
                              "(found) => [found.violations, found.passes].map((each) => each.flatMap("
                              "({nodes}) => nodes.map(({html}) => html))))")
        labels = page.locator("svg.calls g").evaluate_all(
            "all => all.map((each) => each.getAttribute('aria-label'))")
    faults, passes = found
    assert faults == [] and len(passes) == 2, found
    assert names == "short" or any(LONG in label for label in labels), labels


@pytest.mark.parametrize("damage", ["foreign", "empty", "cut", "garbled", "folder", "pipe"])
def test_what_cannot_be_read_leaves_no_page(cairn, recording, folder, damage):
    whole = recording[0].read_bytes()
    bad = {"foreign": b"no recording\n" * 100, "empty": b"", "cut": whole[:20],
           "garbled": bytes(byte ^ 0x5A for byte in whole)}
    if damage == "folder":
        (folder / "bad.cairn").mkdir()
    elif damage == "pipe":
        os.mkfifo(folder / "bad.cairn")
    else:
        (folder / "bad.cairn").write_bytes(bad[damage])
    ended = cairn("html", "-o", "out.html", "bad.cairn", deadline_s=10).expect(123)
    assert not (folder / "out.html").exists()
    assert 1 <= len(ended.err.decode().splitlines()) <= 4
    if damage not in bad:
        assert f"a {damage}" in ended.talk


def test_a_page_that_is_there_stays_unless_told(cairn, recording, folder):
    cairn("html", recording[0]).expect()
    first = (folder / "report.html").read_bytes()
    ended = cairn("html", recording[0])
    assert ended.status == 125 and b"--force" in ended.err
    (folder / "bad.cairn").write_bytes(b"no recording")
    cairn("html", "--force", "bad.cairn").expect(123)
    assert (folder / "report.html").read_bytes() == first
    cairn("html", "--force", recording[0]).expect()
    assert (folder / "report.html").read_bytes() == first


def test_redacted_it_says_nothing_of_who_and_where(cairn, python, folder):
    home = folder / "home" / "zaphod"
    (home / "secret-project").mkdir(parents=True)
    script = home / "secret-project" / "work.py"
    script.write_text("import threading, time\n"
                      "def zaphod_s_own(until):\n"
                      "    while time.monotonic() < until: pass\n"
                      "def work(until):\n"
                      f"    '''{'a line of source'}'''\n"
                      "    while time.monotonic() < until: pass\n"
                      "t = threading.Thread(target=work, args=[time.monotonic() + .3], "
                      "name='zaphod at work')\n"
                      "t.start(); t.join()\n")
    env = {"HOME": str(home), "SECRET_TOKEN": "s3cr3t-t0k3n"}
    cairn("run", "-o", folder / "run.cairn", "--", python.executable, script, "--password=hunter2",
          env=env).expect()
    open_page = parts(make(cairn, folder / "run.cairn"))[1]
    page = make(cairn, folder / "run.cairn", "--redact", name="shared.html")
    shared = parts(page)[1]
    told, kept = json.dumps(open_page), json.dumps(shared) + parts(page)[0]
    for word in (str(home), "hunter2", "secret-project"):
        assert word in told and word not in kept
    assert open_page["recording"]["environment"] and not shared["recording"]["environment"]
    for word in ("s3cr3t", "a line of source"):
        assert word not in told and word not in kept
    assert "work.py" in kept and shared["redacted"]
    ended = cairn("html", "--redact", "--source", "-o", "no.html", folder / "run.cairn")
    assert ended.status == 122 and not (folder / "no.html").exists()


def test_source_is_there_only_when_asked_for(cairn, recording):
    _, plain = parts(make(cairn, recording[0]))
    _, asked = parts(make(cairn, recording[0], "--source"))
    assert plain["source"] is None
    lines = (harness.TARGETS / "states.py").read_text().splitlines()
    found = 0
    for function, source in zip(asked["functions"], asked["source"]):
        if source and asked["strings"][function[1]].endswith("states.py"):
            first, *texts = source[0], *("".join(piece[1:] for piece in line) for line in source[1:])
            assert texts == lines[first - 1:first - 1 + len(texts)]
            found += 1
    assert found > 0


READING = """
import argparse, io, json, textwrap, time, tokenize
text = open(tokenize.__file__).read()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    list(tokenize.generate_tokens(io.StringIO(text[:6000]).readline))
    parser = argparse.ArgumentParser(description=text[:2000])
    for i in range(9):
        parser.add_argument(f"--name{i}", type=int, default=i, help="a number")
    parser.parse_args(["--name1", "3"])
    parser.format_help()
    json.dumps({"a": [1, {"b": text[:500]}]}, indent=1)
    textwrap.fill(text[:3000])
"""


def kinds_of(text):
    """What Python's own tokenizer says that each character is."""
    kinds, begins = [["p"] * len(line) for line in text.split("\n")], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind, start = {tokenize.STRING: "s", tokenize.COMMENT: "c"}.get(token.type, "p"), token.start
        name = tokenize.tok_name[token.type]  # from 3.12 on an f-string is many tokens
        if name.endswith("STRING_START"):
            begins.append(start)
        if name.endswith("STRING_END"):
            kind, start = "s", begins.pop()
        if token.type == tokenize.NAME and keyword.iskeyword(token.string):
            kind = "k"
        for line in range(start[0], token.end[0] + 1) if kind != "p" else ():
            row = kinds[line - 1]
            first = start[1] if line == start[0] else 0
            last = token.end[1] if line == token.end[0] else len(row)
            row[first:last] = kind * (last - first)
    return kinds


def test_source_is_highlighted_as_python_reads_it(cairn, folder, browser):
    """Keywords, texts and comments of the standard library, which Python's tokenize tells as well."""
    script = folder / "reading.py"
    script.write_text(READING)
    file = folder / "run.cairn"
    cairn("run", "--rate", "5khz", "--report", "none", "-o", file, "--", sys.executable, script).expect()
    page_file = make(cairn, file, "--source")
    _, data = parts(page_file)
    seen, functions = set(), 0
    for function, source in zip(data["functions"], data["source"]):
        path = data["strings"][function[1]]
        if not source or not path.startswith("/"):
            continue
        text = Path(path).read_text()
        lines, kinds = text.split("\n"), kinds_of(text)
        for at, pieces in enumerate(source[1:], source[0] - 1):
            told = "".join(piece[0] * len(piece[1:]) for piece in pieces)
            shown = "".join(piece[1:] for piece in pieces)
            assert shown == lines[at].rstrip()
            wanted = "".join(kinds[at])[:len(told)]
            assert [k for k, c in zip(told, shown) if not c.isspace()] == [
                k for k, c in zip(wanted, shown) if not c.isspace()], (path, at + 1, shown)
            seen |= {*told}
        functions += 1
    assert functions > 15 and seen == {*"pksc"}, (functions, seen)
    with opened(browser, page_file) as page:
        page.keyboard.press("Enter")
        expect(page.locator("#lines ~ * code i.k").first).to_be_visible()
        colours = page.evaluate("['.k', '.s', '.p'].map((kind) => getComputedStyle(document.querySelector("
                                "`.lines ${kind}`) ?? document.body).color)")
        assert colours[0] != colours[2]


def test_it_is_the_same_every_time_and_holds_what_zlib_reads(cairn, recording):
    first, again = make(cairn, recording[0]), make(cairn, recording[0], name="again.html")
    assert first.read_bytes() == again.read_bytes()
    text = re.search(r'id="data">([^<]*)<', first.read_text())[1]
    assert zlib.decompress(base64.b64decode(text), 31)


def test_a_deep_stack_is_drawn(cairn, python, browser):
    file, _ = cairn.record(python, "deep.py")
    with opened(browser, make(cairn, file), "#tab=explore") as page:
        expect(page.get_by_role("treegrid").locator("tbody [role=row]").first).to_be_visible()
        page.get_by_role("application").focus()
        for _ in range(40):
            page.keyboard.press("ArrowDown")
        expect(page.locator("#flame-detail .name")).to_be_visible()


def test_the_pictures_in_the_documents_are_of_this_page():
    harness.execute(["python3", "tools/screenshots.py", ".", "--check"],
                    cwd=harness.TARGETS.parents[1]).expect()

"""`cairn html`: one page, which needs nothing but itself, shows what the report tells, to whoever
looks, listens or types, and obeys no name."""
import base64
import contextlib
import gzip
import json
import os
import re
import zlib
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

import harness

CHROMIUMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
PATIENCE_MS = 60_000  # a machine with other work on it; nothing waits so long otherwise
METRICS = ["wall", "cpu", "gil", "gil-wait", "runq", "blocked"]
SHELL_MAX_BYTES = 45 << 10
WIDTHS = [(320, 700), (1280, 800), (3840, 2160)]
TABS = ["Overview", "Explore", "Function", "Compare"]


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    """Threads and states enough that a sum put in the wrong place would show."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("html"))
    file, ended = cairn.record(python, "states.py", 0.8)
    return file, ended.last_json()


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
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', shell)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and "unsafe" not in policy
    assert re.fullmatch(r"'sha256-[\w+/=]{44}'", rules["script-src"])
    assert not re.search(r"(?:https?:)?//(?!www\.w3\.org/)[\w.]+/", shell.split("<script>")[0])
    assert data["schema"] == 1


@pytest.mark.parametrize("metric", METRICS)
def test_its_sums_are_those_of_the_report(cairn, recording, metric):
    _, data = parts(make(cairn, recording[0]))
    told = next(each for each in data["metrics"] if each["name"] == metric)
    report = cairn.report(recording[0], "--metric", metric)
    assert told["known"] == report["known"]
    threads, _, _, times, idle = told["cells"]
    if report["known"]:
        assert sum(times) == round(report["total_s"] * 1e9)
        assert sum(idle) == round(report["idle_s"] * 1e9)
        assert set(threads) <= set(range(len(data["threads"])))


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
        assert "focus=" in page.url
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
        graph.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        detail = page.locator("#flame-detail")
        expect(detail).to_contain_text("self")
        name = detail.locator(".name").inner_text()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("zoom="))
        first = page.get_by_role("treegrid").locator("tbody [role=row]").first
        expect(first).to_contain_text(name.split()[0])
        page.keyboard.press("Escape")
        expect(first).to_contain_text("all")
        assert "zoom=" not in page.url


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
        obeyed = page.evaluate("window.obeyed")
    assert obeyed is None and isolated and wide
    wanted = [visible(name) for name in names if not name.startswith("invalid")]
    assert "right\\u202eto\\u2066left" in wanted and "null\\x00escape\\x1b[31m" in wanted
    assert set(wanted) <= set(texts)
    assert any(text.startswith("invalid") and "\ufffd" in text for text in texts)


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


@pytest.mark.parametrize("damage", ["foreign", "empty", "cut", "garbled"])
def test_what_cannot_be_read_leaves_no_page(cairn, recording, folder, damage):
    whole = recording[0].read_bytes()
    bad = {"foreign": b"no recording\n" * 100, "empty": b"", "cut": whole[:20],
           "garbled": bytes(byte ^ 0x5A for byte in whole)}[damage]
    (folder / "bad.cairn").write_bytes(bad)
    ended = cairn("html", "-o", "out.html", "bad.cairn", deadline_s=10).expect(123)
    assert not (folder / "out.html").exists()
    assert 1 <= len(ended.err.decode().splitlines()) <= 4


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
            first, *texts = source
            assert texts == lines[first - 1:first - 1 + len(texts)]
            found += 1
    assert found > 0


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

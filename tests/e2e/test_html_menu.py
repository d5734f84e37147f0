"""One menu on every box, row, lane and line of the page, by pointer and by keyboard; and what is
drawn on its canvases, held against logs of it."""
import base64
import gzip
import json
import os
import re

import pytest
from playwright.sync_api import expect
from test_html import axe, browser, make, opened, parts, seconds  # noqa: F401: a fixture
from test_html_counts import recordings  # noqa: F401: a fixture

import harness

GOLDEN = harness.ROOT / "tests" / "golden" / "drawn"
VERBS = {"Focus", "Filter", "Drill", "Copy"}


def verbs(page):
    items = page.get_by_role("menuitem").all_inner_texts()
    return {item.partition(":")[0].split()[0] for item in items}


def number_of(file, name):
    _, data = parts(file)
    return next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == name
                and data["strings"][row[1]].endswith("paged.py"))


@pytest.fixture(scope="module")
def page_file(recordings):  # noqa: F811
    return make(harness.Cairn(recordings["all"].parent), recordings["all"])


PLACES = {
    "#tab=explore": {"row of the table": "#table ~ * tbody tr >> nth=3",
                     "row of the tree": "[role=treegrid] tbody tr >> nth=2",
                     "box of the flame graph": "section:has(#flame) canvas",
                     "call in time": "canvas.call-chart"},
    "#tab=explore&shape=call+graph": {"box of the call graph": "svg.calls g >> nth=1"},
    "#": {"top function": "#top ~ * tbody tr >> nth=0", "line": "#hot-lines ~ * tbody tr >> nth=0"},
    "#tab=function&function={fib}": {"caller": "#callers ~ * tbody tr >> nth=0",
                                     "line": "#lines ~ * tbody tr >> nth=0",
                                     "instruction": "table.opcodes tbody tr >> nth=2"},
}


@pytest.mark.parametrize("hash", PLACES)
def test_everything_has_the_menu(page_file, browser, hash):  # noqa: F811
    with opened(browser, page_file, hash.format(fib=number_of(page_file, "fib"))) as page:
        for where, selector in PLACES[hash].items():
            place = page.locator(selector)
            place.evaluate("""element => {
                const box = element.localName === 'canvas' ? element.parentElement : element;
                box.scrollTop = 0;
                box.scrollIntoView({ block: 'center' });
            }""")
            box = place.bounding_box()
            # Of a canvas a row that is wide: of the flame graph what is below all, of the chart
            # what is below the regions.
            x, y = (20, 8) if "canvas" not in selector else (
                box["width"] * 0.8, 22 if "chart" in selector else 30)
            page.mouse.move(box["x"] + x, box["y"] + y)
            page.mouse.click(box["x"] + x, box["y"] + y, button="right")
            expect(page.get_by_role("menu")).to_be_visible()
            assert verbs(page) == VERBS, where
            page.keyboard.press("Escape")
            expect(page.get_by_role("menu")).to_have_count(0)


def test_lanes_and_regions_have_it_too(page_file, browser):  # noqa: F811
    _, data = parts(page_file)
    with opened(browser, page_file, "#tab=explore") as page:
        page.locator("#regions ~ * tbody tr").first.click(button="right")
        assert verbs(page) >= {"Copy"}
        page.keyboard.press("Escape")
        if data["slices"]["count"] > 1:
            page.locator(".lane-names li").first.click(button="right")
            assert verbs(page) >= {"Focus", "Drill", "Copy"}


def test_states_have_it_too(page_file, browser):  # noqa: F811
    """What a thread was in is a metric: of that alone, everywhere; phases are none."""
    with opened(browser, page_file, "#metric=wall") as page:
        state = page.locator(".legend li", has_text="running").first
        state.focus()
        page.keyboard.press(".")
        assert verbs(page) == {"Filter", "Drill", "Copy"}
        assert page.locator(".menu p").inner_text() == "running"
        page.get_by_role("menuitem", name="Filter: only this state").click()
        expect(page.get_by_label("Metric")).to_have_value("cpu")
        page.go_back()
        expect(page.get_by_label("Metric")).to_have_value("wall")
        assert page.locator(".legend li", has_text="program").first.get_attribute("data-menu") is None


def test_lines_of_the_call_graph_and_marks_have_it_too(page_file, browser):  # noqa: F811
    """A line is of what it leads to; a mark is of its thread, and of its moment."""
    _, data = parts(page_file)
    with opened(browser, page_file, "#tab=explore&shape=call+graph") as page:
        line = page.locator("svg.calls path").first
        callee = line.locator("title").text_content().partition(" calls ")[2].partition(":")[0]
        line.dispatch_event("contextmenu")
        assert verbs(page) == VERBS
        assert page.locator(".menu p").inner_text().endswith(f"({callee})")
        page.keyboard.press("Escape")
        page.goto(page.url.partition("#")[0] + "#tab=explore")
        page.locator("summary", has_text="mark").click()
        mark = page.locator("details:has(summary:has-text('mark')) tbody tr").first
        assert mark.evaluate("at => at.tabIndex") == 0
        mark.click(button="right")
        assert verbs(page) >= {"Focus", "Drill", "Copy"}
        name = data["threads"][data["marks"][0][1]]["name"]
        assert page.locator(".menu p").inner_text().startswith(name)
        page.get_by_role("menuitem", name="Filter: only this time").click()
        slices, at = data["slices"], data["marks"][0][2]
        start = int(re.search(r"[&#]from=(\d+)", page.url)[1])
        assert abs(slices["first_ns"] + start * slices["width_ns"] - at) <= slices["width_ns"]


def test_what_holds_no_link_is_reached_by_keyboard(page_file, browser):  # noqa: F811
    """Regions, lanes and lines of the source: each is a stop of its own, with the same menu."""
    _, data = parts(page_file)
    with opened(browser, page_file, "#tab=explore") as page:
        stops = [page.locator("#regions ~ * tbody tr").first]
        if data["slices"]["count"] > 1:
            stops.append(page.locator(".lane-names li").first)
        for stop in stops:
            assert stop.evaluate("at => at.tabIndex") == 0
            stop.focus()
            page.keyboard.press(".")
            assert verbs(page) >= {"Copy"}
            page.keyboard.press("Escape")
            expect(stop).to_be_focused()
        page.locator("[role=treegrid] tbody tr").first.focus()  # one stop, as the tree's keys go on
        assert page.locator("[role=treegrid] tbody tr[tabindex='0']").count() == 1
        assert page.locator("#flame").locator("xpath=ancestor::section").locator(
            "canvas").first.evaluate("at => at.tabIndex") == 0


def test_by_keyboard_where_and_why_are_three_steps(page_file, browser):  # noqa: F811
    """From the first view to the function's lines, and what is filtered undone by Back."""
    with opened(browser, page_file) as page:
        row = page.locator("#top ~ * tbody tr").first
        name = re.search(r"\((.*)\)", row.locator(".name").inner_text())[1]
        row.get_by_role("link").focus()
        page.keyboard.press(".")  # 1: the menu of the row
        expect(page.get_by_role("menuitem").first).to_be_focused()
        page.keyboard.press("d")
        expect(page.get_by_role("menuitem", name="Drill").first).to_be_focused()
        page.keyboard.press("Enter")  # 2: the function
        expect(page.locator("h2.title")).to_have_text(name)
        expect(page.locator("#lines")).to_be_visible()
        page.keyboard.press(".")  # the function that is looked at
        expect(page.get_by_role("menuitem").first).to_be_focused()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".chip")).to_contain_text("hide")
        assert page.locator("code.command").inner_text().startswith(
            "cairn report --metric counted --ignore ")
        page.go_back()
        expect(page.locator(".chip")).to_have_count(0)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Focus, Filter, Drill, Copy")


def test_what_is_chosen_is_copied_as_a_command(page_file, browser, cairn, recordings):  # noqa: F811
    with opened(browser, page_file, "#tab=explore", permissions=["clipboard-read",
                                                                 "clipboard-write"]) as page:
        page.locator("#table ~ * tbody tr", has_text="(fib)").click(button="right")
        page.get_by_role("menuitem", name="Copy as command").click()
        expect(page.locator(".said")).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        page.locator("#table ~ * tbody tr", has_text="(fib)").click(button="right")
        page.get_by_role("menuitem", name="Focus").click()
        assert page.locator("code.command").inner_text() == copied
        page.get_by_role("button", name="Copy as command").click()
        assert page.evaluate("navigator.clipboard.readText()") == copied
        shown = page.locator("#flame").inner_text()
    words = re.findall(r"'[^']*'|\S+", copied)
    told = cairn("report", "--json", *[word.strip("'") for word in words[2:]],
                 recordings["all"]).expect().json()  # fmt: skip
    assert 0 < told["total_s"] and "fib" in copied
    wanted_s = told["total_s"]
    assert abs(seconds(shown.split(": ")[1]) - wanted_s) <= 0.006 * wanted_s, (shown, wanted_s)


def test_the_menu_is_accessible(page_file, browser):  # noqa: F811
    with opened(browser, page_file, "#tab=explore", reduced_motion="reduce",
                viewport={"width": 320, "height": 700}) as page:
        page.evaluate(axe())
        page.locator("[role=treegrid] tbody tr").nth(2).focus()
        page.keyboard.press(".")
        expect(page.get_by_role("menu")).to_be_visible()
        box = page.locator(".menu").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 320
        faults = page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found"
                               ".violations.map((each) => [each.id, each.nodes[0].html]))")
        assert faults == []


# --- what is drawn ---

RECORDER = """
window.drawn = {};
const asIs = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind) {
  const canvas = this, surface = asIs.call(this, kind);
  const number = (value) => typeof value === 'number' ? Math.round(value * 10) / 10 : value;
  return new Proxy(surface, {
    get(_, name) {
      if (name === 'measureText') return (text) => ({ width: 7 * text.length });
      if (typeof surface[name] !== 'function') return surface[name];
      return (...args) => {
        const key = canvas.className || canvas.getAttribute('role') || 'saved';
        if (name === 'clearRect') window.drawn[key] = [];
        (window.drawn[key] ??= []).push([name, ...args.map(number)].join(' '));
        return surface[name](...args);
      };
    },
    set(_, name, value) {
      const key = canvas.className || canvas.getAttribute('role') || 'saved';
      if (name !== 'font') (window.drawn[key] ??= []).push(`${name} = ${number(value)}`);
      surface[name] = value;
      return true;
    },
  });
};
"""

STACKS = """main (/app/main.py:3);load (/app/main.py:10);read (/app/io.py:4) 400
main (/app/main.py:3);load (/app/main.py:10);parse (/app/io.py:9) 250
main (/app/main.py:3);work (/app/main.py:20) 200
main (/app/main.py:3);work (/app/main.py:20);work (/app/main.py:22) 100
main (/app/main.py:3);work (/app/main.py:20);tiny (/app/main.py:30) 1
"""
# As the JSON trace format has them: two threads, calls within each other, gaps.
EVENTS = [(1, "main", 0, 6400), *[(1, "read", at, 60) for at in range(0, 3200, 100)],
          *[(1, "work", at, 90) for at in range(3200, 6400, 100)],
          *[(2, "serve", at, 50) for at in range(1000, 5000, 100)]]
# Thread, stack, moment, length of calls; text, thread, moment, length of regions.
CALLS = [(0, ["main"], 0, 1000), (0, ["main", "load"], 0, 600), (0, ["main", "load", "read"], 50, 300),
         (0, ["main", "load", "parse"], 400, 190), (0, ["main", "work"], 700, 250),
         (0, ["main", "work"], 951, 1), (0, ["main", "work"], 952, 1)]
REGIONS = [(0, 0, 0, 650), (1, 0, 100, 300), (1, 0, 660, 300)]


def add_calls(file):
    """A timeline in the page, since times of a real one are never the same."""
    _, data = parts(file)
    names = [data["strings"][row[0]] for row in data["functions"]]

    def stack_of(node):
        frame = data["nodes"][2 * node + 1]
        above = stack_of(data["nodes"][2 * node]) if node else []
        return [*above, names[data["frames"][2 * frame]]] if node else []

    nodes = {}
    for node in range(1, len(data["nodes"]) // 2):
        nodes.setdefault(tuple(stack_of(node)), node)
    data["timeline"] = [n for thread, stack, first, length in CALLS
                        for n in (thread, nodes[tuple(stack)], first, length)]
    data.update(timeline_calls=len(CALLS), bands=REGIONS, texts=["batch", "step"])
    packed = base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()
    file.write_text(re.sub(r'(id="data">)[^<]*', lambda match: match[1] + packed,
                           file.read_text(), count=1))
    return file


def drawn(browser, file, hash, key, saved=None):  # noqa: F811
    """The log of the last drawing on a canvas, by its role or class."""
    context = browser.new_context(viewport={"width": 1000, "height": 800}, color_scheme="light",
                                  device_scale_factor=1)
    context.set_default_timeout(60_000)
    context.add_init_script(RECORDER)
    page = context.new_page()
    page.goto(file.as_uri() + hash)
    page.get_by_role("tab", name="Overview").wait_for()
    if saved:
        with page.expect_download():
            page.get_by_role("button", name=saved, exact=True).click()
    # Before it knows how wide it is it draws on nothing.
    page.wait_for_function("(key) => window.drawn[key]?.length > 3"
                           " && !window.drawn[key][0].startsWith('clearRect 0 0 0')", arg=key)
    log = page.evaluate("(key) => window.drawn[key]", key)
    context.close()
    return "\n".join(log) + "\n"


@pytest.mark.parametrize("name, hash, key, saved", [
    ("icicle", "#tab=explore", "application", None),
    ("flame", "#tab=explore&shape=flame", "application", None),
    ("sunburst", "#tab=explore&shape=sunburst", "application", None),
    ("callgraph", "#tab=explore&shape=call+graph", "saved", "PNG"),
    ("timeline", "#tab=explore", "img", None), ("calls", "#tab=explore", "call-chart", None)])
def test_what_is_drawn_is_what_was_drawn(cairn, browser, folder, name, hash, key, saved):  # noqa: F811
    """Every rectangle, line and word; a change that is meant: CAIRN_GOLDEN=write."""
    if name == "timeline":
        (folder / "in").write_text(json.dumps([
            {"ph": "X", "pid": 1, "tid": tid, "name": call, "ts": first, "dur": length}
            for tid, call, first, length in EVENTS]))
    else:
        (folder / "in").write_text(STACKS)
    file = make(cairn, folder / "in")
    log = drawn(browser, add_calls(file) if name == "calls" else file, hash, key, saved)
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("CAIRN_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(log)
    assert log == golden.read_text()

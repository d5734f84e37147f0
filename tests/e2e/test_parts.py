"""`cairn view` of a recording with too many stacks to hold them slice by slice: for a part of the
time its page asks the server, and shows what a report on that part says."""
import base64
import gzip
import json
import re
import struct
import subprocess

import pytest
from playwright.sync_api import expect

import harness
from test_html import browser, percent, seconds, tab, table_rows  # noqa: F401: a fixture
from test_view import check_headers, page_of, serving

SAMPLES = 1_000_000
SLICES = 64
STATES = 6  # columns of an answer below that are states
IDLE = STATES  # the one that is waiting for work


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """As the bench makes it, and some of it is waiting for work: 200,000 stacks, 16 threads, a minute of
    samples at 1 kHz."""
    build = harness.ROOT / "build"
    subprocess.run(["meson", "compile", "-C", build, "large_recording"], check=True, timeout=300,
                   stdout=subprocess.DEVNULL)
    file = tmp_path_factory.mktemp("large") / "large.cairn"
    subprocess.run([build / "bench" / "large_recording", file, str(SAMPLES), "waiting"], check=True,
                   timeout=300)
    return file


def data_of(page_bytes):
    packed = re.search(rb'id="data">([^<]*)<', page_bytes)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def flags_of(slices, begin, end):
    """The part's ends as the page tells them for the command line."""
    return [f"--{name}={slices['first_ns'] + at * slices['width_ns']}ns"
            for name, at in (("from", begin), ("to", end))]


def columns_of(body):
    """The sums of an answer's columns, as html_block.h says how it is written."""
    entries, apart = struct.unpack_from("<2I", body)
    far = iter(struct.unpack_from(f"<{apart}d", body, 8))
    values = struct.unpack_from(f"<{entries}I", body, 8 + 8 * apart)
    heads = body[8 + 8 * apart + 4 * entries:]
    assert len(heads) == entries
    sums = {}
    for head, value in zip(heads, values):
        if head >> 3 == 31:
            next(far)
        sums[head & 7] = sums.get(head & 7, 0) + (int(next(far)) if value == 2**32 - 1 else value)
    assert next(far, None) is None
    return sums


def test_a_part_of_the_time_is_asked_for(cairn, large, browser):  # noqa: F811
    with serving(cairn, large) as view:
        data = data_of(view.ask(Cookie=view.cookie)[1])
        slices = data["slices"]
        assert slices["count"] == SLICES and data["lanes"]
        for begin, end in ((10, 14), (0, 1), (3, 61), (63, 64), (0, SLICES)):
            path = f"/api/part?version=1&from={begin}&to={end}"
            joined = columns_of(view.ask(path, Cookie=view.cookie)[1])
            answer, body = view.ask(path + "&states=1", Cookie=view.cookie)
            assert answer.status == 200 and answer.headers["Content-Type"] == "application/octet-stream"
            check_headers(answer)
            columns = columns_of(body)
            assert {*columns} <= {*data["asked"]} and len(columns) > 2 and columns[IDLE] > 0
            total = sum(columns.get(column, 0) for column in range(STATES))
            assert joined == {data["asked"][0]: total, IDLE: columns[IDLE]}
            told = cairn.report(large, *flags_of(slices, begin, end))
            assert total == round(told["total_s"] * 1e9), (begin, end)
            lanes = sum(sum(column[begin:end]) for lane in data["lanes"]
                        for column in lane[1:1 + STATES])
            assert lanes == total
        for wrong in ("from=0&to=65", "from=5&to=5", "from=-1&to=3", "from=a&to=3", "from=1",
                      "to=3&from=1", "from=1&to=3&x=1", "from=1&to=3&states=0", "from=1&to=3&states=1&states=1", "from=1&to=99999999999999999999"):
            assert view.status(f"/api/part?version=1&{wrong}", Cookie=view.cookie) == 404, wrong
        assert view.status("/api/part?version=2&from=1&to=3", Cookie=view.cookie) == 404
        assert view.status("/api/part?version=1&from=1&to=3") == 403
        with page_of(browser, view.link) as page:
            tab(page, "Explore").click()
            page.evaluate("() => { location.hash = 'tab=explore&from=10&to=14'; }")
            shown_is(cairn, page, large, flags_of(slices, 10, 14))
            page.evaluate("() => { location.hash = 'tab=explore&from=30&to=62&metric=runq'; }")
            shown_is(cairn, page, large, [*flags_of(slices, 30, 62), "--metric=runq"])
            page.evaluate("() => { location.hash = 'tab=explore&from=30&to=62&focus=function_1.7'; }")
            shown_is(cairn, page, large, [*flags_of(slices, 30, 62), "--focus=function_1.7"])
            page.evaluate("() => { location.hash = 'tab=explore&from=10&to=14&hide=function_..20'; }")
            shown_is(cairn, page, large, [*flags_of(slices, 10, 14), "--ignore=function_..20"])
            page.evaluate("() => { location.hash = 'from=10&to=14'; }")
            states_are(cairn, page, large, flags_of(slices, 10, 14))
            page.evaluate("() => { location.hash = 'tab=explore'; }")
            shown_is(cairn, page, large, [])


@pytest.mark.parametrize("change", ["tab=overview&from=10&to=14", "tab=explore&from=10&to=14&metric=cpu"])
def test_while_a_part_is_on_its_way_no_other_time_is_shown(cairn, large, browser, change):  # noqa: F811
    """Of a part that is there without its states: the page goes on to show what it showed, dimmed."""
    held, holds = [], []
    with serving(cairn, large) as view, page_of(browser, view.link) as page:
        tab(page, "Explore").click()
        page.evaluate("() => { location.hash = 'tab=explore&from=10&to=14'; }")
        slices = data_of(view.ask(Cookie=view.cookie)[1])["slices"]
        shown_is(cairn, page, large, flags_of(slices, 10, 14))
        before = page.locator("#panel").inner_text()
        page.route("**/api/part?*", lambda route: held.append(route) if holds else route.continue_())
        holds.append(True)
        page.evaluate(f"() => {{ location.hash = '{change}'; }}")
        expect(page.locator("#panel")).to_have_attribute("aria-busy", "true")
        expect(page.locator("#panel")).to_have_css("opacity", "0.5")
        assert page.locator("#panel").inner_text() == before
        while held:
            held.pop().continue_()
        holds.clear()
        if "cpu" in change:
            shown_is(cairn, page, large, [*flags_of(slices, 10, 14), "--metric=cpu"])
        else:
            states_are(cairn, page, large, flags_of(slices, 10, 14))
        expect(page.locator("#panel")).to_have_css("opacity", "1")


def test_a_page_opened_at_a_part_shows_nothing_until_it_is_there(cairn, large, browser):  # noqa: F811
    held = []
    with serving(cairn, large) as view, page_of(browser, view.link) as page:
        slices = data_of(view.ask(Cookie=view.cookie)[1])["slices"]
        page.route("**/api/part?*", lambda route: held.append(route))
        page.evaluate("() => { location.hash = 'tab=explore&from=10&to=14'; location.reload(); }")
        panel = page.locator("#panel")
        expect(panel).to_have_attribute("aria-busy", "true")
        expect(panel).to_have_css("clip-path", "inset(50%)")
        while held:
            held.pop().continue_()
        shown_is(cairn, page, large, flags_of(slices, 10, 14))
        expect(panel).to_have_css("clip-path", "none")


def test_slices_that_are_there_are_added_up_in_the_page(cairn, large, browser):  # noqa: F811
    """They come one after the other once Explore is looked at: then the server is asked no more."""
    with serving(cairn, large) as view, page_of(browser, view.link) as page:
        slices = data_of(view.ask(Cookie=view.cookie)[1])["slices"]
        tab(page, "Explore").click()
        page.wait_for_function(f"""() => performance.getEntriesByType('resource').filter(
            (each) => each.name.includes('api/part')).length === {SLICES}""")
        page.route("**/api/part?*", lambda route: route.abort())
        for begin, end in ((10, 14), (0, 1), (3, 61)):
            page.evaluate(f"() => {{ location.hash = 'tab=explore&from={begin}&to={end}'; }}")
            shown_is(cairn, page, large, flags_of(slices, begin, end))
        page.evaluate("() => { location.hash = 'tab=explore&from=30&to=62&focus=function_1.7'; }")
        shown_is(cairn, page, large, [*flags_of(slices, 30, 62), "--focus=function_1.7"])
        expect(page.get_by_role("alert")).to_have_count(0)


def states_are(cairn, page, file, flags):
    """The bar of states is the report's: the page has asked for each of them."""
    expect(page.locator("#panel")).to_have_attribute("aria-busy", "false")
    expect(page.locator("code.command")).to_contain_text(flags[1].replace("=", " "))
    told = cairn.report(file, "--idle", *flags)["states"]
    told = {name.removesuffix("_s"): value for name, value in told.items() if value}
    assert len(told) > 1
    section = page.locator("section", has=page.locator("#states"))
    for name, value in told.items():
        text = section.locator("li", has_text=name).text_content()
        assert seconds(text.split("%")[1]) == pytest.approx(value, rel=0.006), text


def shown_is(cairn, page, file, flags):
    """The rows of the table are the report's, to the last digit shown."""
    told = cairn.report(file, "--limit=10", *flags)
    command = page.locator("code.command")
    if flags:
        expect(command).to_contain_text(flags[1].replace("=", " "))
    else:
        expect(command).to_have_count(0)
    expect(page.locator("#panel")).to_have_attribute("aria-busy", "false")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)  # lists follow a frame later
    first = told["rows"][0]
    expect(page.locator(".functions tbody tr").first).to_contain_text(first["qualname"])
    seconds = sum(row["self_s"] for row in told["rows"])
    assert seconds > 0
    for row, shown in zip(told["rows"], table_rows(page, "Functions")):
        assert row["qualname"] in shown[-1], (row, shown)
        assert percent(shown[0]) == pytest.approx(100 * row["self_share"], abs=0.051)
        assert percent(shown[2]) == pytest.approx(100 * row["total_share"], abs=0.51)

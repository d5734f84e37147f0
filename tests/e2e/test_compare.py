"""The page's view Compare: two recordings, or two threads of one, say what `cairn diff` says."""
import re

import pytest
from playwright.sync_api import expect
from test_diff import need_alike
from test_html import browser, make, opened, parts, seconds, tab  # noqa: F401: a fixture
from test_view import serving

import harness


@pytest.fixture(scope="module")
def runs(python, tmp_path_factory):
    """Two runs of one thing, and one of twice as much."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("compare"))
    files = {}
    for name, seconds in (("one", 0.8), ("again", 0.8), ("two", 1.6)):
        files[name] = cairn.folder / f"{name}.cairn"
        ended = cairn("run", "--report", "none", "-o", files[name], "--python", python.executable,
                      harness.TARGETS / "states.py", seconds).expect()
        cairn.need_sight(files[name], ended)
    return files


def changes(page):
    """{function and file: cells of its row}"""
    rows = page.locator("table.changes tbody tr")
    rows.first.wait_for()
    more = page.get_by_role("button", name="Show more")
    while more.count():
        more.click()
    cells = rows.evaluate_all("rows => rows.map((row) => [...row.cells].map((cell) => cell"
                              ".textContent).concat([...row.querySelectorAll('.name')]"
                              ".map((name) => name.textContent)))")
    return {(row[6], row[7].partition(":")[0]): row[:5] for row in cells}


def own(shown, name):
    return shown[name, "states.py"]


@pytest.mark.parametrize("after", ["again", "two"])
def test_two_recordings_differ_as_diff_says(cairn, runs, browser, after):
    if after == "again":
        need_alike(cairn, runs["one"], runs["again"])
    file = make(cairn, runs[after], "--before", runs["one"])
    document = cairn("diff", "--json", "--tolerance", "0", runs["one"], runs[after]).json()
    with opened(browser, file, "#tab=compare&scale=time") as page:
        shown = changes(page)
    keys = [(row["qualname"], row["file"].rpartition("/")[2]) for row in document["rows"]]
    compared = [(key, row) for key, row in zip(keys, document["rows"])
                if row["compared"] and row["file"] and keys.count(key) == 1]
    assert len(compared) > 4
    for key, row in compared:
        left, right, change, total, verdict = shown[key]
        for text, wanted_s in ((left, row["self"]["before"]), (right, row["self"]["after"]),
                               (change, row["self"]["change"]), (total, row["total"]["change"])):
            assert abs(seconds(text) - wanted_s) < 0.0006 + 0.006 * abs(wanted_s), (row, text)
        judged = "same" not in (row["self"]["verdict"], row["total"]["verdict"])
        if judged:
            assert verdict.split(",")[0] == ("more" if row["total"]["change"] > 0 else "less"), row
    for name in ("spin", "sleep_through", "wait_for_lock"):
        verdict = own(shown, name)[4]
        assert verdict == ("more" if after == "two" else "not distinguishable"), (name, verdict)


def test_threads_of_one_recording_are_held_against_each_other(cairn, runs, browser):
    with opened(browser, make(cairn, runs["one"]), "#tab=compare") as page:
        left, right = page.get_by_label("Left"), page.get_by_label("Right")
        titles = left.locator("option").all_inner_texts()
        busy, sleeper = (next(title for title in titles if f"thread {name} " in title)
                         for name in ("busy", "sleeper"))
        left.select_option(label=busy)
        right.select_option(label=sleeper)
        shown = changes(page)
        expect(page.locator("#panel .verdict")).to_contain_text("differ by more than chance")
        page.get_by_role("button", name="Exchange the sides").click()
        other_way = changes(page)
        page.go_back()
        expect(left.locator("option:checked")).to_have_text(busy)
    assert own(shown, "spin")[2][0] == "\u2212" and own(shown, "spin")[4] == "less, only on the left"
    assert own(shown, "sleep_through")[4] == "more, only on the right"
    assert own(other_way, "spin")[2] == own(shown, "spin")[2].replace("\u2212", "+")


def told_of_stacks(page):
    """{function: {what is told of a box of it: where that is}}, wherever the mouse may point."""
    canvas, detail = page.locator("#panel canvas"), page.locator("#flame-detail")
    told = {}
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for y in range(10, int(box["height"]), 20):
        for x in range(4, int(box["width"]), 60):
            page.mouse.move(box["x"] + x, box["y"] + y)
            values, _, place = detail.inner_text().partition(": ")
            if " right (" in values:
                told.setdefault(place.split(" ")[0], {}).setdefault(values, {"x": x, "y": y})
    return told


def hold_threads(page, *names):
    for side, name in zip(("Left", "Right"), names):
        titles = page.get_by_label(side).locator("option").all_inner_texts()
        page.get_by_label(side).select_option(
            label=next(title for title in titles if f"thread {name} " in title))


def test_what_is_gone_and_what_is_new_stand_in_one_graph(cairn, runs, browser):
    """Stack by stack what the table says function by function; a stack of one side alone is there."""
    with opened(browser, make(cairn, runs["one"]), "#tab=compare") as page:
        hold_threads(page, "busy", "sleeper")
        shown, told = changes(page), told_of_stacks(page)
        for name, side in (("spin", "left"), ("sleep_through", "right")):
            [values] = told[name]
            part = own(shown, name)[0 if side == "left" else 1]
            assert values.startswith(f"{part} left, 0 % right (\u2212" if side == "left"
                                     else f"0 % left, {part} right (+"), (values, shown)
        canvas, [place] = page.locator("#panel canvas"), told["spin"].values()
        expect(canvas).to_have_accessible_name(re.compile("what changed"))
        # It is of this recording: all that its row in the table has can be done with it.
        canvas.click(position=place, button="right")
        expect(page.get_by_role("menuitem").first).to_contain_text("Focus")
        page.keyboard.press("Escape")


def test_who_has_zoomed_in_can_change_what_is_compared(cairn, runs, browser):
    """The zoom is of one comparison: a smaller one has no such box."""
    with opened(browser, make(cairn, runs["one"]), "#tab=compare") as page:
        hold_threads(page, "busy", "sleeper")
        told, canvas = told_of_stacks(page), page.locator("#panel canvas")
        [place] = told["spin"].values()
        canvas.click(position=place)
        assert "sleep_through" not in told_of_stacks(page)
        canvas.focus()
        page.keyboard.press("Escape")
        assert set(told_of_stacks(page)) == set(told)
        # The same boxes, of another comparison: nothing of it is selected, and all of it is there.
        canvas.click(position=place)
        page.get_by_role("button", name="Exchange the sides").click()
        expect(page.locator("#flame-detail")).to_contain_text("Arrows move")
        assert set(told_of_stacks(page)) == set(told)
        page.get_by_role("button", name="Exchange the sides").click()
        for name in ("sleep_through", "spin"):
            canvas.click(position=next(iter(told_of_stacks(page)[name].values())))
            hold_threads(page, *("sleeper", "sleeper") if name == "sleep_through" else ("busy", "busy"))
            after = told_of_stacks(page)
            assert name in after and all("(\u00b10.0 pp" in values for boxes in after.values()
                                         for values in boxes), after
            hold_threads(page, "busy", "sleeper")


def test_the_graph_is_gone_through_by_keyboard(cairn, runs, browser):
    with opened(browser, make(cairn, runs["one"]), "#tab=compare") as page:
        hold_threads(page, "busy", "sleeper")
        canvas, detail = page.locator("#panel canvas"), page.locator("#flame-detail")
        canvas.focus()
        seen = []
        for _ in range(12):  # to the innermost box, and no further
            page.keyboard.press("ArrowDown")
            seen.append(detail.inner_text())
        assert "right (" in seen[0] and seen[0].endswith(": all") and seen[-1] == seen[-2] != seen[0], seen
        page.keyboard.press("Enter")
        page.mouse.move(2, 2)
        assert set(told_of_stacks(page)) <= {text.partition(": ")[2].split(" ")[0] for text in seen}
        page.keyboard.press("Escape")
        assert {"spin", "sleep_through"} <= set(told_of_stacks(page))


def test_a_graph_that_is_not_judged_says_what_differs(cairn, runs, browser):
    file = make(cairn, runs["two"], "--before", runs["one"])
    with opened(browser, file, "#tab=compare&metric=cpu&scale=time") as page:
        told = told_of_stacks(page)
    assert all("+" in values and "distinguishable" not in values for values in told["spin"]), told
    with opened(browser, file, "#tab=compare&metric=cpu&left=all&right=all") as page:
        told = told_of_stacks(page)
    assert all("(\u00b10.0 pp)" in values for boxes in told.values() for values in boxes), told


def test_the_graph_of_two_recordings_is_judged_box_by_box(cairn, runs, browser):
    """Of two runs of one thing nothing is sure; what took twice as long surely took longer."""
    for after, scale, word in (("again", "share", "not distinguishable"), ("two", "time", "+")):
        file = make(cairn, runs[after], "--before", runs["one"])
        if after == "again":
            need_alike(cairn, runs["one"], runs["again"])
        with opened(browser, file, f"#tab=compare&scale={scale}") as page:
            shown, told = changes(page), told_of_stacks(page)
        assert all(word in values for values in told["spin"]), (told, shown)
        if after == "two":
            assert not any("not distinguishable" in values for values in told["spin"])
            left, right = (seconds(part.rsplit(" ", 1)[0])
                           for part in min(told["spin"]).split(" (")[0].split(", "))
            assert abs(left - seconds(own(shown, "spin")[0])) < 0.006, (told, shown)
            assert abs(right - seconds(own(shown, "spin")[1])) < 0.006


def test_a_metric_that_hangs_together_is_not_judged(cairn, runs, browser):
    file = make(cairn, runs["two"], "--before", runs["one"])
    with opened(browser, file, "#tab=compare&metric=cpu") as page:
        shown = changes(page)
        expect(page.get_by_role("tabpanel")).to_contain_text("cairn diff --metric cpu")
    assert all(row[4] in ("", "only on the left", "only on the right") for row in shown.values())


def test_two_parts_of_the_time_are_held_against_each_other(cairn, runs, browser):
    """Each is what the report of that time says; of one thread the halves are looked at first."""
    file = make(cairn, runs["two"], "--thread", "busy")
    with opened(browser, file, "#tab=compare") as page:
        titles = [page.get_by_label(side).locator("option:checked").inner_text()
                  for side in ("Left", "Right")]
        assert titles[0].startswith("0 s to ") and titles[0].split(" to ")[1] == (
            titles[1].split(" to ")[0]), titles
    _, data = parts(file)
    width_ns = data["slices"]["width_ns"]
    with opened(browser, file, "#tab=compare&scale=time&left=r10-30&right=x10-30") as page:
        shown = changes(page)
        expect(page.get_by_label("Right").locator("option:checked")).to_contain_text("not ")
    spans = [["--from", f"{begin * width_ns}ns", "--to", f"{end * width_ns}ns"]
             for begin, end in ((10, 30), (0, 10), (30, data["slices"]["count"]))]
    inside, *outside = [sum(row["self_s"] for row in cairn.report(
        runs["two"], "--thread", "busy", *span)["rows"] if row["name"] == "spin") for span in spans]
    left, right = (seconds(text) for text in own(shown, "spin")[:2])
    assert abs(left - inside) < 0.001 and abs(right - sum(outside)) < 0.006, (shown, inside, outside)


def test_it_is_reached_by_keyboard_and_without_sides_it_says_so(cairn, folder, browser):
    """What has one thread and no times has no sides."""
    file = folder / "one.collapsed"
    file.write_text("main (a.py:1);work (a.py:2) 10\nmain (a.py:1) 3\n")
    with opened(browser, make(cairn, file)) as page:
        page.keyboard.press("4")
        expect(tab(page, "Compare")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel")).to_contain_text("--before")
        page.keyboard.press("2")
        expect(page.get_by_role("heading", name="Timeline of states")).to_have_count(0)
        expect(page.get_by_role("tabpanel")).to_contain_text("Timeline of states: not known to this page")


def test_what_cannot_be_compared_with_leaves_no_page(cairn, runs, folder):
    (folder / "none.cairn").write_bytes(b"no recording")
    ended = cairn("html", "-o", folder / "page.html", "--before", folder / "none.cairn",
                  runs["one"]).expect(harness.DAMAGED)
    assert "none.cairn" in ended.talk and not (folder / "page.html").exists()


def test_no_choice_is_cut(cairn, runs, browser):
    """Of the page's own words; names of processes and threads may be as long as they like."""
    file = make(cairn, runs["two"], "--before", runs["one"])
    for hash in ("#tab=compare", "#tab=explore"):
        with opened(browser, file, hash) as page:
            for name in ("Metric", "Compare" if "compare" in hash else "Shape"):
                cut = page.get_by_role("combobox", name=name, exact=True).evaluate("""select => {
                    const style = getComputedStyle(select), room = select.clientWidth
                        - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 16;
                    const surface = document.createElement('canvas').getContext('2d');
                    surface.font = style.font; // 16 pixels: its arrow
                    return [...select.options].map((option) => option.text)
                        .filter((text) => surface.measureText(text).width > room);
                }""")
                assert cut == [], name


def test_a_view_from_the_server_holds_the_same(cairn, runs):
    page = make(cairn, runs["two"], "--before", runs["one"]).read_bytes()
    with serving(cairn, "-p", "0", "--before", runs["one"], runs["two"]) as view:
        _, served = view.ask(Cookie=view.cookie)
    assert served == page and page.count(b'type="application/gzip"') == 2

"""`cairn view` of a recording that is still being written, or large: its page asks the server. It
grows with the recording, and what a person has chosen stays; what is long comes as bytes."""
import contextlib
import fcntl
import json
import os
import re
import signal
import struct
import time

import pytest
from playwright.sync_api import expect

import harness
from test_html import browser, percent, tab, table_rows  # noqa: F401: a fixture
from test_view import LINK, NO_DESKTOP, check_headers, page_of, serving

F_OFD_SETLK = 37  # of <fcntl.h>; Python knows its name from 3.9 on
PATIENCE_S = 60  # a machine with other work on it; nothing waits so long otherwise


def samples_in(cairn, file):
    """None: there is nothing to read yet."""
    ended = cairn("report", "--json", file)
    return ended.json()["quality"]["samples"] if ended.status == 0 else None


class Recorded:
    """A program that runs, and is recorded, until it is told."""

    def __init__(self, cairn, python, file, command):
        self.file, self.folder = cairn.folder / file, cairn.folder
        self.process = cairn.spawn("run", "-o", self.file, "--report", "none", "--",
                                   *command or python.command("worker.py"))
        self.pid = json.loads(harness.read_line(self.process))["ready"]
        deadline = time.monotonic() + PATIENCE_S
        while not samples_in(cairn, self.file):
            assert time.monotonic() < deadline, "nothing was written"

    def end(self):
        return harness.finish(self.process).expect(0)


@contextlib.contextmanager
def recorded(cairn, python, file="live.cairn", command=None):
    recorded = Recorded(cairn, python, file, command)
    try:
        yield recorded
    finally:
        harness.end_group(recorded.process)


def asked(view):
    answer, body = view.ask("/api/live", Cookie=view.cookie)
    assert answer.status == 200
    check_headers(answer)
    return json.loads(body)


def asked_until(view, wanted):
    deadline = time.monotonic() + PATIENCE_S
    told = asked(view)
    while not wanted(told):
        assert time.monotonic() < deadline, told
        told = asked(view)
    return told


def test_it_is_read_again_as_it_grows_and_not_more_often_than_it_is_written(cairn, python):
    with recorded(cairn, python) as program, serving(cairn, program.file) as view:
        begun, first = time.monotonic(), asked(view)
        told = asked_until(view, lambda told: told["version"] >= first["version"] + 3)
        assert told["live"] and told["wait_s"] >= 1
        assert told["version"] - first["version"] <= time.monotonic() - begun + 1
        program.end()
        last = asked_until(view, lambda told: not told["live"])
        assert last["version"] > told["version"]
        assert asked(view)["version"] == last["version"], "it is read once more, and then no more"
        # What is shown at last is all of it, for queries as well.
        wanted = cairn.report(program.file)
        _, body = view.ask("/api/table", Cookie=view.cookie)
        assert json.loads(body)["quality"] == wanted["quality"]
        assert json.loads(body)["total_s"] == wanted["total_s"]


@pytest.mark.parametrize("request_, status", [
    ({}, 403), ({"hosts": ["evil.example"], "Cookie": True}, 403),
    ({"Origin": "http://evil.example", "Cookie": True}, 403),
    ({"Sec_Fetch_Site": "same-site", "Cookie": True}, 403),
    ({"method": "POST", "Cookie": True}, 405),
], ids=str)
def test_whoever_asks_is_judged_as_everybody(cairn, python, request_, status, tmp_path_factory):
    file = cairn.record(python, "states.py", 0.2)[0]
    with serving(cairn, file) as view:
        request = {**request_, **({"Cookie": view.cookie} if "Cookie" in request_ else {})}
        answer, body = view.ask("/api/live", **request)
        assert answer.status == status and b"version" not in body
        check_headers(answer)


def test_a_recording_that_has_ended_is_not_followed(cairn, python, browser):  # noqa: F811
    """Its page is that of `cairn html`, which may ask nothing of anybody."""
    file = cairn.record(python, "states.py", 0.2)[0]
    with serving(cairn, file) as view:
        told = asked(view)
        assert (told["live"], told["version"]) == (False, 1)
        answer, body = view.ask(Cookie=view.cookie)
        assert b"data-version" not in body.split(b"<script")[0]
        assert "connect-src" not in answer.headers["Content-Security-Policy"]
        assert b"connect-src" not in body.split(b"<style>")[0]
        with page_of(browser, view.link) as page:
            expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def test_what_was_cut_off_is_not_live(cairn, python):
    """It has no end either; but nobody holds it."""
    with recorded(cairn, python) as program:
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.wait(PATIENCE_S)
        with serving(cairn, program.file) as view:
            assert asked(view)["live"] is False
            _, body = view.ask(Cookie=view.cookie)
            assert b"data-follows" not in body.split(b"<script")[0]


def test_a_recorder_that_is_killed_ends_it(cairn, python):
    with recorded(cairn, python) as program, serving(cairn, program.file) as view:
        assert asked(view)["live"]
        os.kill(program.process.pid, signal.SIGKILL)
        asked_until(view, lambda told: not told["live"])
        _, body = view.ask("/api/table", Cookie=view.cookie)
        assert json.loads(body)["quality"]["ended"] is False


@contextlib.contextmanager
def held(file):
    """A file that somebody writes, as a recorder holds it."""
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with open(file, "xb") as out:
        fcntl.fcntl(out.fileno(), F_OFD_SETLK, lock)
        yield out


def test_one_that_has_just_begun_is_waited_for(cairn, python, folder):
    whole = cairn.record(python, "states.py", 0.2)[0].read_bytes()
    with held(folder / "begun.cairn") as out:
        process = cairn.spawn("view", "--no-open", "begun.cairn", env=NO_DESKTOP)
        out.write(whole)
        out.flush()
        assert LINK.fullmatch(harness.read_line(process))
        process.send_signal(signal.SIGINT)
        assert harness.finish(process).status == 0


def test_one_that_goes_on_to_be_empty_is_not(cairn, folder):
    with held(folder / "empty.cairn"):
        ended = cairn("view", "--no-open", "empty.cairn", deadline_s=30).expect(123)
    assert ended.out == b"" and 1 <= len(ended.err.decode().splitlines()) <= 4


def changed(page):
    """Waits until the heading of the flame graph tells another time."""
    heading = page.locator("#flame")
    expect(heading).not_to_have_text(heading.inner_text(), timeout=PATIENCE_S * 1000)


def test_what_is_chosen_stays_while_it_grows(cairn, python, browser):  # noqa: F811
    with recorded(cairn, python) as program, serving(cairn, program.file) as view, \
            page_of(browser, view.link) as page:
        expect(page.locator(".following")).to_contain_text("live")
        policy = page.evaluate("document.querySelector('meta[http-equiv]').content")
        assert "default-src 'none'" in policy and "connect-src 'self'" in policy
        tab(page, "Explore").click()
        row = page.get_by_role("treegrid").locator("tbody tr").nth(1)
        row.click()
        expect(row).to_be_focused()
        page.evaluate("() => { window.kept = document.activeElement; }")
        page.locator("#search").fill("e")
        page.evaluate("() => window.kept.focus({ preventScroll: true })")
        page.evaluate("() => scrollTo(0, 120)")
        chosen = page.locator(".selected > .name").inner_text()
        for _ in range(2):
            changed(page)
            assert page.evaluate("() => window.kept === document.activeElement")
            assert page.evaluate("() => scrollY") == 120
            assert page.locator(".selected > .name").inner_text() == chosen
            assert page.locator("#search").input_value() == "e"
        status = page.locator(".following").get_by_role("status")
        assert status.inner_text().startswith("Live:")
        # A person can make it stand still.
        page.get_by_role("button", name="Pause").click()
        expect(status).to_contain_text("stays as it is")
        page.get_by_role("button", name="Pause").click()
        changed(page)
        program.end()
        expect(status).to_contain_text("has ended", timeout=PATIENCE_S * 1000)
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        told = page.locator("#flame").inner_text()
        wall_s = cairn.report(program.file, "--idle")["total_s"] - cairn.report(
            program.file)["idle_s"]
        value, unit = re.fullmatch(r"Flame graph: ([\d.]+) (\w+)", told).groups()
        scale = {"ms": 1e-3, "s": 1, "min": 60}[unit]
        assert float(value) * scale == pytest.approx(wall_s, rel=0.006)


GROWS = """
import asyncio, json, os, sys

async def rest():
    while True:
        await asyncio.sleep(0.01)

async def crowd():
    await rest()

async def main():
    tasks = [asyncio.create_task(rest(), name="first")]
    print(json.dumps({"ready": os.getpid()}), flush=True)
    while True:
        await asyncio.sleep(0.2)
        if os.path.exists(sys.argv[1]):
            tasks += [asyncio.create_task(crowd()) for _ in range(20)]

asyncio.run(main())
"""


def test_the_task_that_is_chosen_stays_chosen(cairn, python, browser):  # noqa: F811
    """Though others of longer time come before it in the list."""
    (cairn.folder / "grows.py").write_text(GROWS)
    command = [python.executable, cairn.folder / "grows.py", cairn.folder / "go"]
    with recorded(cairn, python, command=command) as program, serving(cairn, program.file) as view, \
            page_of(browser, view.link) as page:
        tab(page, "Explore").click()
        task = page.get_by_role("combobox", name="Task")
        task.select_option(label="first")
        places = {task.input_value()}
        (cairn.folder / "go").touch()
        deadline = time.monotonic() + PATIENCE_S
        while len(places) == 1:
            assert time.monotonic() < deadline, places
            changed(page)
            places.add(task.input_value())
            assert task.locator("option:checked").inner_text() == "first"
            assert page.locator("code.command").inner_text() == "cairn report --task first"


def test_its_lamp_stands_still_for_who_wants_that(cairn, python, browser):  # noqa: F811
    with recorded(cairn, python) as program, serving(cairn, program.file) as view:
        for motion, wanted in (("reduce", "none"), ("no-preference", "lamp")):
            context = browser.new_context(reduced_motion=motion)
            page = context.new_page()
            page.goto(view.link)
            lamp = page.locator(".lamp.live")
            lamp.wait_for()
            assert lamp.evaluate("lamp => getComputedStyle(lamp).animationName") == wanted
            context.close()


STACKS = 60_000  # more nodes than a page that is served holds itself
LINES = 500  # of them are in functions of their own


def large(folder):
    """Stacks of another tool: cheap to make, and every sum is known."""
    file = folder / "large.txt"
    with open(file, "w") as out:
        for i in range(STACKS):
            out.write(f"main;step_{i % LINES};leaf_{i} {1 + i % 3}\n")
    return file


def test_a_large_page_asks_for_its_columns(cairn, python, browser):  # noqa: F811
    """They are let out to whoever may see the page, of this version alone; and what is shown is
    what a report says."""
    file = large(cairn.folder)
    total = sum(1 + i % 3 for i in range(STACKS))
    mine = sum(1 + i % 3 for i in range(7, STACKS, LINES))
    with serving(cairn, file) as view:
        path = "/api/columns?version=1"
        for request, status in (({}, 403), ({"Cookie": view.cookie, "hosts": ["evil.example"]}, 403),
                                ({"Cookie": view.cookie, "method": "POST"}, 405),
                                ({"Cookie": view.cookie, "Sec_Fetch_Site": "same-site"}, 403),
                                ({"Cookie": view.cookie}, 200)):
            answer, body = view.ask(path, **request)
            assert answer.status == status
            check_headers(answer)
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert len(body) > 2 * STACKS
        for other in ("/api/columns", "/api/columns?version=2", "/api/columns?version=1&x=1"):
            assert view.status(other, Cookie=view.cookie) == 404
        _, page_bytes = view.ask(Cookie=view.cookie)
        assert b'data-version="1" data-columns' in page_bytes.split(b"<script")[0]
        assert b"data-follows" not in page_bytes.split(b"<script")[0]
        with page_of(browser, view.link) as page:
            tab(page, "Explore").click()
            page.locator("#search").fill("step_7 ")
            expect(page.locator(".functions tbody tr")).to_have_count(1)  # it follows a frame later
            rows = table_rows(page, "Functions")
            assert len(rows) == 1 and percent(rows[0][2]) == pytest.approx(100 * mine / total, abs=0.06)
            page.locator("#search").fill("")
            page.evaluate("() => { location.hash = 'tab=explore&focus=%5Estep_7%20'; }")
            expect(page.locator("p", has_text="functions").first).to_have_text(
                f"{STACKS // LINES + 2} of {STACKS // LINES + 2} functions")


def test_the_file_of_a_large_page_holds_all(cairn):
    """From the disk nothing can be asked for."""
    file, page = large(cairn.folder), cairn.folder / "large.html"
    cairn("html", "-o", page, file).expect()
    text = page.read_text()
    assert "data-version" not in text.split("<script")[0] and "connect-src" not in text.split("<style>")[0]
    assert len(text) > STACKS

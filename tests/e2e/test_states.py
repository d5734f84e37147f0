"""States, waits and overlays as they are shown; how true they are is for tests/accuracy."""
import re

import pytest

import harness
from harness import read_line

pytestmark = pytest.mark.alone

METRICS = ["wall", "cpu", "gil", "gil-wait", "runq", "blocked"]
UNDER = {
    "collector": {"gc", "gil_held"},
    "handler": {"exception"},
    "handler_in_generator": {"exception"},
    "generator_in_handler": {"exception"},
    "handled_before": set(),
    "MainThread": set(),
}


@pytest.fixture
def standstill(interpreter):
    process = harness.spawn(interpreter.command("standstill.py"))
    try:
        assert read_line(process).split() == ["ready"]
        yield process
    finally:
        harness.end_group(process)


def test_overlays_of_threads_in_the_middle_of_something(cairn, standstill, folder):
    file = folder / "still.cairn"
    dump_when_all_wait(cairn, standstill.pid)
    options = ["--for", "500ms", "--report", "none"]
    ended = cairn("attach", *options, "-o", file, standstill.pid).expect()
    blind_s = cairn.blind_s(file, ended)
    for thread, under in UNDER.items():
        report = cairn.report(file, "--thread", thread)
        whole_s = sum(report["states"].values())
        assert whole_s > 0.3 - blind_s, thread
        for overlay in ("gil_held", "gc", "exception"):
            held_s = report["overlays"][f"{overlay}_s"]
            # What a generator handles is known from the second look on; the first may come late.
            unknown_s = report["overlays"][f"{overlay}_unknown_s"]
            assert unknown_s < 0.1 * whole_s + blind_s, (thread, overlay, report["overlays"])
            known_s = held_s + unknown_s if unknown_s > 0.1 * whole_s else held_s
            assert (known_s > 0.9 * whole_s) if overlay in under else held_s == 0, (thread, overlay)


def dump_when_all_wait(cairn, pid):
    """{thread: what it waits in}, once all but the busy one do: each says that it is about to."""
    while True:
        threads = cairn("dump", "--json", pid).expect().json()["threads"]
        waiting = {t["name"]: t["waits_in"] for t in threads if t["state"] == "blocked"}
        # What a thread waits in is asked a moment after its state: it may have gone on meanwhile.
        if set(waiting) == set(UNDER) - {"collector"} and all(waiting.values()):
            return waiting


@pytest.mark.timeout(60)
def test_a_dump_says_what_is_waited_for(cairn, standstill):
    for name, waits_in in dump_when_all_wait(cairn, standstill.pid).items():
        assert waits_in.split()[0] == ("read" if name == "MainThread" else "futex"), name
    text = cairn("dump", standstill.pid).expect().text
    assert re.search(r"thread \d+  blocked in read pipe  MainThread", text), text


def test_every_metric_is_known_or_said_not_to_be(cairn, interpreter):
    """The table of docs/metrics.md: a version that has no row, or a cell that is not so, fails."""
    page = (harness.ROOT / "docs" / "metrics.md").read_text()
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if re.fullmatch(r"3\.\d+", cells[0]):
            rows[cells[0]] = cells[1:]
    cells = rows["%d.%d" % interpreter.version[:2]]
    heads = METRICS + ["gil_held", "gc", "exception"]
    assert len(cells) == len(heads) and set(cells) <= {"exact", "estimated", "n/a"}

    file, _ = cairn.record(interpreter, "busy.py", 0.5)
    overlays = cairn.report(file)["overlays"]
    for head, cell in zip(heads, cells):
        if head in METRICS:
            report = cairn.report(file, "--metric", head)
            assert report["known"] == (cell != "n/a"), head
            assert bool(report["why"]) == (cell == "n/a"), head
        else:
            assert (overlays[f"{head}_s"] is None) == (cell == "n/a"), head


def test_waits_and_overlays_are_in_the_report(cairn, python):
    file, ended = cairn.record(python, "waiting.py", 1.0)
    text = cairn("report", "--by", "state", "--idle", file).expect().text
    assert re.search(r"^overlay  gil_held \d", text, re.MULTILINE), text
    for wait in ("futex GIL", "read pipe", "clock_nanosleep", "recvfrom socket 127.0.0.1:"):
        assert re.search(rf"^(waits|     ).*[0-9] m?s +{wait}", text, re.MULTILINE), text

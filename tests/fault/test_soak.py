"""Cairn stays on: a program that makes threads, tasks, code and children without end is looked at,
and neither the memory nor the descriptors of the collector grow with what is over.

CAIRN_FULL=1 goes on for half an hour.
"""
import os
import time
from pathlib import Path

import pytest

import harness

SECONDS = 1800 if os.environ.get("CAIRN_FULL") else 24
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
GROWTH_MAX = 1 << 20  # bytes, in the second half: what a large chunk takes comes and goes
FILES_GROWTH_MAX = 8


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def watch(process, seconds):
    """(memory in bytes, descriptors) of the collector, some 200 times."""
    looks, begun = [], time.monotonic()
    while process.poll() is None and time.monotonic() - begun < seconds:
        try:
            looks.append((resident_bytes(process.pid), len(os.listdir(f"/proc/{process.pid}/fd"))))
        except (FileNotFoundError, IndexError):
            break
        time.sleep(seconds / 200)  # a look, not a wait: what is seen is a series of values
    assert len(looks) > 50
    return looks


def most(looks, quarter):
    first, end = len(looks) * quarter // 4, len(looks) * (quarter + 1) // 4
    return [max(column) for column in zip(*looks[first:end])]


@pytest.mark.timeout(SECONDS + 2 * harness.DEADLINE_S)
def test_neither_memory_nor_descriptors_grow(cairn, python, folder):
    file = folder / "x.cairn"
    options = ["-r", "1khz", "--rotate", "64k", "-o", file]
    process = cairn.spawn("run", *options, "--", *python.command("soak.py", SECONDS))
    looks = watch(process, SECONDS)
    ended = harness.finish(process, deadline_s=harness.DEADLINE_S).expect()
    made = ended.last_json()
    assert min(made.values()) > 0, made
    (memory_before, files_before), (memory, files) = most(looks, 2), most(looks, 3)
    print(f"\n{made}: {looks[0][0] >> 10}, {memory_before >> 10}, {memory >> 10} KiB")
    assert memory - memory_before <= GROWTH_MAX
    assert files - files_before <= FILES_GROWTH_MAX
    report = cairn.report(file)
    quality = report["quality"]
    assert len(sorted(folder.glob("x.cairn*"))) > 1, "the files rotated"
    assert quality["bytes"] == sum(path.stat().st_size for path in folder.glob("x.cairn*"))
    assert quality["unknown_refs"] == 0
    assert report["recording"]["processes"] + quality["unseen"] == made["children"] + 1


def test_nor_do_loops_of_threads_that_are_over_take_memory(cairn, python, folder):
    """Each has tasks, and they have tracks: 270 bytes for each of some 400 threads a second once."""
    file, seconds = folder / "x.cairn", 20
    process = cairn.spawn("run", "-r", "1khz", "-o", file, "--",
                          *python.command("thread_loops.py", seconds))
    looks = watch(process, seconds)
    made = harness.finish(process, deadline_s=harness.DEADLINE_S).expect().last_json()
    (before, _), (after, _) = most(looks, 1), most(looks, 3)
    print(f"\n{made}: {before >> 10}, {after >> 10} KiB")
    assert after - before <= GROWTH_MAX // 2
    report = cairn.report(file)
    assert report["quality"]["unknown_refs"] == 0
    told = [task for task in report["tasks"] if task["coroutine"] == "sleep"]
    assert told and min(task["waiting_s"] for task in told) > 0

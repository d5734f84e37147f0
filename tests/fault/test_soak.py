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


@pytest.mark.timeout(SECONDS + 2 * harness.DEADLINE_S)
def test_neither_memory_nor_descriptors_grow(cairn, python, folder):
    file = folder / "x.cairn"
    options = ["-r", "1khz", "--rotate", "64k", "-o", file]
    process = cairn.spawn("run", *options, "--", *python.command("soak.py", SECONDS))
    looks, begun = [], time.monotonic()
    while process.poll() is None and time.monotonic() - begun < SECONDS:
        try:
            looks.append((resident_bytes(process.pid), len(os.listdir(f"/proc/{process.pid}/fd"))))
        except (FileNotFoundError, IndexError):
            break
        time.sleep(SECONDS / 200)  # a look, not a wait: what is seen is a series of values
    ended = harness.finish(process, deadline_s=harness.DEADLINE_S).expect()
    made = ended.last_json()
    assert min(made.values()) > 0, made
    assert len(looks) > 50
    second = looks[len(looks) // 2 :]
    memory, files = [max(column) for column in zip(*second[len(second) // 2 :])]
    memory_before, files_before = [max(column) for column in zip(*second[: len(second) // 2])]
    print(f"\n{made}: {looks[0][0] >> 10}, {memory_before >> 10}, {memory >> 10} KiB")
    assert memory - memory_before <= GROWTH_MAX
    assert files - files_before <= FILES_GROWTH_MAX
    report = cairn.report(file)
    quality = report["quality"]
    assert len(sorted(folder.glob("x.cairn*"))) > 1, "the files rotated"
    assert quality["bytes"] == sum(path.stat().st_size for path in folder.glob("x.cairn*"))
    assert report["recording"]["processes"] + quality["unseen"] == made["children"] + 1

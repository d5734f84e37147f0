"""Recordings that are cut, damaged, foreign or too new, and Cairn killed while it writes."""
import os
import random

import pytest

import harness
from harness import finish, time_in

SEED = 20240229


@pytest.fixture(scope="module")
def small(python, tmp_path_factory):
    """A small whole recording of many parts: its bytes and what a report of it says."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("small"))
    # Of many parts also where nothing is written for a second.
    file, _ = cairn.record(python, "states.py", 1.5, options=["-r", "200hz", "--flush", "50ms"])
    return file.read_bytes(), cairn.report(file)["quality"]


def judge(cairn, data, whole):
    """One clear answer, or a report whose sums are not above those of the whole file."""
    file = cairn.folder / "x.cairn"
    file.write_bytes(data)
    ended = cairn("report", "--json", file)
    if ended.status == 0:
        quality = ended.json()["quality"]
        assert quality["samples"] <= whole["samples"]
        return "read"
    assert ended.status == harness.DAMAGED, (ended.status, ended.talk)
    assert ended.out == b"" and 1 <= len(ended.talk.splitlines()) <= 6
    return "refused"


def test_every_prefix_is_a_recording(cairn, small):
    data, whole = small
    sizes = sorted({0, 1, 7, 8, len(data) - 1} | {len(data) * i // 40 for i in range(40)})
    seen = []
    for size in sizes:
        (cairn.folder / "x.cairn").write_bytes(data[:size])
        ended = cairn("report", "--json", "x.cairn")
        assert ended.status in (0, harness.DAMAGED), (size, ended.talk)
        if ended.status == 0:
            seen.append(ended.json()["quality"]["samples"])
    assert seen == sorted(seen), "more of the file never says less"
    assert len(set(seen)) > 5 and seen[-1] <= whole["samples"]


def test_flipped_bits_are_found(cairn, small):
    data, whole = small
    rng = random.Random(SEED)
    answers = set()
    for _ in range(120):
        position = rng.randrange(len(data) * 8)
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        answers.add(judge(cairn, bytes(flipped), whole))
    assert answers, "some bits were flipped"


def test_holes_and_repeats(cairn, small):
    data, whole = small
    rng = random.Random(SEED)
    for _ in range(30):
        start = rng.randrange(len(data))
        end = min(len(data), start + rng.choice([1, 64, 512, 4096]))
        judge(cairn, data[:start] + bytes(end - start) + data[end:], whole)
        judge(cairn, data[:start] + data[end:], whole)
    judge(cairn, data + data, whole)
    judge(cairn, data + os.urandom(1000), whole)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 4096, b"hello\n", b"\x7fELF" + bytes(5000), b"{}", bytes(range(256)) * 64],
    ids=["empty", "zeros", "text", "elf", "json", "bytes"],
)
def test_foreign_files(cairn, content):
    file = cairn.folder / "x.cairn"
    file.write_bytes(content)
    for command in (["report"], ["report", "--json"], ["export", "-f", "collapsed"]):
        ended = cairn(*command, file).expect(harness.DAMAGED)
        assert ended.out == b"" and "x.cairn" in ended.talk


def test_what_is_no_file(cairn, folder):
    ended = cairn("report", "nosuch.cairn")
    assert ended.status in (harness.NOT_FOUND, harness.CAIRN_FAILED)
    assert "nosuch.cairn" in ended.talk and ended.out == b""
    ended = cairn("report", folder)
    assert ended.status != 0 and ended.out == b"" and ended.err


def test_a_pipe_is_not_read_for_ever(cairn, folder):
    os.mkfifo(folder / "pipe")
    ended = cairn("report", "pipe", deadline_s=20)
    assert ended.status != 0 and ended.err


@pytest.mark.parametrize("round_", range(10))
def test_cairn_killed_while_recording(cairn, python, worker, folder, round_):
    """Opens every time, and at most 1 s is lost."""
    target = worker(python)
    file = folder / "x.cairn"
    attached = cairn.spawn("attach", "-o", file, target.pid)
    # A known moment of the recording, not of the clock: it holds so and so much, then it dies.
    wanted_s = 0.3 + random.Random(SEED + round_).random()
    while True:
        assert attached.poll() is None, attached.stderr.read()
        if file.exists() and file.stat().st_size:
            ended = cairn("report", "--json", file)
            before_s = spent(ended) if ended.status == 0 else 0
            if before_s >= wanted_s:
                break
    attached.kill()
    finish(attached)
    after_s = time_in(cairn.collapsed(file), "one_round") / 1e6
    assert after_s >= before_s - 1e-3, "what could be read while it lived can be read now"
    target.check_answer()


def spent(ended):
    rows = ended.json()["rows"]
    return max((row["self_s"] for row in rows if row["name"] == "one_round"), default=0)


def test_at_most_a_second_is_lost(cairn, python, folder):
    """The target itself says until when it ran when Cairn died."""
    code = (
        "import time, os, signal, sys\n"
        "start = time.perf_counter()\n"
        "def spin(last, pause=0):\n"
        "    while last < start + 3.2:\n"
        "        now = time.perf_counter()\n"
        "        pause, last = max(pause, now - last), now\n"
        "    return pause\n"
        "pause = spin(start)\n"
        "os.kill(int(sys.stdin.readline()), signal.SIGKILL)\n"
        "print(pause)\n"
    )
    process = cairn.spawn("run", "-o", "x.cairn", "--", python.executable, "-c", code)
    ended = finish(process, f"{process.pid}\n".encode())
    assert ended.status == 137
    recorded_s = time_in(cairn.collapsed(folder / "x.cairn"), "spin") / 1e6
    # What stood still for so long at once was the machine: Cairn could not write either; nor could it
    # where the host had the processor of Cairn alone.
    still_s = max(float(ended.text), ended.taken_s)
    assert recorded_s > 3.2 - 1.2 - still_s, "1 s, and what the start took"

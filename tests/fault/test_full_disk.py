"""The disk is full, or a limit reached, at every write: it is told, the program goes on to its own
end, and what was written until then opens."""
import os
import re
import stat

import pytest

import harness
from harness import execute

# Ever new stacks, and few at the start: so the recording grows all along, and its first chunk, under
# which nothing is held, is a small part of it.
PROGRAM = """
import sys, time
def down(n):
    return n if n == 0 else down(n - 1) + 1
seconds, n = float(sys.argv[1]), 0
while (part := time.process_time() / seconds) < 1:
    n = (n + 7) % (1 + int(300 * part * part))
    down(n)
print("own")
"""
FAST = ["-r", "max", "--flush", "20ms"]
STEPS = 12
PART = 8  # no two runs are alike: beside others it may see a third, of a machine of half the speed


@pytest.fixture
def small_disk(folder):
    """Mounts an empty file system of its own with the given options; gone with the test."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = folder / "small"
    place.mkdir()
    mounted = []

    def mount(options):
        while mounted:
            execute(["umount", mounted.pop()]).expect()
        if execute(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place]).status != 0:
            pytest.skip("this machine does not let its root mount a tmpfs")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        execute(["umount", place]).expect()


def judge(cairn, ended, file):
    """Whether something was recorded; everything else has one right answer."""
    told = [line for line in ended.expect(harness.CAIRN_FAILED).talk.splitlines()]
    told = [line for line in told if line.startswith("cairn: ")]
    assert len(told) == 1 and str(file) in told[0], ended.talk
    assert ended.out == b"own\n", "the program's own"
    assert "-o FILE" in ended.talk or "--rotate SIZE" in ended.talk, "what to do"
    if not file.exists():
        assert "Nothing was recorded." in ended.talk
        return False
    document = cairn.report(file)
    (kept,) = re.findall(r"The first ([\d.]+ \w+) are recorded.", ended.talk)
    held_s = time_of(kept) - document["recording"]["wall_s"]
    assert abs(held_s) < 0.1 + ended.taken_s, (kept, document["recording"])
    return document["quality"]["samples"] > 0


def time_of(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]


def whole_size(cairn, python):
    file = cairn.folder / "whole.cairn"
    cairn("run", *FAST, "-o", file, "--", *program(python)).expect()
    return file.stat().st_size


def program(python, seconds=0.75):
    return [python.executable, "-S", "-c", PROGRAM, seconds]


def rooms(whole):
    """Of a recording of that size: some sizes with no room for it, then, until the asking ends, with
    ever more. How much its first chunk takes, under which nothing is held, is not the same twice."""
    yield from sorted({0, 1, 64, *(whole // PART * i // STEPS for i in range(1, STEPS))})
    room = whole // PART
    while room < whole:
        yield room
        room = room * 5 // 4


def test_a_limit_at_every_size(cairn, python):
    file = cairn.folder / "x.cairn"
    answers = []
    for size in rooms(whole_size(cairn, python)):
        limit = ["prlimit", f"--fsize={size}"]
        command = [*limit, cairn.binary, "run", *FAST, "-o", file, "--force", "--"]
        ended = execute([*command, *program(python)], **cairn.options({}))
        answers.append(judge(cairn, ended, file))
        assert not file.exists() or file.stat().st_size <= size
        if len(answers) > STEPS and True in answers:
            break
    assert {*answers} == {True, False}, "some sizes hold something, and some hold nothing"


def test_a_disk_of_every_size(cairn, python, small_disk):
    asked, answers = set(), []
    for size in rooms(whole_size(cairn, python)):
        free = size // 4096
        if free in asked:
            continue
        place = small_disk(f"size={4 * (free + 1)}k")
        # The file that is there leaves `free` pages of it.
        (place / "fill").write_bytes(bytes(4096))
        file = place / "x.cairn"
        ended = cairn("run", *FAST, "-o", file, "--", *program(python))
        assert "No space left" in ended.talk
        asked.add(free)
        answers.append(judge(cairn, ended, file))
        if len(answers) > 3 and True in answers:
            break
    assert {*answers} == {True, False}, "some disks hold something, and a full one holds nothing"


@pytest.mark.parametrize(
    "free, told", [(0, "there is no profile of it"), (8, "the profile ends before that")]
)
def test_a_program_that_fails_beside_a_full_disk(cairn, python, small_disk, free, told):
    place = small_disk(f"size={4 * (free + 1)}k")
    (place / "fill").write_bytes(bytes(4096))
    command = program(python)
    command[3] += "sys.exit(3)"
    ended = cairn("run", *FAST, "-o", place / "x.cairn", "--", *command).expect(3)
    assert f"exit status 3; {told}" in ended.talk
    said = [line for line in ended.talk.splitlines() if line.startswith("cairn: ")]
    assert len(said) == 2, "that it failed, and why there is not more"


def test_no_room_for_the_next_file_of_a_set(cairn, python, small_disk):
    place = small_disk("size=4m,nr_inodes=2")  # one is the folder itself
    file = place / "x.cairn"
    options = [*FAST, "--rotate", "64k", "-o", file]
    ended = cairn("run", *options, "--", *program(python, 2))
    assert "x.cairn.1" in ended.talk
    assert judge(cairn, ended, file)


def test_no_room_for_the_folder(cairn, python, small_disk):
    """Without room for .cairn/ the recording goes to $TMPDIR, and that is said."""
    options = {"cwd": small_disk("size=4m,nr_inodes=1"), "env": {"TMPDIR": str(cairn.folder)}}
    ended = cairn("run", "--", *program(python), **options).expect()
    assert ended.out == b"own\n" and "the recording goes to" in ended.talk
    assert list(cairn.folder.glob("*/*.cairn"))


def test_room_for_the_folder_and_no_more(cairn, python, small_disk):
    place = small_disk("size=4m,nr_inodes=2")
    ended = cairn("run", "--", *program(python), cwd=place).expect(harness.CAIRN_FAILED)
    assert "No space left" in ended.talk and len(ended.talk.splitlines()) == 1
    assert ended.out == b"", "it was known before the program began"


@pytest.mark.parametrize("command", [["report"], ["report", "--json"], ["export", "-f", "pprof"]])
def test_output_that_does_not_fit(cairn, busy_recording, command):
    with open("/dev/full", "wb") as full:
        ended = cairn(*command, busy_recording[0], stdout=full).expect(harness.CAIRN_FAILED)
    (line,) = ended.talk.splitlines()
    assert "No space left" in line


def test_a_device_is_not_taken_away(cairn, folder):
    """A recording into a device that comes to nothing leaves the device where it was."""
    if os.geteuid() != 0:
        pytest.skip("making a device needs root")
    device = folder / "null"
    os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    process = harness.spawn(["sleep", "30"])
    try:
        ended = cairn("attach", "--force", "-o", device, process.pid)
        ended.expect(harness.NOT_SUPPORTED)
    finally:
        harness.end_group(process)
        harness.finish(process)
    assert stat.S_ISCHR(device.stat().st_mode)

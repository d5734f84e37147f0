"""What a command writes is never what it reads, and what was there stays until the new one is whole."""
import os
import shutil

import pytest

import harness


@pytest.fixture(scope="module")
def made(python, tmp_path_factory):
    """A recording, another one, both as a set, and a profile of cProfile; each test copies them."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("outputs"))
    place = cairn.folder
    for name in ("a.cairn", "b.cairn"):
        cairn("run", "-o", name, "--", *python.command("states.py", 0.4)).expect()
    cairn("merge", "-o", "set", "a.cairn", "b.cairn").expect()
    assert (place / "set.1").exists()
    harness.execute([python.executable, "-m", "cProfile", "-o", place / "c.prof", "-m", "this"]).expect()
    return place


@pytest.fixture
def files(made, folder):
    for file in made.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    os.symlink("a.cairn", folder / "symbolic")
    os.link(folder / "a.cairn", folder / "hard")
    return folder


READ = [  # what is written to, and the rest of the command
    ("a.cairn", ["html", "--force", "-o", "a.cairn", "a.cairn"]),
    ("a.cairn", ["html", "--force", "-o", "symbolic", "a.cairn"]),
    ("a.cairn", ["html", "--force", "-o", "hard", "a.cairn"]),
    ("b.cairn", ["html", "--force", "--before", "b.cairn", "-o", "b.cairn", "a.cairn"]),
    ("set.1", ["html", "--force", "-o", "set.1", "set"]),
    ("c.prof", ["html", "--force", "-o", "c.prof", "c.prof"]),
    ("a.cairn", ["export", "--force", "-f", "csv", "-o", "a.cairn", "a.cairn"]),
    ("set.1", ["export", "--force", "-f", "csv", "-o", "set.1", "set"]),
    ("c.prof", ["import", "--force", "-o", "c.prof", "c.prof"]),
    ("a.cairn", ["gprof2dot", "-o", "a.cairn", "a.cairn"]),
    ("c.prof", ["gprof2dot", "-f", "pstats", "-o", "c.prof", "c.prof"]),
    ("a.cairn", ["pprof", "-top", "-output=a.cairn", "a.cairn"]),
    ("b.cairn", ["pprof", "-top", "-diff_base=b.cairn", "-output=b.cairn", "a.cairn"]),
]


@pytest.mark.parametrize("name, command", READ, ids=lambda value: value if isinstance(value, str) else value[0])
def test_what_is_read_is_not_written_over(cairn, files, name, command):
    before = (files / name).read_bytes()
    ended = cairn(*command)
    assert ended.status == harness.CAIRN_FAILED, ended.talk
    assert "that is read" in ended.talk and "Name another file" in ended.talk
    assert (files / name).read_bytes() == before


def test_the_newest_recording_is_one_that_is_read(cairn, files):
    (files / ".cairn").mkdir()
    newest = files / ".cairn" / "a-1.cairn"
    shutil.copy(files / "a.cairn", newest)
    before = newest.read_bytes()
    for command in (["html"], ["export", "-f", "csv"]):
        ended = cairn(*command, "--force", "-o", newest)
        assert ended.status == harness.CAIRN_FAILED and "that is read" in ended.talk, ended.talk
        assert newest.read_bytes() == before


def in_vain(files):
    (files / "cut.json").write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 5, "pid')
    return [
        ["export", "--force", "-f", "csv", "-o", "old", "cut.json"],
        ["export", "--force", "-f", "chrome", "--metric", "counted", "-o", "old", "a.cairn"],
        ["import", "--force", "-o", "old", "cut.json"],
        ["html", "--force", "-o", "old", "cut.json"],
    ]


def test_what_was_there_stays_when_nothing_comes_of_it(cairn, files):
    (files / "old").write_text("as it was")
    there = sorted(os.listdir(files))
    for command in in_vain(files):
        assert cairn(*command).status != 0, command
        assert (files / "old").read_text() == "as it was", command
    assert sorted(os.listdir(files)) == sorted([*there, "cut.json"]), "and nothing else is left"


def test_a_page_without_room_leaves_the_one_that_was_there(cairn, files):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = files / "small"
    small.mkdir()
    if harness.execute(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small]).status != 0:
        pytest.skip("this machine does not let its root mount a tmpfs")
    try:
        (small / "x.html").write_text("as it was")
        ended = cairn("html", "--force", "-o", small / "x.html", "a.cairn")
        assert ended.status == harness.CAIRN_FAILED and "space" in ended.talk, ended.talk
        assert (small / "x.html").read_text() == "as it was"
        assert os.listdir(small) == ["x.html"]
    finally:
        harness.execute(["umount", small]).expect()


def test_what_is_written_over_keeps_its_rights_and_its_place(cairn, files):
    """Through a symbolic link as well: the link stays one."""
    (files / "there").mkdir()
    old = files / "there" / "old"
    old.write_text("as it was")
    old.chmod(0o640)
    os.symlink("there/old", files / "link")
    cairn("export", "--force", "-f", "csv", "-o", "link", "a.cairn").expect()
    assert (files / "link").is_symlink() and old.read_text().startswith("name,")
    assert old.stat().st_mode & 0o777 == 0o640
    cairn("export", "--force", "-f", "csv", "-o", "/dev/null", "a.cairn").expect()

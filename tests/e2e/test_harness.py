"""The checks are checked: what the other tests rely on sees a fault when there is one."""
import gzip
from collections import Counter
from pathlib import Path

import pytest

import harness
from harness import Frame, impossible_stacks, parse_collapsed, parse_pprof

FILE = "/tmp/a (copy)/f.py"
LEGAL = [["<module>", "main"], ["main", "work"]]


def stack(*names):
    return tuple(Frame(n, FILE, 1) if not n.startswith("[") else Frame(n) for n in names)


def test_collapsed_is_parsed_frame_by_frame():
    stacks = parse_collapsed(f"thread:a b;<module> ({FILE}:3);f.<locals>.g ({FILE}) 12\n[torn] 3\n")
    assert stacks == {
        (Frame("thread:a b"), Frame("<module>", FILE, 3), Frame("f.<locals>.g", FILE)): 12,
        (Frame("[torn]"),): 3,
    }
    assert harness.unescaped("semi\\x3bcolon\\x0a") == "semi;colon\n"
    for bad in ("no value\n", " 3\n", "main 3.5\n", "main -3\n"):
        with pytest.raises(AssertionError):
            parse_collapsed(bad)


@pytest.mark.parametrize(
    "names, wrong",
    [
        (["<module>", "main", "work"], 0),
        (["<module>", "main", "[torn]"], 0),
        (["[truncated]", "work"], 0),
        (["[not python]"], 0),
        (["<module>", "work"], 7),
        (["main", "work"], 7),
        (["<module>", "main", "work", "work"], 7),
        (["<module>", "work", "[torn]"], 7),
    ],
)
def test_impossible_stacks_are_recognised(names, wrong):
    found = impossible_stacks(Counter({stack(*names): 7}), LEGAL, FILE)
    assert sum(found.values()) == wrong


def field(number, value):
    """One field of a protobuf message, every number below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def test_pprof_is_read_by_its_definition():
    strings = [b"", b"wall", b"nanoseconds", b"thread", b"Main", b"work"]
    message = b"".join(
        [
            field(1, field(1, 1) + field(2, 2)),
            field(2, field(1, b"\x01\x01") + field(2, b"\x64") + field(3, field(1, 3) + field(2, 4))),
            field(4, field(1, 1) + field(4, field(1, 9) + field(2, 33))),
            field(5, field(1, 9) + field(2, 5)),
            *[field(6, text) for text in strings],
        ]
    )
    profile = parse_pprof(gzip.compress(message))
    assert profile.types == [("wall", "nanoseconds")]
    assert profile.samples == [([1, 1], [100], {"thread": "Main"})]
    assert profile.functions == {1: ["work"]}
    with pytest.raises((AssertionError, IndexError)):
        parse_pprof(gzip.compress(message[:-2]))


def test_a_worker_that_computes_something_else_is_found(python, worker):
    target = worker(python)
    # The answer is checked against another start value: every digest is then a wrong one.
    with pytest.raises(AssertionError, match="something else"):
        target.check_answer(start=b"elsewhere")


def test_a_process_that_does_not_end_is_ended():
    with pytest.raises(AssertionError, match="not over"):
        harness.execute(["sleep", "60"], deadline_s=0.2)


def test_checkouts_share_a_chroot_and_not_the_package_in_it(tmp_path, monkeypatch):
    chroot = tmp_path / "chroot"
    (chroot / "tmp").mkdir(parents=True)
    packages = [tmp_path / name / "build" / "python" for name in ("one", "other")]
    for package in packages:
        package.mkdir(parents=True)
        (package / "whose").write_text(str(package))

    def inside(package):
        return Path(f"{chroot}{package}") / "whose"

    monkeypatch.setattr(harness, "built_package", lambda: packages[0])
    with harness.package_in(chroot), harness.package_in(chroot):
        monkeypatch.setattr(harness, "built_package", lambda: packages[1])
        with harness.package_in(chroot):
            assert [inside(package).read_text() for package in packages] == list(map(str, packages))
            (chroot / "tmp" / "theirs").mkdir()
        assert inside(packages[0]).exists() and not inside(packages[1]).exists()
    assert sorted(path.name for path in chroot.rglob("*")) == ["cairn-packages", "theirs", "tmp"]

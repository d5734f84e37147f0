"""`cairn merge`: in whatever order, the same bytes; read as one, what the files together say."""
import itertools
import shutil

import pytest

import harness

SUMS = ["ticks", "samples", "torn", "truncated", "unreadable", "missed", "reread", "nameless", "own_cpu_s",
        "damaged_chunks", "jumped_bytes", "jumped_chunks", "unknown_refs", "ended"]  # fmt: skip


@pytest.fixture(scope="module")
def files(python, tmp_path_factory):
    """Two recordings of one file, and one that is a set of several."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("merge"))
    made = []
    for name, script, seconds, options in (
        ("states", "states.py", 1.5, ["--flush", "50ms"]),
        ("names", "names.py", 0.8, []),
        # Of 5 s the third file is large enough where no second was lost.
        ("rotated", "states.py", 7.5, ["--rotate", "64k", "-r", "10khz", "--flush", "50ms"]),
    ):
        made.append(cairn.folder / f"{name}.cairn")
        cairn("run", "--report", "none", *options, "-o", made[-1], "--python", python.executable,
              harness.TARGETS / script, seconds).expect()
    assert len(members(made[2])) > 2, "it was large enough to be rotated"
    return made


def members(path):
    found = [path]
    while (following := path.with_name(f"{path.name}.{len(found)}")).exists():
        found.append(following)
    return found


def merged(cairn, out, *parts, options=()):
    return cairn("merge", *options, "-o", out, *parts).expect()


def content(path):
    return [member.read_bytes() for member in members(path)]


def report(cairn, *files):
    document = cairn("report", "--json", "--idle", *files).expect().json()
    rows = {(r["qualname"], r["file"], r["module"], r["first_line"]): r for r in document["rows"]}
    return document, rows


def assert_the_same(cairn, out, *parts):
    """What is read of `out` is what is read of the parts together."""
    one, one_rows = report(cairn, out)
    all_, all_rows = report(cairn, *parts)
    for key in SUMS:
        assert one["quality"][key] == all_["quality"][key], key
    for key in ("threads", "processes", "span_s"):
        assert one["recording"][key] == all_["recording"][key], key
    assert set(one_rows) == set(all_rows)
    for key, row in one_rows.items():
        for value in ("self_s", "total_s", "samples"):
            assert row[value] == all_rows[key][value], (key, value)
    return one


def test_the_order_changes_no_byte(cairn, files, folder):
    wanted = None
    for number, order in enumerate(itertools.permutations(files)):
        out = folder / f"order{number}"
        merged(cairn, out, *order)
        wanted = wanted or content(out)
        assert len(wanted) == 2 + len(members(files[2])) and content(out) == wanted


def test_what_was_merged_before_changes_no_byte(cairn, files, folder):
    first, second, third = files
    merged(cairn, folder / "all", *files)
    wanted = content(folder / "all")
    for number, (inner, outer) in enumerate((([first, second], third), ([second, third], first),
                                             ([third, first], second))):
        merged(cairn, folder / f"inner{number}", *inner)
        merged(cairn, folder / f"left{number}", folder / f"inner{number}", outer)
        merged(cairn, folder / f"right{number}", outer, folder / f"inner{number}")
        assert content(folder / f"left{number}") == wanted
        assert content(folder / f"right{number}") == wanted
    merged(cairn, folder / "alone", folder / "all")
    assert content(folder / "alone") == wanted


def test_nothing_is_in_it_twice(cairn, files, folder):
    merged(cairn, folder / "all", *files)
    ended = merged(cairn, folder / "again", files[0], *files, folder / "all")
    assert content(folder / "again") == content(folder / "all")
    assert "more than once" in ended.talk
    # A part of a recording, as it was while it still grew, is that recording.
    part = folder / "part.cairn"
    part.write_bytes(files[0].read_bytes()[:-200])
    merged(cairn, folder / "parts", part, *files)
    assert content(folder / "parts") == content(folder / "all")


def test_it_says_what_its_parts_say_together(cairn, files, folder):
    merged(cairn, folder / "all", *files)
    document = assert_the_same(cairn, folder / "all", *files)
    alone = [report(cairn, file)[0]["quality"] for file in files]
    for key in ("samples", "missed", "own_cpu_s"):
        total = sum(quality[key] for quality in alone)
        assert abs(document["quality"][key] - total) < 1e-6, key
    assert document["quality"]["ended"]
    assert cairn.collapsed(folder / "all")


def test_what_was_cut_off_stays_so(cairn, files, folder):
    cut = folder / "cut.cairn"
    cut.write_bytes(files[0].read_bytes()[:-200])
    merged(cairn, folder / "out", cut, files[1])
    document = assert_the_same(cairn, folder / "out", files[1], cut)
    assert not document["quality"]["ended"] and document["quality"]["jumped_bytes"] > 0


def test_damage_is_counted_as_before(cairn, files, folder):
    data = bytearray(files[0].read_bytes())
    for at in (len(data) // 3, len(data) // 2):
        data[at] ^= 0xFF
    (folder / "bad.cairn").write_bytes(data)
    merged(cairn, folder / "out", folder / "bad.cairn", files[1])
    document = assert_the_same(cairn, folder / "out", files[1], folder / "bad.cairn")
    quality = document["quality"]
    assert quality["damaged_chunks"] + quality["jumped_chunks"] > 0


def test_a_missing_file_stays_missing(cairn, files, folder):
    for member in members(files[2]):
        shutil.copy(member, folder / member.name)
    (folder / "rotated.cairn.1").unlink()
    merged(cairn, folder / "out", files[0], folder / "rotated.cairn")
    numbers = sorted(int(path.suffix[1:] or 0) for path in folder.glob("out*"))
    assert len(numbers) == len(members(files[2])) and numbers[-1] == len(numbers), numbers
    assert_the_same(cairn, folder / "out", files[0], folder / "rotated.cairn")


def test_files_that_exist_are_left_alone(cairn, files, folder):
    (folder / "out.1").write_text("mine")
    ended = cairn("merge", "-o", folder / "out", *files)
    assert ended.status == harness.CAIRN_FAILED and "out.1 exists" in ended.talk
    assert (folder / "out.1").read_text() == "mine" and not (folder / "out").exists()
    merged(cairn, folder / "out", *files, options=["--force"])
    assert_the_same(cairn, folder / "out", *files)


def test_what_is_read_may_be_written_over(cairn, files, folder):
    shutil.copy(files[0], folder / "own.cairn")
    merged(cairn, folder / "all", *files[:2])
    merged(cairn, folder / "own.cairn", folder / "own.cairn", files[1], options=["--force"])
    assert content(folder / "own.cairn") == content(folder / "all")


def test_what_cannot_be_merged_leaves_nothing(cairn, files, folder):
    (folder / "not.cairn").write_bytes(b"no recording")
    ended = cairn("merge", "-o", folder / "out", files[0], folder / "not.cairn")
    assert "not.cairn" in ended.expect(harness.DAMAGED).talk and not list(folder.glob("out*"))
    assert "cairn import" in ended.talk
    ended = cairn("merge", *files).expect(harness.USAGE)
    assert "-o" in ended.talk


def test_what_several_say_of_their_runs_is_of_all(cairn, python, folder):
    """And not of the first, beside the samples of all."""
    for name, status in (("a.cairn", 0), ("b.cairn", 0), ("c.cairn", 3)):
        code = f"import time; t = time.process_time()\nwhile time.process_time() < t + 0.2: pass\nraise SystemExit({status})"
        cairn("run", "-o", name, "--", python.executable, "-c", code).expect(status)
    alone = {name: cairn.report(name)["recording"] for name in ("a.cairn", "b.cairn", "c.cairn")}
    assert {one["recordings"] for one in alone.values()} == {1}
    for names, status in ((["a.cairn", "b.cairn"], 0), (["a.cairn", "c.cairn"], None)):
        cairn("merge", "--force", "-o", "merged", *names).expect()
        for files in (names, ["merged"]):
            told = cairn("report", "--json", *files).expect().json()["recording"]
            assert told["recordings"] == 2 and told["exit"] == status
            for key in ("wall_s", "user_s", "sys_s"):
                assert told[key] == pytest.approx(sum(alone[name][key] for name in names), abs=1e-6), key
            assert told["peak_bytes"] == max(alone[name]["peak_bytes"] for name in names)
            text = cairn("report", *files).expect().text
            assert " wall in 2 recordings" in text.splitlines()[0] and ("exit 0" in text) == (status == 0)

"""`cairn run`: what is run, and that it cannot tell that it is."""
import os
import re
import stat
import zipapp

import pytest

import harness
from harness import execute


def bin_with(folder, name, text):
    """A folder for PATH with one executable script in it."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    script = place / name
    script.write_text(text)
    script.chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}"}


@pytest.fixture
def path_python(folder, python):
    """An environment whose python3 is a shell script, as the shims of pyenv are."""
    return bin_with(folder, "python3", f'#!/bin/sh\nexec "{python.executable}" "$@"\n')


TELLS = "import sys; print(__name__, sys.argv[1:], sys.stdin.read())"


def test_every_way_to_name_a_program(cairn, folder, path_python):
    (folder / "script.py").write_text(TELLS)
    (folder / "tool").write_text("#!/usr/bin/env python3\n" + TELLS)
    (folder / "tool").chmod(0o755)
    (folder / "package").mkdir()
    (folder / "package" / "__main__.py").write_text(TELLS)
    zipapp.create_archive(folder / "package", folder / "package.pyz")
    forms = [
        ["script.py"],
        ["--", "script.py"],
        ["./tool"],
        ["package"],
        ["package.pyz"],
        ["-m", "script"],
        ["-c", TELLS],
        ["--", "-c", TELLS],
        ["python3", "script.py"],
        ["sh", "-c", 'python3 script.py "$@"; exit 5', "sh"],
    ]
    for form in forms:
        ended = cairn("run", *form, "-o", "a b", data=b"in", env=path_python)
        assert ended.out == b"__main__ ['-o', 'a b'] in\n", (form, ended)
        assert ended.status == (5 if form[0] == "sh" else 0), (form, ended)


def test_a_command_line_of_more_than_a_megabyte(cairn, python, folder):
    """As many words as the kernel takes: what is shown of them may be cut, the program is run."""
    words = ["word" * 30_000] * 10
    code = "import sys; print(sum(map(len, sys.argv[1:])))"
    ended = cairn("run", "-o", "x.cairn", "--", python.executable, "-c", code, *words).expect()
    assert int(ended.text) == 1_200_000
    command = cairn.report(folder / "x.cairn")["recording"]["command"]
    assert command.startswith(python.executable)


def test_python_option_chooses_the_interpreter(cairn, folder, interpreter):
    if interpreter.chroot:
        pytest.skip("--python names a file of this system, not one in a chroot")
    code = "import sys; print(*sys.version_info[:3])"
    ended = cairn("run", "--python", interpreter.executable, "-c", code).expect()
    assert ended.text.split() == [str(n) for n in interpreter.version]


@pytest.mark.parametrize("status", [0, 1, 3, 42, 120, 130, 255])
def test_exit_status_is_the_programs(cairn, python, status):
    ended = cairn("run", "--", *python.command("exits.py", status)).expect(status)
    assert ended.out == b"" and "samples" in ended.talk


@pytest.mark.parametrize("status", range(121, 128))
def test_a_status_of_cairns_own_range_is_said_to_be_the_targets(cairn, python, status):
    ended = cairn("run", "--", *python.command("exits.py", status)).expect(status)
    assert [line for line in ended.talk.splitlines() if str(status) in line], ended.talk


@pytest.mark.parametrize("number", [2, 6, 9, 11, 15])
def test_death_by_signal_is_128_plus_its_number(cairn, python, number):
    cairn("run", "--", *python.command("killed.py", number)).expect(128 + number)


def test_what_is_not_there_or_not_executable_is_as_in_a_shell(cairn, folder):
    (folder / "plain").write_text("text")
    for form, name, status in [
        (["nosuch.py"], "nosuch.py", harness.NOT_FOUND),
        (["nosuch-command"], "nosuch-command", harness.NOT_FOUND),
        (["./plain"], "plain", harness.NOT_EXECUTABLE),
        (["--python", "/nosuch/python3", "-c", "0"], "/nosuch/python3", harness.NOT_FOUND),
    ]:
        ended = cairn("run", *form).expect(status)
        assert ended.out == b"" and name in ended.talk
        assert not list(folder.glob(".cairn/*.cairn")), "nothing ran, nothing is left behind"


def test_a_program_sees_no_difference(cairn, interpreter, folder):
    if interpreter.chroot:
        pytest.skip("the chroot has no /proc for the program to look at")
    command = interpreter.command("surroundings.py", "one", "two words", "-o")
    alone = execute(command, cwd=folder, env=cairn.environment()).expect()
    under = cairn("run", "--", *command).expect()
    assert under.json() == alone.json()
    assert under.out == alone.out


def test_traceback_and_output_of_a_failing_program_are_unchanged(cairn, interpreter):
    command = interpreter.command("fails.py")
    alone = execute(command, env=cairn.environment()).expect(1)
    assert b"ValueError: as asked" in alone.err
    quiet = cairn("run", "--report", "none", "--", *command).expect(1)
    assert quiet.out == alone.out and quiet.err.startswith(alone.err)
    line = quiet.err.removeprefix(alone.err)
    assert line.count(b"\n") == 1 and b"until then" in line, "how far the profile reaches"
    under = cairn("run", "--", *command).expect(1)
    assert under.out == alone.out and under.err.startswith(alone.err + line)


def test_csv_on_stdout_stays_clean(cairn, interpreter):
    command = interpreter.command("csv_out.py")
    alone = execute(command).expect()
    assert len(alone.out) > 100_000
    under = cairn("run", "--", *command).expect()
    assert under.out == alone.out
    assert under.err, "the report goes to stderr"


def test_report_none_and_file(cairn, python, folder):
    command = python.command("busy.py", 1)
    assert cairn("run", "--report", "none", "--", *command).expect().err == b""
    ended = cairn("run", "-o", "x.cairn", "--report", "out.txt", "--", *command).expect()
    assert ended.err == b"" and "samples" in (folder / "out.txt").read_text()
    cairn.need_sight(folder / "x.cairn", ended)
    assert "heavy" in (folder / "out.txt").read_text()


def test_stdin_is_the_programs(cairn, interpreter):
    data = os.urandom(300_000)
    alone = execute(interpreter.command("reads_stdin.py"), data).expect()
    under = cairn("run", "--", *interpreter.command("reads_stdin.py"), data=data).expect()
    assert under.out == alone.out and alone.json()["bytes"] == len(data)


def test_an_empty_stdin_is_empty(cairn, python):
    command = python.command("reads_stdin.py")
    under = cairn("run", "--", *command, data=None, stdin=open(os.devnull, "rb")).expect()
    assert under.json()["bytes"] == 0


def test_recordings_go_to_a_folder_of_their_own(cairn, python, folder):
    cairn("run", "--", *python.command("exits.py", 0)).expect()
    place = folder / ".cairn"
    recordings = list(place.glob("*.cairn"))
    assert (place / ".gitignore").exists() and len(recordings) == 1
    assert re.fullmatch(r".+-.+-\d+\.cairn", recordings[0].name)
    assert stat.S_IMODE(recordings[0].stat().st_mode) == 0o600


def test_recording_moves_when_the_folder_cannot_be_written(cairn, python, folder):
    locked, temporary = folder / "locked", folder / "tmp"
    locked.mkdir()
    temporary.mkdir(mode=0o777)
    temporary.chmod(0o777)
    # Root may write anywhere; only a file in the way stops everybody.
    (locked / ".cairn").write_text("in the way")
    ended = cairn(
        "run", "--", *python.command("exits.py", 0), cwd=locked, env={"TMPDIR": str(temporary)}
    ).expect()
    assert list(temporary.rglob("*.cairn")), "it went to $TMPDIR"
    assert str(temporary) in ended.talk, "and said so"
    assert (locked / ".cairn").read_text() == "in the way"


def test_an_existing_output_is_kept(cairn, python, folder):
    out = folder / "out.cairn"
    out.write_text("precious")
    command = python.command("exits.py", 0)
    ended = cairn("run", "-o", out, "--", *command)
    ended.expect(harness.CAIRN_FAILED)
    assert out.read_text() == "precious" and "out.cairn" in ended.talk
    cairn("run", "--force", "-o", out, "--", *command).expect()
    assert cairn.report(out)["schema"] >= 0


@pytest.mark.alone
def test_for_ends_the_recording_and_not_the_program(cairn, python, folder):
    out = folder / "out.cairn"
    ended = cairn("run", "--for", "400ms", "-o", out, "--", *python.command("busy.py", 1.5))
    assert ended.expect().last_json()["wall_s"] >= 1.5
    recorded_s = sum(cairn.collapsed(out).values()) / 1e6
    assert 0.1 < recorded_s < 0.5 + cairn.blind_s(out, ended), recorded_s


@pytest.mark.alone
@pytest.mark.parametrize("rate, hz", [("100hz", 100), ("500", 500)])
def test_rate(cairn, python, rate, hz):
    """So many ticks were due while it ran. Each interval is between half the mean and three halves of it,
    all alike, so of n of them 5.4 times sqrt(n / 12) is chance less than once in ten million times; the
    last tick is due before the end or behind it."""
    file, _ = cairn.record(python, "busy.py", 1.0, options=["-r", rate])
    report = cairn.report(file)
    quality, due = report["quality"], hz * report["recording"]["wall_s"]
    assert abs(quality["ticks"] + quality["missed"] - due) < 5.4 * (due / 12) ** 0.5 + 3
    assert quality["ticks"] > 0


@pytest.mark.alone
def test_max_rate_is_faster_than_the_default(cairn, python):
    default, _ = cairn.record(python, "busy.py", 0.5)
    slow = cairn.report(default)["quality"]["ticks"]
    fast, _ = cairn.record(python, "busy.py", 0.5, options=["-r", "max"])
    assert cairn.report(fast)["quality"]["ticks"] > 3 * slow


@pytest.mark.parametrize(
    "option",
    [
        ["-r", "0"], ["-r", "-1"], ["-r", "fast"], ["-r", "99999999999999999999"],
        ["--for", "0"], ["--for", "-3s"], ["--for", "3 parsecs"], ["--for", "1e400s"],
        ["--nosuchoption"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_option_values_out_of_range_are_bad_usage(cairn, python, folder, option):
    started = folder / "started"
    program = ["--", python.executable, "-c", f"open({str(started)!r}, 'w')"]
    ended = cairn("run", *option, *program).expect(harness.USAGE)
    assert ended.out == b"" and not started.exists()
    assert option[-1] in ended.talk, "the message shows what was not understood"


def test_an_option_without_its_value_is_bad_usage(cairn):
    ended = cairn("run", "-o").expect(harness.USAGE)
    assert ended.out == b"" and "-o" in ended.talk


def test_run_without_a_program_is_bad_usage(cairn):
    ended = cairn("run").expect(harness.USAGE)
    assert ended.out == b"" and ended.err


MANY_NAMES = """
import threading, time
for _ in range(600):
    threads = [threading.Thread(target=time.sleep, args=(0.002,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_a_name_stays_with_its_thread_in_every_file(cairn, python, folder):
    """Names of threads are let go of when the threads are over: 7,200 here, none twice."""
    (folder / "many.py").write_text(MANY_NAMES)
    options = ["-r", "1khz", "--rotate", "64k", "-o", folder / "x.cairn"]
    cairn("run", *options, "--", python.executable, folder / "many.py").expect()
    assert len(list(folder.glob("x.cairn*"))) > 1, "it was large enough to be rotated"
    rows = cairn.report(folder / "x.cairn", "--by", "thread", "--limit", "100000")["rows"]
    numbers = {}
    for row in rows:
        found = re.fullmatch(r"Thread-(\d+)( \(sleep\))?", row["qualname"])
        if found:
            numbers.setdefault(int(found[1]), []).append(row["tid"])
        else:  # it was over before Python's word of it was read, or it is the first
            assert row["qualname"] == "MainThread" or row["qualname"].startswith("python"), row
    assert len(numbers) > 2000
    assert max(map(len, numbers.values())) == 1
    assert cairn.report(folder / "x.cairn")["quality"]["unknown_refs"] == 0


def test_a_set_of_files_is_read_as_one(cairn, python, folder):
    out = folder / "x.cairn"
    options = ["-r", "max", "--rotate", "64k"]
    cairn("run", *options, "-o", out, "--", *python.command("flutter.py", 2)).expect()
    files = sorted(folder.glob("x.cairn*"))
    assert len(files) > 1 and out in files
    alone = [sum(cairn.collapsed(file, "--unit", "samples").values()) for file in files[1:]]
    assert all(alone), "each file is a whole recording"
    whole = cairn.report(out)["quality"]
    assert whole["samples"] > sum(alone)
    assert whole["bytes"] == sum(file.stat().st_size for file in files)

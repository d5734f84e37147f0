"""What people type first. Program output is compared byte by byte; Cairn's by what it must say."""
import os

import pytest

import harness
from harness import execute


def within_80(text):
    return all(len(line) <= 80 for line in text.splitlines())


def test_cairn_alone(cairn):
    ended = cairn().expect(0)
    assert ended.err == b"" and within_80(ended.text)
    commands = [line.split()[1] for line in ended.text.splitlines() if line.startswith("  cairn ")]
    assert commands and {"run", "attach", "dump", "report", "export"} <= set(commands)
    assert len(ended.text.splitlines()) <= 24, "one screen"


def test_cairn_alone_names_the_last_recording(cairn, python):
    cairn("run", "--", *python.command("exits.py", 0)).expect()
    recording = next((cairn.folder / ".cairn").glob("*.cairn"))
    assert recording.name in cairn().expect(0).text


@pytest.fixture
def script(folder):
    (folder / "script.py").write_text("import sys\nprint('hello', sys.argv, __name__)\n")
    return "script.py"


HELLO = b"hello ['script.py', '-x', 'y'] __main__\n"


def test_a_script_means_run(cairn, script):
    assert cairn(script, "-x", "y").expect().out == HELLO


def test_dash_m_and_dash_c_mean_run(cairn, script):
    ended = cairn("-m", "script", "-x").expect()
    assert ended.out.startswith(b"hello ['") and b"'-x'] __main__" in ended.out
    assert cairn("-c", "print(6 * 7)").expect().out == b"42\n"


def test_python_dash_m_cairn(cairn, python, script):
    package = harness.ROOT / "build" / "python"
    env = cairn.environment(PYTHONPATH=str(package))
    ended = execute(
        [python.executable, "-m", "cairn", script, "-x", "y"], cwd=cairn.folder, env=env
    )
    assert ended.expect().out == HELLO and ended.err
    code = ["-c", "import sys; print(sys.executable)"]
    ended = execute([python.executable, "-m", "cairn", *code], cwd=cairn.folder, env=env)
    assert ended.expect().text.strip() == python.executable, "that interpreter, not another"


@pytest.mark.parametrize("word, hint", [("repotr", "report"), ("attatch", "attach"), ("rn", "run")])
def test_an_unknown_word_gets_the_nearest_command(cairn, word, hint):
    ended = cairn(word).expect(harness.USAGE)
    assert ended.out == b"" and word in ended.talk and f"cairn {hint}" in ended.talk


def test_an_unknown_word_gets_the_nearest_file(cairn, script):
    ended = cairn("scirpt.py").expect(harness.NOT_FOUND)
    assert ended.out == b"" and "script.py" in ended.talk


def test_a_commands_name_wins_over_a_file(cairn, folder):
    (folder / "report").write_text("#!/usr/bin/env python3\nprint('a file')\n")
    (folder / "report").chmod(0o755)
    ended = cairn("report")
    assert b"a file" not in ended.out and ended.status != 0


def test_help_of_every_command(cairn):
    for words in (["--help"], ["run", "--help"], ["attach", "--help"], ["dump", "--help"],
                  ["report", "--help"], ["export", "--help"]):
        ended = cairn(*words).expect(0)
        assert ended.err == b"" and "cairn" in ended.text and within_80(ended.text), words
    version = cairn("--version").expect(0)
    assert version.text.startswith("cairn ") and version.err == b""


def test_reading_without_a_recording_says_how_to_make_one(cairn):
    for command in (["report"], ["export", "-f", "collapsed"]):
        ended = cairn(*command).expect(harness.NOT_FOUND)
        assert ended.out == b"" and "cairn run" in ended.talk


def test_a_script_that_fails(cairn, python, folder):
    (folder / "bad.py").write_text("def f():\n    return 1 / 0\nf()\n")
    alone = execute([python.executable, "bad.py"], cwd=folder, env=cairn.environment())
    ended = cairn("run", "--python", python.executable, "bad.py").expect(1)
    assert ended.out == b"" and alone.err in ended.err


def test_a_syntax_error_is_the_programs_too(cairn, python, folder):
    (folder / "bad.py").write_text("def f(:\n")
    alone = execute([python.executable, "bad.py"], cwd=folder, env=cairn.environment())
    ended = cairn("run", "--python", python.executable, "bad.py").expect(1)
    assert alone.err in ended.err


def test_no_permission(cairn, python, worker, folder):
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    target = worker(python)
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    binary = folder / "cairn"
    binary.write_bytes(cairn.binary.read_bytes())
    binary.chmod(0o755)
    folder.chmod(0o777)
    for command in ("attach", "dump"):
        ended = execute([*nobody, binary, command, target.pid], cwd=folder, env=cairn.environment())
        ended.expect(harness.NO_PERMISSION)
        assert ended.out == b"" and str(target.pid) in ended.talk
        assert len(ended.talk.splitlines()) <= 6 and "sudo" in ended.talk, "and what to do"
    target.check_answer()


def test_an_unprivileged_user_can_profile_their_own(cairn, folder):
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    system = "/usr/bin/python3"
    if (harness.version_of(system) or (0,))[:2] not in harness.SUPPORTED:
        pytest.skip(f"{system} is not a supported CPython that everybody may read")
    folder.chmod(0o777)
    for source in (cairn.binary, harness.TARGETS / "busy.py"):
        copy = folder / source.name
        copy.write_bytes(source.read_bytes())
        copy.chmod(0o755)
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    run = [*nobody, folder / cairn.binary.name, "run", "-o", "x.cairn", system, "busy.py", "1"]
    ended = execute(run, cwd=folder, env=cairn.environment(HOME=str(folder))).expect()
    truth = ended.last_json()
    stacks, near_s = cairn.collapsed(folder / "x.cairn"), 0.1 + cairn.blind_s(folder / "x.cairn", ended)
    assert abs(harness.time_in(stacks, "heavy") / 1e6 - truth["spent_s"]["heavy"]) < near_s
    cpu = sum(cairn.collapsed(folder / "x.cairn", "--metric", "cpu").values()) / 1e6
    assert cpu > 0.95 * truth["cpu_s"], "cpu is measured without root as well"


def test_it_runs_from_a_read_only_folder_with_no_home(cairn, python, folder):
    out = folder / "x.cairn"
    env = {"PATH": os.environ["PATH"]}
    run = [cairn.binary, "run", "-o", out, "--", *python.command("exits.py", 0)]
    execute(run, cwd="/proc", env=env).expect()
    assert cairn.report(out)["quality"]["samples"] > 0


def test_its_own_python_is_not_needed(cairn, folder, python):
    """The command is native: it runs where no python3 is on PATH."""
    run = ["run", "-o", "x.cairn", "--", python.executable, "-c", "print(1)"]
    assert cairn(*run, env={"PATH": str(folder)}).expect().out == b"1\n"

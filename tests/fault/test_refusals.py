"""Bad input: one clear answer, the right status, and nothing left behind."""
import os
import signal
from pathlib import Path

import pytest

import harness
from harness import finish, read_line

INSTALLED = harness.installed_interpreters()
UNSUPPORTED = [i for i in INSTALLED if i.version[:2] not in harness.SUPPORTED]
READY = "import sys; sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read()"


def one_clear_answer(ended):
    """What failed, why, and what to do: a few lines on stderr, and no table after them."""
    assert ended.out == b"" and ended.err
    assert len(ended.talk.splitlines()) <= 6, ended.talk
    return ended.talk


@pytest.mark.parametrize("command", ["attach", "dump"])
def test_no_such_pid(cairn, folder, command, free_pid):
    ended = cairn(command, free_pid).expect(harness.CAIRN_FAILED)
    assert str(free_pid) in one_clear_answer(ended)
    assert not list(folder.rglob("*.cairn")), "no empty recording is left behind"


@pytest.mark.parametrize("command", ["attach", "dump"])
@pytest.mark.parametrize(
    "pid", ["0", "-1", "12x", "", "99999999999999999999", "1.5", "me", None], ids=str
)
def test_what_is_no_pid(cairn, command, pid):
    ended = cairn(command, *([] if pid is None else ["--", pid]))
    one_clear_answer(ended.expect(harness.USAGE))


@pytest.mark.parametrize("command", ["attach", "dump"])
def test_not_python(cairn, folder, command):
    process = harness.spawn(["sleep", "30"])
    try:
        ended = cairn(command, process.pid).expect(harness.NOT_SUPPORTED)
        assert "sleep" in one_clear_answer(ended)
        assert process.poll() is None, "it is still running"
    finally:
        harness.end_group(process)
        finish(process)
    assert not list(folder.rglob("*.cairn"))


@pytest.mark.parametrize("duration", ["1s", "300ms", "1ms"])
def test_not_python_for_a_while(cairn, folder, duration):
    """A recording that was over before Cairn would have said so is no recording either."""
    process = harness.spawn(["sleep", "30"])
    try:
        ended = cairn("attach", "--for", duration, process.pid).expect(harness.NOT_SUPPORTED)
        assert "sleep" in one_clear_answer(ended)
        assert f"process {process.pid} runs no Python" in ended.talk
    finally:
        harness.end_group(process)
        finish(process)
    assert not list(folder.iterdir())


def await_watching(attached, pid):
    """Until Cairn keeps files of a thread of it open: it observes it, and the signals are its own."""
    links = Path(f"/proc/{attached.pid}/fd")
    while not any(target_of(link).startswith(f"/proc/{pid}/task/") for link in links.iterdir()):
        assert attached.poll() is None, attached.stderr.read()


def target_of(link):
    try:
        return os.readlink(link)
    except FileNotFoundError:  # closed meanwhile
        return ""


@pytest.mark.parametrize("how", ["interrupted", "it ends"])
def test_not_python_and_over_early(cairn, folder, how):
    process = harness.spawn(["cat"])
    attached = cairn.spawn("attach", process.pid)
    try:
        await_watching(attached, process.pid)
        if how == "interrupted":
            os.kill(attached.pid, signal.SIGINT)
        else:
            finish(process).expect(0)
        ended = finish(attached).expect(harness.NOT_SUPPORTED)
        assert f"process {process.pid}" in one_clear_answer(ended) and "Python" in ended.talk
    finally:
        harness.end_group(process)
        finish(process)
    assert not list(folder.iterdir())


def test_run_of_what_is_not_python(cairn):
    ended = cairn("run", "--", "sh", "-c", "echo out; exit 0").expect(0)
    assert ended.out == b"out\n"
    assert "no Python was seen in" in ended.talk


@pytest.mark.parametrize("old", UNSUPPORTED, ids=lambda i: i.label)
def test_unsupported_version_is_refused_by_name(cairn, old):
    name = f"{old.version[0]}.{old.version[1]}"
    process = harness.spawn([old.executable, "-c", READY])
    try:
        assert read_line(process) == "ready"
        for command in ("attach", "dump"):
            ended = cairn(command, process.pid).expect(harness.NOT_SUPPORTED)
            assert name in one_clear_answer(ended)
        assert process.poll() is None
    finally:
        assert finish(process).status == 0
    ended = cairn("run", "--", old.executable, "-c", "print('still its own')")
    assert ended.out == b"still its own\n" and name in ended.talk
    ended.expect(harness.NOT_SUPPORTED)


def test_target_killed_while_it_is_sampled(cairn, interpreter, worker, folder):
    target = worker(interpreter)
    attached = cairn.spawn("attach", "-r", "max", "-o", "x.cairn", target.pid)
    while not (folder / "x.cairn").exists():
        assert attached.poll() is None, attached.stderr.read()
    os.kill(target.pid, signal.SIGKILL)
    ended = finish(attached, deadline_s=20)
    # Killed before the first sample it is "gone"; after it, an end like any other.
    assert ended.status in (0, harness.CAIRN_FAILED, harness.NOT_SUPPORTED), ended.talk
    if ended.status == 0:
        assert cairn.report(folder / "x.cairn")["schema"] >= 0
    else:
        assert not (folder / "x.cairn").exists(), "nothing was seen, nothing is left"


def test_short_lives_all_end_well(cairn, interpreter):
    """Processes that are gone while Cairn finds out what they are: never a wrong status."""
    command = interpreter.command("exits.py", 9, 0)
    for _ in range(10):
        ended = cairn("run", "-r", "max", "-o", "x.cairn", "--force", "--", *command).expect(9)
        assert ended.out == b""


def test_exec_storm(cairn, python, folder):
    """A program that becomes itself again fifty times, each within a few milliseconds."""
    (folder / "again.py").write_text(
        "import os, sys\n"
        "n = int(sys.argv[1])\n"
        "if n: os.execv(sys.executable, [sys.executable, __file__, str(n - 1)])\n"
        "print('done')\n"
    )
    command = [python.executable, folder / "again.py", "50"]
    ended = cairn("run", "-r", "max", "-o", "x.cairn", "--", *command).expect()
    assert ended.out == b"done\n"
    assert cairn.report(folder / "x.cairn")["quality"]["samples"] > 0


def test_fork_storm(cairn, python, folder):
    (folder / "forks.py").write_text(
        "import os\n"
        "for _ in range(100):\n"
        "    pid = os.fork()\n"
        "    if pid == 0: os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "print('done')\n"
    )
    command = [python.executable, folder / "forks.py"]
    ended = cairn("run", "-r", "max", "-o", "x.cairn", "--", *command).expect()
    assert ended.out == b"done\n"


def test_a_disk_that_fills_up(cairn, python, folder):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small]
    if harness.execute(mount).status != 0:
        pytest.skip("this machine does not let its root mount a tmpfs")
    try:
        (small / "fill").write_bytes(bytes(60 * 1024))
        command = python.command("busy.py", 1.5)
        ended = cairn("run", "-r", "max", "-o", small / "x.cairn", "--", *command)
        assert ended.last_json()["wall_s"] >= 1.5, "the program is not cut short"
        assert ended.status in (0, harness.CAIRN_FAILED) and "space" in ended.talk.lower()
    finally:
        harness.execute(["umount", small]).expect()


def test_a_folder_that_is_not_there(cairn, python):
    command = python.command("exits.py", 0)
    ended = cairn("run", "-o", "/nosuch/folder/x.cairn", "--", *command)
    assert ended.status in (harness.CAIRN_FAILED, harness.NOT_FOUND)
    assert "/nosuch/folder" in one_clear_answer(ended)

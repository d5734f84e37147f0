"""What befalls a program while it is looked at: it is stopped, runs out of memory, is replaced on
disk; and the wall clock is set."""
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

import harness
from harness import execute, finish, time_in

STOPPED_S = 0.8
# It is there for longer than a machine stands still before it wants too much: so it is seen.
HOG = """
import time
until = time.monotonic() + 1.5
while time.monotonic() < until: pass
held = []
while True: held.append(bytearray(b'x' * (1 << 20)))
"""
MEMORY_GROUPS = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")]
INSTALLED = [i for i in harness.supported_interpreters() if not i.chroot]
WALL_CLOCK = {"cairn_clock_real_ns", "clock_gettime", "gettimeofday", "time"}


def wait_until(true, process):
    deadline = time.monotonic() + harness.DEADLINE_S
    while not true():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def has_samples(cairn, file):
    def check():
        if not file.exists() or not file.stat().st_size:
            return False
        ended = cairn("report", "--json", file)
        return ended.status == 0 and ended.json()["quality"]["samples"] > 0

    return check


def test_stopped_and_continued(cairn, python, worker, folder):
    """As long as it is stopped it is `stopped`, and the states add up to the time all the same."""
    target = worker(python)
    file = folder / "x.cairn"
    attached = cairn.spawn("attach", "--flush", "50ms", "-o", file, target.pid)
    wait_until(has_samples(cairn, file), attached)
    before_s = time.monotonic()
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: state_of(target.pid) == "T", attached)
    since_s = time.monotonic()
    time.sleep(STOPPED_S)  # what is measured, not what is waited for
    least_s = time.monotonic() - since_s
    os.kill(target.pid, signal.SIGCONT)
    wait_until(lambda: state_of(target.pid) != "T", attached)
    most_s = time.monotonic() - before_s
    before = target_ran(cairn, file)
    wait_until(lambda: target_ran(cairn, file) > before + 0.1, attached)
    os.kill(attached.pid, signal.SIGINT)
    ended = finish(attached).expect()
    document, near_s = cairn.report(file), 0.15 + cairn.blind_s(file, ended)
    states = document["states"]
    assert abs(sum(states.values()) - document["total_s"]) < 1e-3
    assert least_s - near_s < states["stopped_s"] < most_s + near_s, (least_s, most_s, states)
    target.check_answer()


def target_ran(cairn, file):
    states = cairn.report(file)["states"]
    return states["running_s"] + states["runnable_s"]


@pytest.mark.parametrize("some", [INSTALLED[0], INSTALLED[-1]], ids=lambda i: i.label)
def test_a_program_that_runs_out_of_memory(cairn, some):
    limit = ["prlimit", f"--as={400 << 20}"]
    ended = cairn("run", "-o", "x.cairn", "--", *limit, some.executable, "-c", HOG).expect(1)
    assert "MemoryError" in ended.talk and "the profile covers everything until then" in ended.talk
    assert time_in(cairn.collapsed("x.cairn"), "<module>") > 0


@pytest.fixture
def memory_group():
    """A control group that may hold 64 MiB."""
    for root in MEMORY_GROUPS:
        group = root / f"cairn-test-{os.getpid()}"
        limits = [group / name for name in ("memory.limit_in_bytes", "memory.max")]
        try:
            group.mkdir()
        except OSError:
            continue
        found = [limit for limit in limits if limit.exists()]
        if found:
            found[0].write_text(str(64 << 20))
            yield group
            group.rmdir()
            return
        group.rmdir()
    pytest.skip("no memory control group may be made here (needs root and that controller)")


def test_a_program_that_the_kernel_kills_for_memory(cairn, python, memory_group):
    """The killer takes the program; what was seen of it until then is reported."""
    join = f"echo $$ > {memory_group}/cgroup.procs && exec \"$@\""
    command = ["sh", "-c", join, "sh", python.executable, "-c", HOG]
    ended = cairn("run", "-o", "x.cairn", "--", *command).expect(128 + signal.SIGKILL)
    assert "signal 9" in ended.talk
    assert time_in(cairn.collapsed("x.cairn"), "<module>") > 0


def mapped_python(pid):
    """The files of the interpreter that a process maps: its executable, its library if it has one."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return set(re.findall(r"(/\S*/(?:lib)?python3[^/\s]*)$", maps, re.MULTILINE))


@pytest.fixture
def installation(folder):
    """A copy of an interpreter's own files, running worker.py: what it maps of them."""
    started = []

    def start(interpreter, prefix=()):
        code = "import sys, sysconfig; print(sys.base_prefix, sysconfig.get_config_var('LIBDIR'))"
        told = execute([interpreter.executable, "-c", code]).text.split()
        copy = folder / "python3"
        shutil.copy(Path(interpreter.executable).resolve(), copy)
        for library in Path(told[1]).glob(f"libpython3.{interpreter.version[1]}.so*"):
            shutil.copy(library, folder)
        env = dict(os.environ, PYTHONHOME=told[0], LD_LIBRARY_PATH=str(folder))
        command = [*prefix, copy, harness.TARGETS / "worker.py"]
        process = harness.spawn(command, env=env)
        started.append(process)
        target = harness.Worker(process)
        files = mapped_python(target.pid)
        assert files and all(Path(file).parent == folder for file in files), "only copies are touched"
        return target, files

    yield start
    for process in started:
        harness.end_group(process)
        finish(process)


@pytest.mark.parametrize("fate", ["deleted", "replaced by another", "replaced by no program"])
def test_an_interpreter_that_is_gone_from_the_disk(cairn, installation, interpreter, fate, folder):
    """An upgrade renames new files over those that run: what is mapped is what is looked into."""
    if interpreter.chroot:
        pytest.skip("copies the interpreter; done for those installed here")
    if os.geteuid() != 0:
        pytest.skip("only root may open what is mapped and has no name any more")
    target, files = installation(interpreter)
    other = next(i for i in INSTALLED if i.version[:2] != interpreter.version[:2])
    for file in files:
        if fate == "deleted":
            os.unlink(file)
            continue
        if fate == "replaced by another":
            shutil.copy(Path(other.executable).resolve(), folder / "new")
        else:
            (folder / "new").write_bytes(b"#!/bin/sh\n" * 1000)
        os.rename(folder / "new", file)
    ended = cairn("attach", "--for", "300ms", "-o", "x.cairn", target.pid).expect()
    document = cairn.report("x.cairn")
    told = document["recording"]["environment"]["target.python"]
    assert told.startswith(".".join(map(str, interpreter.version)))
    least_us = 150_000 - cairn.blind_s("x.cairn", ended) * 1e6
    assert time_in(cairn.collapsed("x.cairn"), "one_round") > max(0, least_us)
    target.check_answer()


def test_a_library_that_is_gone_from_the_disk_and_only_root_may_open(cairn, installation, interpreter):
    """Where its code lies is known by that file alone: it is named, and what would allow to open it."""
    if interpreter.chroot:
        pytest.skip("copies the interpreter; done for those installed here")
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, to give up a part of its rights, and setpriv")
    target, files = installation(interpreter)
    for file in files:
        os.unlink(file)
    lost = "-sys_admin,-checkpoint_restore"
    fewer = ["setpriv", "--bounding-set", lost, "--inh-caps", lost, cairn.binary]
    shared = [file for file in files if "libpython" in Path(file).name]
    for command in (["dump"], ["attach", "--for", "100ms", "-o", "x.cairn"], ["doctor"]):
        ended = execute([*fewer, *command, str(target.pid)], cwd=cairn.folder, env=cairn.environment())
        if not shared:  # the program's own file is always to be had
            ended.expect(0)
            continue
        told = ended.expect(harness.NO_PERMISSION).text + ended.talk
        assert "is deleted or replaced: root alone may look into it" in told, told
        assert f"sudo cairn {'dump' if command == ['dump'] else 'attach'} {target.pid}" in told, told
    target.check_answer()


def test_the_wall_clock_decides_nothing():
    """Setting the clock would set it for the whole machine. So: what collects does not ask for it;
    the only use below is the anchors that lay a recording on the calendar."""
    build = harness.cairn_binary().parent
    users = {}
    for floor in ("base", "trace", "collect"):
        library, member = build / "src" / f"libcairn-{floor}.a", None
        for line in execute(["nm", "-u", library]).expect().text.splitlines():
            member = line[:-1] if line.endswith(":") else member
            if line.split()[-1:] and line.split()[-1] in WALL_CLOCK:
                users.setdefault(floor, set()).add(re.sub(r".*?(\w+)\.c\.o$", r"\1", member))
    assert users == {"base": {"base_clock", "base_rng"}, "trace": {"trace_writer"}}

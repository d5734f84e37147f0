"""`cairn attach` and `cairn dump`: a process that runs already, and is none the worse for it."""
import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

import harness
from harness import Frame, finish, read_line, time_in


def tracer_of(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if "TracerPid" in line)


def mapped_files(pid):
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}


@pytest.mark.alone
def test_attach_for_a_while(cairn, interpreter, worker, folder):
    target = worker(interpreter)
    before = mapped_files(target.pid)
    ended = cairn("attach", "--for", "1s", "-o", "out.cairn", target.pid).expect()
    assert ended.out == b""
    assert mapped_files(target.pid) == before and tracer_of(target.pid) == 0
    stacks = cairn.collapsed(folder / "out.cairn")
    path = interpreter.path("worker.py")
    near_s = 0.3 + cairn.blind_s(folder / "out.cairn", ended)
    assert abs(time_in(stacks, "one_round", path) / 1e6 - 1.0) < near_s
    for stack in stacks:
        names = [frame.name for frame in stack if frame.file == path]
        assert names in (
            ["<module>", "main"],
            ["<module>", "main", "one_round"],
            ["<module>", "main", "stdin_ended"],
        ), stack
    assert target.check_answer() > 0
    cairn.need_sight(folder / "out.cairn", ended)
    assert "one_round" in ended.talk


def test_attach_ends_with_the_target(cairn, interpreter, folder):
    target = harness.spawn(interpreter.command("heeds_signals.py"))
    try:
        pid = int(read_line(target).split()[1])
        attached = cairn.spawn("attach", "-o", "out.cairn", pid)
        wait_for_samples(cairn, folder / "out.cairn", attached)
        os.kill(pid, signal.SIGTERM)
        finish(attached).expect(0)
        assert finish(target).status == 7
    finally:
        harness.end_group(target)
    assert cairn.report(folder / "out.cairn")["quality"]["samples"] > 0


def wait_for_samples(cairn, file, process):
    """Reads the growing recording until it holds samples: it is valid at every moment."""
    while True:
        assert process.poll() is None, process.stderr.read()
        if file.exists() and file.stat().st_size:
            ended = cairn("report", "--json", file)
            if ended.status == 0 and ended.json()["quality"]["samples"]:
                return


@pytest.mark.timeout(120)
def test_the_target_survives_the_death_of_cairn(cairn, interpreter, worker, folder):
    target = worker(interpreter)
    attached = cairn.spawn("attach", "-r", "max", "-o", "out.cairn", target.pid)
    try:
        wait_for_samples(cairn, folder / "out.cairn", attached)
    finally:
        attached.kill()
        finish(attached)
    assert tracer_of(target.pid) == 0
    assert target.check_answer() > 0
    assert time_in(cairn.collapsed(folder / "out.cairn"), "one_round") > 0


def state_of(pid):
    """One letter, as ps shows it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_stopped_target_stays_stopped(cairn, python, worker):
    target = worker(python)
    os.kill(target.pid, signal.SIGSTOP)
    while state_of(target.pid) != "T":  # it takes the signal when it has a processor
        os.sched_yield()
    ended = cairn("dump", target.pid).expect()
    assert "main" in ended.text
    assert state_of(target.pid) == "T"
    os.kill(target.pid, signal.SIGCONT)
    target.check_answer()


@pytest.mark.alone
def test_two_at_once_see_the_same(cairn, python, worker, folder):
    target = worker(python)
    both = [cairn.spawn("attach", "--for", "700ms", "-o", f"{i}.cairn", target.pid) for i in (1, 2)]
    ended = [finish(one).expect(0) for one in both]
    for i in (1, 2):
        file = folder / f"{i}.cairn"
        least_us = 400_000 - cairn.blind_s(file, ended[i - 1]) * 1e6
        assert time_in(cairn.collapsed(file), "one_round") > max(0, least_us)
    target.check_answer()


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# What a script starts with `&` is told to ignore it; `kill -INT` is how a script ends a recording.
@pytest.mark.parametrize("before", [None, ignore_interrupts], ids=["asked", "ignored"])
def test_ctrl_c_ends_attach_and_not_the_target(cairn, python, worker, folder, before):
    target = worker(python)
    attached = cairn.spawn("attach", "-o", "out.cairn", target.pid, preexec_fn=before)
    wait_for_samples(cairn, folder / "out.cairn", attached)
    os.kill(attached.pid, signal.SIGINT)
    ended = finish(attached)
    target.check_answer()
    assert ended.out == b"" and "samples" in ended.talk
    cairn.need_sight(folder / "out.cairn", ended)
    assert "one_round" in ended.talk


def frames_within(value):
    """Every object in a JSON value, however deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


@pytest.fixture
def idle_threads(interpreter):
    process = harness.spawn(interpreter.command("idle_threads.py", 20))
    yield process
    harness.end_group(process)
    finish(process)


def dump_when_all_are_there(cairn, process, wait_line, wanted):
    """The dump as soon as that many threads wait at that line, and the first one spins: they come to it
    one by one, and the target says nothing when they have."""
    while True:
        ended = cairn("dump", "--json", process.pid)
        assert process.poll() is None, f"never {wanted} idle threads, at last {ended}"
        if ended.status == 0:
            there = Counter((o.get("name"), o.get("line")) for o in frames_within(ended.json()))
            spins = any(name == "spin" for name, _ in there)
            if spins and there["wait_for_the_end", wait_line] == wanted:
                return ended


def test_dump_shows_every_thread(cairn, interpreter, idle_threads):
    source = (harness.TARGETS / "idle_threads.py").read_text().splitlines()
    wait_line = source.index("    over.wait()") + 1
    dumped = dump_when_all_are_there(cairn, idle_threads, wait_line, 64)
    document = dumped.json()
    assert isinstance(document["schema"], int)
    objects = list(frames_within(document))
    waiting = [o for o in objects if o.get("name") == "wait_for_the_end" or
               o.get("qualname") == "wait_for_the_end"]
    names = [str(o.get("name")) for o in objects]
    assert len(waiting) == sum(name.startswith("idle-") for name in names) == 64
    for frame in waiting:
        assert (frame["file"], frame["line"]) == (interpreter.path("idle_threads.py"), wait_line)
    text = cairn("dump", idle_threads.pid).expect().text
    assert text.count(f"idle_threads.py:{wait_line}") == 64
    assert all(f"idle-{i}" in text for i in range(64)) and "spin" in text
    assert "blocked" in text and ("running" in text or "runnable" in text)


def test_dump_escapes_what_a_terminal_would_obey(cairn, python, folder):
    code = (
        "import threading, sys\n"
        "def f():\n print('ready', flush=True); sys.stdin.read()\n"
        "f.__code__ = f.__code__.replace(co_name='\\x1b[31mred', co_qualname='\\x1b[31mred')\n"
        "f()\n"
    )
    process = harness.spawn([python.executable, "-c", code])
    try:
        assert read_line(process) == "ready"
        assert b"\x1b" not in cairn("dump", process.pid).expect().out
        assert "\x1b[31mred" in json.dumps(
            cairn("dump", "--json", process.pid).expect().json(), ensure_ascii=False
        ).replace("\\u001b", "\x1b")
    finally:
        finish(process)


def test_an_idle_interpreter_is_the_newest(cairn, interpreter):
    """From 3.13 on it has no thread; it says nothing of those that others have."""
    process = harness.spawn(interpreter.command("idle_interpreter.py"))
    try:
        assert read_line(process) == "ready"
        assert "wait_for_the_end" in cairn("dump", process.pid).expect().text
    finally:
        finish(process)


@pytest.mark.alone
def test_wall_time_before_attaching_is_not_claimed(cairn, python, worker, folder):
    target = worker(python)
    ended = cairn("attach", "--for", "500ms", "-o", "out.cairn", target.pid).expect()
    stacks = cairn.collapsed(folder / "out.cairn")
    whole_s = sum(stacks.values()) / 1e6
    blind_s = cairn.blind_s(folder / "out.cairn", ended)
    assert 0.4 - blind_s < whole_s < 0.9 + blind_s
    assert stacks.get((Frame("[not python]"),), 0) < 250_000 + blind_s * 1e6

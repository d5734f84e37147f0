"""Signals and the terminal: what reaches the target, and how Cairn ends."""
import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time
from pathlib import Path

import pytest

import harness
from harness import DEADLINE_S, finish, read_line

LITTLE_SHELL = Path(__file__).with_name("little_shell.py")


def state_of(pid):
    """One letter, as ps shows it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until_stopped(pid):
    """The terminal stops all processes of a job, but not all at the same instant."""
    deadline = time.monotonic() + DEADLINE_S
    while state_of(pid) != "T":
        assert time.monotonic() < deadline, f"{pid} is {state_of(pid)}, not stopped"
        os.sched_yield()


def test_signals_sent_to_cairn_are_forwarded(cairn, interpreter, folder):
    out = folder / "out.cairn"
    process = cairn.spawn("run", "-o", out, "--", *interpreter.command("heeds_signals.py"))
    try:
        assert read_line(process).startswith("ready")
        for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGUSR1"):
            os.kill(process.pid, getattr(signal, name))
            assert read_line(process) == name
        os.kill(process.pid, signal.SIGTERM)
    finally:
        ended = finish(process)
    ended.expect(7)
    assert ended.out == b"SIGTERM\n"
    assert cairn.report(out)["quality"]["samples"] > 0


class Terminal:
    """A process on a pseudo-terminal that is its controlling one."""

    def __init__(self, args, **options):
        self.master, slave = pty.openpty()
        self.seen = b""

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = harness.spawn(
            args, stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal, **options
        )
        os.close(slave)

    def type(self, data):
        os.write(self.master, data)

    def expect(self, text, deadline_s=DEADLINE_S):
        """Reads on until `text` has come; what came before it is forgotten."""
        while text not in self.seen:
            readable, _, _ = select.select([self.master], [], [], deadline_s)
            assert readable, f"no {text!r} in {deadline_s} s, but {self.seen!r}"
            try:
                data = os.read(self.master, 65536)
            except OSError:  # how Linux says that nobody has the other side open any more
                data = b""
            assert data, f"no {text!r} until the end, but {self.seen!r}"
            self.seen += data
        before, _, self.seen = self.seen.partition(text)
        return before

    def rest(self):
        """All output until the other side is closed."""
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return self.seen
            if not data:
                return self.seen
            self.seen += data

    def end(self, deadline_s=DEADLINE_S):
        """Exit status as a shell shows it, once the process is over by itself."""
        try:
            return harness.shell_status(self.process.wait(deadline_s))
        finally:
            self.close()

    def close(self):
        harness.end_group(self.process)
        self.process.wait()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


@pytest.fixture
def terminal(cairn):
    opened = []

    def start(*args):
        options = {"cwd": cairn.folder, "env": cairn.environment()}
        opened.append(Terminal([str(a) for a in args], **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_ctrl_c_reaches_the_target_once_and_then_there_is_a_report(cairn, terminal, python):
    command = [python.executable, "-c", "print('ready', flush=True)\nwhile True: pass"]
    screen = terminal(cairn.binary, "run", "-o", "out.cairn", "--", *command)
    screen.expect(b"ready")
    screen.type(b"\x03")
    screen.expect(b"KeyboardInterrupt")
    status = screen.process.wait(DEADLINE_S)
    text = screen.rest()
    assert harness.shell_status(status) == 130
    assert b"samples" in text and text.count(b"KeyboardInterrupt") == 0
    assert cairn.report(cairn.folder / "out.cairn")["quality"]["samples"] > 0


def test_cairn_waits_for_a_target_that_handles_ctrl_c(cairn, terminal, interpreter):
    command = interpreter.command("heeds_signals.py")
    screen = terminal(cairn.binary, "run", "-o", "out.cairn", "--", *command)
    screen.expect(b"ready ")
    pid = int(screen.expect(b"\n"))
    screen.type(b"\x03")
    screen.expect(b"SIGINT")
    # The target goes on, and it got the signal once, not from the terminal and from Cairn too.
    os.kill(pid, signal.SIGUSR1)
    assert b"SIGINT" not in screen.expect(b"SIGUSR1")
    assert screen.process.poll() is None
    os.kill(pid, signal.SIGTERM)
    assert screen.end() == 7


def test_a_second_ctrl_c_ends_at_once(cairn, terminal, python):
    command = python.command("heeds_signals.py")
    screen = terminal(cairn.binary, "run", "-o", "out.cairn", "--", *command)
    screen.expect(b"ready ")
    screen.expect(b"\n")
    screen.type(b"\x03")
    screen.expect(b"SIGINT")
    screen.type(b"\x03")
    assert screen.end() == 130
    assert cairn.report(cairn.folder / "out.cairn")["quality"]["samples"] > 0


def test_job_control(cairn, terminal, interpreter):
    run = [cairn.binary, "run", "-o", "out.cairn", "--", *interpreter.command("heeds_signals.py")]
    screen = terminal(sys.executable, LITTLE_SHELL, *run)
    screen.expect(b"ready ")
    pid = int(screen.expect(b"\n"))
    screen.type(b"\x1a")
    screen.expect(b"job stopped")
    wait_until_stopped(pid)
    screen.type(b"fg\n")
    screen.expect(b"job continued")
    os.kill(pid, signal.SIGUSR2)
    screen.expect(b"SIGUSR2")
    os.kill(pid, signal.SIGTERM)
    screen.expect(b"job ended 7")
    assert screen.end() == 0


def test_a_pipe_that_closes_ends_quietly(cairn, busy_recording):
    file, _ = busy_recording
    read_end, write_end = os.pipe()
    os.close(read_end)  # before it can have written anything
    with open(write_end, "wb") as pipe:
        ended = cairn("export", "-f", "collapsed", file, stdout=pipe).expect(0)
    assert ended.err == b""

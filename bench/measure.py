"""Runs a command and says what it cost, seen from outside, the same way for every tool."""
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

TICK_S = 0.01  # how often a running command's memory is looked at



class Failed(Exception):
    """A run that gave no number; the text says why, in one line."""


@dataclass
class Ran:
    status: int
    started_ns: int  # CLOCK_MONOTONIC, just before the command was started
    wall_s: float
    cpu_s: float  # user and system, of the command and the children it waited for
    peak_bytes: int
    out: str
    err: str

    def last_words(self):
        words = [line.strip() for line in (self.err + self.out).splitlines() if line.strip()]
        return words[-1][:100] if words else "no output"


def peak_bytes(pid):
    """The high-water marks of the memory of `pid` and of its children added up, 0 when it is gone: a
    file of another tool is read by a child. ru_maxrss would not do: it also holds what this process
    had when it forked."""
    peak = 0
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    peak = int(line.split()[1]) * 1024
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as children:
                peak += sum(peak_bytes(int(child)) for child in children.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return peak


def cpu_s(pid):
    """CPU time that a process has used so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait(process, deadline_s, interrupt_after_s):
    """Waits for the end; (peak bytes, whether it had to be killed)."""
    begin, peak, interrupted = time.monotonic(), 0, False
    handle = os.pidfd_open(process.pid)
    try:
        while not select.select([handle], [], [], TICK_S)[0]:
            peak = max(peak, peak_bytes(process.pid))
            passed_s = time.monotonic() - begin
            if interrupt_after_s and not interrupted and passed_s > interrupt_after_s:
                os.kill(process.pid, signal.SIGINT)
                interrupted = True
            if passed_s > deadline_s:
                os.kill(process.pid, signal.SIGKILL)
                return peak, True
        return peak, False
    finally:
        os.close(handle)


def run(args, deadline_s, interrupt_after_s=None, good_status=(0,)):
    """Runs a command to its end, or until `interrupt_after_s`, when it is sent SIGINT. Raises
    Failed when it is still there at the deadline (and kills it) or has failed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started_ns = time.monotonic_ns()
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        peak, killed = wait(process, deadline_s, interrupt_after_s)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = (time.monotonic_ns() - started_ns) / 1e9
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    ran = Ran(process.returncode, started_ns, wall_s, usage.ru_utime + usage.ru_stime, peak, *texts)
    if killed:
        raise Failed(f"not over after {deadline_s} s")
    if ran.status not in good_status:
        raise Failed(f"status {ran.status}: {ran.last_words()}")
    return ran

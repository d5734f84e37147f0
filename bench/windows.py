"""How much slower a program gets by being looked at: sampling on and off in random windows.

The profiler attaches once, and then stands still (SIGSTOP) or goes on (SIGCONT) by a seeded plan.
Two windows make a pair, one on and one off, in random order, so that what drifts is in both. The
program says when each piece of its work was done; how much was done in a window is read off later.

- Some profilers stop the program for each look (ptrace). One that is stopped meanwhile would leave
  it standing: it is stopped when no thread of the program is traced, and that long the window
  lasts.
- Some make up afterwards for the looks they missed. The first GUARD_S of each window are in no
  figure; looks per second of the time on are told beside the result.
- What a stopped profiler has set up in the kernel stays. So there are windows before it attaches
  and after it ended, too: the off windows are compared with them.
"""
import contextlib
import math
import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import measure

WINDOW_S = 0.1
GUARD_S = 0.02  # at the begin of each window
BLOCK_PAIRS = 5  # about a second: what is near in time is alike
RESAMPLES = 2000
ATTACH_S = 1.5  # by then every tool looks at the program; py-spy at 159 threads takes longest
ALONE_PAIRS = 5  # so many times two windows before and after, too
STAND_S = 2.0  # a profiler that cannot be stopped in this time holds the program nearly always
POLL_S = 0.0005
END_S = 60
PLAN_SEED = 2026


@dataclass
class Windows:
    """(begin_ns, end_ns) of the counted part of each window."""

    pairs: list = field(default_factory=list)  # [{True: on, False: off}]
    alone: list = field(default_factory=list)  # nobody attached
    on_s: float = ATTACH_S  # all of the time in which it could look


def said(task, key):
    """What /proc says of a thread: of its "State" or "TracerPid"."""
    status = Path(f"/proc/{task}/status").read_text()
    return re.search(rf"^{key}:\t(\w+)", status, re.MULTILINE)[1]


def tasks_say(pid, key):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield said(f"{pid}/task/{tid}", key)


def stand(tool_pid, target_pid):
    """Stops a profiler, between two looks of it."""
    deadline, main = time.monotonic() + STAND_S, f"{target_pid}/task/{target_pid}"
    while time.monotonic() < deadline:
        if said(main, "TracerPid") != "0":  # in a look: it is not kept from ending that
            time.sleep(POLL_S)
            continue
        os.kill(tool_pid, signal.SIGSTOP)
        while not set(tasks_say(tool_pid, "State")) <= set("TZX"):
            if time.monotonic() > deadline:
                raise measure.Failed("it does not stop")
        if set(tasks_say(target_pid, "TracerPid")) <= {"0"}:
            return
        os.kill(tool_pid, signal.SIGCONT)
    raise measure.Failed(f"it held the program at all times, for {STAND_S:.0f} s")


def counted(end=lambda: None):
    """Waits a window; what of it counts. `end` is in it."""
    time.sleep(GUARD_S)
    begin_ns = time.monotonic_ns()
    time.sleep(WINDOW_S)
    end()
    return begin_ns, time.monotonic_ns()


def go_through(windows, tool_pid, target_pid, pairs, rng):
    stand(tool_pid, target_pid)
    for _ in range(pairs):
        pair = {}
        for on in rng.sample((True, False), 2):
            if on:
                os.kill(tool_pid, signal.SIGCONT)
                begin_ns = time.monotonic_ns()
                pair[on] = counted(lambda: stand(tool_pid, target_pid))
                windows.on_s += (time.monotonic_ns() - begin_ns) / 1e9
            else:
                pair[on] = counted()
        windows.pairs.append(pair)


def attend(tool, args, target_pid, pairs, rng):
    """Runs a profiler on the program: (the windows, what measure.run() would tell of it)."""
    windows = Windows()
    windows.alone += [counted() for _ in range(2 * ALONE_PAIRS)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started_ns = time.monotonic_ns()
        process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            time.sleep(ATTACH_S)
            if process.poll() is None:
                go_through(windows, process.pid, target_pid, pairs, rng)
            os.kill(process.pid, signal.SIGCONT)
            process.send_signal(signal.SIGINT)
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise measure.Failed(f"not over {END_S} s after SIGINT") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
    ran = measure.Ran(process.returncode, started_ns, 0, 0, 0, *texts)
    if len(windows.pairs) < pairs or ran.status not in (*tool.good_status, -signal.SIGINT):
        raise measure.Failed(f"status {ran.status}: {ran.last_words()}")
    windows.alone += [counted() for _ in range(2 * ALONE_PAIRS)]
    time.sleep(WINDOW_S)  # the program says when a piece was done: the window has to lie before
    return windows, ran


class Work:
    """What a program of bench/targets that counts (counting.py) has done by when."""

    def __init__(self, data):
        self.threads, at = [], 0
        while at < len(data):
            (pieces,) = struct.unpack_from("=q", data, at)
            self.threads.append(struct.unpack_from(f"={pieces}q", data, at + 8))
            at += 8 + 8 * pieces

    def until(self, times_ns, when_ns):
        at = bisect_right(times_ns, when_ns)
        if at == 0 or at == len(times_ns):
            raise measure.Failed("the program did not count at all times")
        before_ns, after_ns = times_ns[at - 1], times_ns[at]
        return at - 1 + (when_ns - before_ns) / (after_ns - before_ns)

    def speed(self, window):
        """Pieces of work per second."""
        begin_ns, end_ns = window
        done = sum(self.until(times_ns, end_ns) - self.until(times_ns, begin_ns)
                   for times_ns in self.threads)
        if done <= 0:
            raise measure.Failed("a window without any work")
        return done / (end_ns - begin_ns) * 1e9


def logs_of(windows, work):
    """ln(off / on) of each pair: how much more time the same work takes while it is looked at."""
    return [math.log(work.speed(pair[False]) / work.speed(pair[True])) for pair in windows.pairs]


def residue(windows, work):
    """Off windows against those without any profiler at all, in %: drift is in it as well."""
    off = mean(math.log(work.speed(pair[False])) for pair in windows.pairs)
    alone = mean(math.log(work.speed(window)) for window in windows.alone)
    return 100 * (math.exp(alone - off) - 1)


def interval(runs):
    """(mean, 2.5 %, 97.5 %) of the logs of several runs, by a bootstrap of blocks of pairs, each of
    one run, whose end is followed by its begin: every pair is as likely as any other."""
    length = max(1, min(BLOCK_PAIRS, min(map(len, runs)) // 4))
    blocks = [(run + run)[at : at + length] for run in runs for at in range(len(run))]
    total = sum(map(len, runs))
    draws = max(1, round(total / length))
    rng = random.Random(total)
    means = sorted(mean(log for block in rng.choices(blocks, k=draws) for log in block)
                   for _ in range(RESAMPLES))
    edge = int(RESAMPLES * 0.025)
    return mean(log for run in runs for log in run), means[edge], means[RESAMPLES - 1 - edge]

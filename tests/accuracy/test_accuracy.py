"""Is it true? Programs that know their own shares, against what Cairn says of them.

Run alone and one by one: other work on the machine is noise in the truth as well. Of what the host
takes, which the kernel tells (taken_s), a program and Cairn may each think otherwise. A limit is
such that a right answer fails less than once in ten million comparisons: exact binomial tails,
which are wide for samples at random moments of a schedule (those are spread more evenly).
"""
import math
import os
import random
import signal
import time
from collections import Counter

import pytest

import harness
from harness import time_in
from limits import may_be, upper_tail

KHZ_SECONDS = 6.0 if harness.FULL else 4.5
# Of a normal distribution: how many times wider than at 95 % an interval must be that is left once in
# ten million times. The 1/10 is for what is no chance: the program's own looks at the clock.
WIDER = 5.4 / 1.96 + 0.1


def test_the_limits_themselves():
    """A check of the check: it accepts what is likely and refuses what is not."""
    assert may_be(5000, 0.3, 0.31) and not may_be(5000, 0.3, 0.34)
    assert may_be(5000, 0.3, 0.29) and not may_be(5000, 0.3, 0.26)
    assert may_be(5000, 0.3, 0.34, 0.01) and not may_be(5000, 0.3, 0.35, 0.01)
    assert may_be(5000, 0.3, 0.26, 0.01) and not may_be(5000, 0.3, 0.25, 0.01)
    assert math.isclose(upper_tail(10, 0.5, 6), 386 / 1024)
    assert upper_tail(8000, 0.01, 80) > 0.4


def draws_of(row):
    """How many draws the row's interval stands for: of ticks that came late, fewer than samples."""
    share, low, high = row["total_share"], row["total_low"], row["total_high"]
    return int(share * (1 - share) / ((high - low) / 2 / 1.96) ** 2)


def rows_of(cairn, file, names, *options):
    """The rows of some functions, as shares of the time in all that match the names."""
    focus = f"^({'|'.join(names)}) "
    return {
        row["name"]: row
        for row in cairn.report(file, "--idle", "--focus", focus, *options)["rows"]
    }


def check_shares(cairn, file, truth, script_path, taken_s):
    """Each function's part of the time in all of them, as the program measured it itself."""
    stacks = cairn.collapsed(file)
    seen = {name: time_in(stacks, name, script_path) for name in truth}
    rows = rows_of(cairn, file, truth)
    for name in truth:
        p = truth[name] / sum(truth.values())
        share, n = seen[name] / sum(seen.values()), draws_of(rows[name])
        assert abs(share - rows[name]["total_share"]) < 1e-3, "the report and the export agree"
        fits = may_be(n, p, share, taken_s / sum(truth.values()))
        assert fits, f"{name}: {share:.4f}, in truth {p:.4f}, of {n} draws"


def test_known_shares(cairn, interpreter):
    seed = interpreter.version[1]
    file, ended = cairn.record(interpreter, "busy.py", KHZ_SECONDS, seed)
    path, truth = interpreter.path("busy.py"), ended.last_json()["spent_s"]
    check_shares(cairn, file, truth, path, ended.taken_s)


def test_periodic_work_does_not_fool_it(cairn, interpreter):
    """Work with the sampler's own period: random intervals see it as it is."""
    file, ended = cairn.record(interpreter, "lockstep.py", KHZ_SECONDS)
    path, truth = interpreter.path("lockstep.py"), ended.last_json()["spent_s"]
    check_shares(cairn, file, truth, path, ended.taken_s)


def test_lines(cairn, interpreter):
    file, ended = cairn.record(interpreter, "lines.py", KHZ_SECONDS)
    truth = {int(line): s for line, s in ended.last_json()["line_s"].items()}
    seen = Counter()
    for stack, value in cairn.collapsed(file).items():
        for caller, callee in zip(stack, stack[1:]):
            if (caller.name, callee.name) == ("three_lines", "spin"):
                seen[caller.line] += value
    assert set(seen) == set(truth)
    report = cairn.report(file, "--idle", "--by", "line", "--focus", "^three_lines ")
    rows = {row["line"]: row for row in report["rows"] if row["name"] == "three_lines"}
    for line, seconds in truth.items():
        p, share = seconds / sum(truth.values()), seen[line] / sum(seen.values())
        slack = ended.taken_s / sum(truth.values())
        assert may_be(draws_of(rows[line]), p, share, slack), (line, share, p)


def test_states(cairn, interpreter):
    """Sleeping, waiting for a lock and busy are told apart, in seconds."""
    file, ended = cairn.record(interpreter, "states.py", KHZ_SECONDS)
    for thread, facts in ended.last_json().items():
        rows = cairn.report(file, "--by", "state", "--thread", thread, "--idle")["rows"]
        seconds = {row["name"]: row["self_s"] for row in rows}
        near_s = 0.01 * facts["wall_s"] + ended.taken_s
        assert abs(sum(seconds.values()) - facts["wall_s"]) < near_s + 0.01
        waited = facts["wall_s"] - facts["cpu_s"]
        if thread == "busy":
            # What it did not run it was runnable: somebody else had the processor.
            assert seconds.get("blocked", 0) < 2 * near_s, seconds
            assert seconds["running"] <= facts["wall_s"] + near_s
        else:
            assert abs(seconds["blocked"] - waited) < 2 * near_s, (thread, seconds)


def seen_otherwise(cairn, interpreter, most_s, *args):
    """{name: seconds told and seen} of the functions of takeover.py that differ by more, and of how
    many of them so many missed ticks can have taken as much."""
    file, ended = cairn.record(interpreter, "takeover.py", *args)
    missed_s = cairn.report(file)["quality"]["missed"] / 1000 + ended.taken_s
    seen = Counter()
    for stack, value in cairn.collapsed(file).items():
        for name in {frame.name for frame in stack}:
            seen[name] += value / 1e6
    return {name: (s, seen[name]) for name, s in ended.last_json().items()
            if abs(seen[name] - s) > most_s}, missed_s / most_s


def test_code_at_the_address_of_other_code(cairn, interpreter):
    """A function waits under its own name, though its code lies where another's has just been."""
    # A tick that comes late is the whole machine's doing, a wrong name is every function's.
    off, starved = seen_otherwise(cairn, interpreter, 0.010, 100)
    assert len(off) <= 5 + starved, off


def test_other_code_far_from_the_leaf(cairn, interpreter):
    """The same at the outer end of a deep stack, where code mostly stays what it is."""
    off, starved = seen_otherwise(cairn, interpreter, 0.003, 100, 0.005, 100)
    assert len(off) <= 10 + starved, off


def test_cpu_is_the_kernels_figure(cairn, interpreter):
    file, ended = cairn.record(interpreter, "cpu_mix.py", 4.0)
    facts = ended.last_json()
    cpu_s = sum(cairn.collapsed(file, "--metric", "cpu").values()) / 1e6
    # The program looks before its own end; what that end costs is in Cairn's sum as well. In the clock
    # that young threads are asked for is what the host took, in the program's own it is not.
    most_s = facts["cpu_s"] * 1.01 + 0.08 + ended.taken_s
    assert facts["cpu_s"] * 0.99 - 0.02 < cpu_s < most_s, (cpu_s, facts)
    for thread, thread_s in facts["thread_cpu_s"].items():
        seen_s = sum(cairn.collapsed(file, "--metric", "cpu", "--thread", thread).values()) / 1e6
        near_s = 0.01 * thread_s + 0.01
        assert -near_s < seen_s - thread_s < near_s + ended.taken_s, (thread, seen_s, thread_s)


def check_brief_threads(cairn, file, ended, most_of_first, what):
    """The kernel forgets them when they are over; the process' own sum must come out all the same,
    and each function's part of it. The clock that young threads are asked for goes on while the host
    has their processor: rows can hold so much more than the kernel's sums."""
    facts, taken_s = ended.last_json(), ended.taken_s
    report = cairn.report(file, "--metric", "cpu", "--idle")
    # A look takes about as long as a thread is there before it is in Python and after: which of the
    # two it was in cannot be told.
    least_s, most_s = facts["brief_cpu_s"], facts["threads_cpu_s"]
    all_s = report["recording"]["user_s"] + report["recording"]["sys_s"]
    cpu_s = sum(cairn.collapsed(file, "--metric", "cpu").values()) / 1e6
    main_s = sum(cairn.collapsed(file, "--metric", "cpu", "--thread", "MainThread").values()) / 1e6
    # Where they fill the time, and partly run beside each other, those that are met have no room for
    # all that ran: the first thread stands for the rest.
    for_others_s = max(0, main_s - facts["main_cpu_s"])
    (row,) = [row for row in report["rows"] if row["name"] == "brief_life"]
    low_s, high_s = (row["total_s"] * row[key] / row["total_share"] for key in ("total_low", "total_high"))
    print(
        f"\n{what}, the host took {taken_s:.3f} s: "
        f"{cpu_s:.3f} of {all_s:.3f} s, brief_life {least_s:.3f}..{most_s:.3f} "
        f"seen as {row['total_s']:.3f} in {low_s:.3f}..{high_s:.3f}, {for_others_s:.3f} in the first thread"
    )
    # What the last tick and the end leave over is a matter of milliseconds, not of the sum.
    near_s = 0.01 * all_s + 0.005
    assert -near_s < cpu_s - all_s < near_s + taken_s, (cpu_s, all_s)
    assert row["total_s"] - WIDER * (row["total_s"] - low_s) <= most_s + taken_s, row
    assert least_s <= row["total_s"] + WIDER * (high_s - row["total_s"]) + for_others_s, row
    assert for_others_s < most_of_first * all_s + taken_s, (for_others_s, all_s)


@pytest.mark.parametrize("script", ["brief.py", "thread_churn.py"])
def test_cpu_of_threads_that_come_and_go_is_the_kernels_figure(cairn, interpreter, script):
    file, ended = cairn.record(interpreter, script, 4.0 if harness.FULL else 3.0)
    check_brief_threads(cairn, file, ended, 0.1, f"{interpreter.label} {script}")


@pytest.mark.parametrize("script", ["brief.py", "thread_churn.py"])
def test_cpu_of_threads_that_come_and_go_while_cairn_is_stopped(cairn, python, script):
    """Hundreds of lives go by between two ticks, and whether one of them is met then is chance: they
    are told as what they were all the same, not as the first thread's."""
    lengths = random.Random(script)
    file = cairn.folder / "run.cairn"
    run = cairn.spawn("run", "-o", file, "--", *python.command(script, 4.0))
    try:
        wait_until(lambda: busy_child(run.pid))
        until = time.monotonic() + 3.0
        while time.monotonic() < until and run.poll() is None:
            time.sleep(lengths.expovariate(1 / 0.12))
            os.kill(run.pid, signal.SIGSTOP)
            time.sleep(lengths.expovariate(1 / 0.04))
            os.kill(run.pid, signal.SIGCONT)
    except BaseException:
        harness.end_group(run)
        raise
    check_brief_threads(cairn, file, harness.finish(run).expect(), 0.02, script)


@pytest.mark.parametrize("alone_s", [0.1, 0])
def test_cpu_of_threads_is_told_though_no_more_come(cairn, interpreter, alone_s):
    """What those that were missed ran waits for the next one that is met: here none is."""
    file, ended = cairn.record(interpreter, "threads_then_none.py", 1000, alone_s)
    recording = cairn.report(file)["recording"]
    all_s = recording["user_s"] + recording["sys_s"]
    cpu_s = sum(cairn.collapsed(file, "--metric", "cpu").values()) / 1e6
    print(f"\n{interpreter.label}: {cpu_s:.4f} of {all_s:.4f} s, the host took {ended.taken_s:.3f} s")
    near_s = 0.01 * all_s + 0.005
    assert -near_s < cpu_s - all_s < near_s + ended.taken_s, (cpu_s, all_s)


@pytest.mark.parametrize("rate", [1, 2, 4])
def test_cpu_that_no_row_has_room_for_is_told(cairn, interpreter, rate):
    """Threads that run beside each other are over before a tick comes, or soon after: rows have room for
    a part of what they ran, or for none of it."""
    file, ended = cairn.record(interpreter, "side_by_side.py", options=["-r", str(rate)])
    report = cairn.report(file)
    all_s = report["recording"]["user_s"] + report["recording"]["sys_s"]
    cpu_s = sum(cairn.collapsed(file, "--metric", "cpu").values()) / 1e6
    untold_s = report["quality"]["untold_cpu_s"]
    print(f"\n{interpreter.label} {rate} Hz: {cpu_s:.3f} and untold {untold_s:.3f} of {all_s:.3f} s")
    near_s = 0.01 * all_s + 1 / 64 / rate * report["recording"]["threads"] + ended.taken_s  # whole 64ths of an interval
    assert abs(cpu_s + untold_s - all_s) < near_s
    if not cpu_s:
        assert untold_s > 0
    text = " ".join(cairn("report", file).expect().text.split())
    assert (f"{int(1000 * untold_s):,} ms of CPU time in no row" in text) == (untold_s >= 0.001)


def test_cpu_of_processes_that_live_a_few_milliseconds(cairn, interpreter):
    """Their books go with them, as soon as they are waited for: what the kernel says of all together
    is what their clocks must say. These are opened at the first tick of each, and end in its exit."""
    file, ended = cairn.record(interpreter, "brief_children.py")
    facts, taken_s = ended.last_json(), ended.taken_s
    report = cairn.report(file, "--by", "process", "--metric", "cpu", "--idle", "--limit", "1000")
    rows = sorted((row["self_s"] for row in report["rows"]), reverse=True)
    # One that was over when it was looked at has none. Its clock stands still when the kernel begins to
    # free what it had: what it ran lies between its own last word and the kernel's.
    met = (len(rows) - 1) / facts["children"]
    cpu_s, own_s, truth_s = sum(rows[1:]), met * facts["own_cpu_s"], met * facts["children_cpu_s"]
    assert len(rows) > 0.95 * facts["children"] - cairn.blind_s(file, ended) / 0.002
    print(f"\n{interpreter.label}: {len(rows) - 1} children, {cpu_s:.3f} of {own_s:.3f} to {truth_s:.3f} s, "
          f"this one {rows[0]:.3f} of {facts['cpu_s']:.3f} s, the host took {taken_s:.3f} s")  # fmt: skip
    assert 0.95 * own_s < cpu_s < 1.05 * truth_s + taken_s


def stat_of(pid):
    """Of /proc/PID/stat what stands behind the name: the state, and so on."""
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()


def wait_until(condition):
    """Returns what it says, once that is true."""
    end = time.monotonic() + harness.DEADLINE_S
    while not (said := condition()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
    return said


def busy_child(pid):
    """The child of a process that has worked for a while; None as long as there is none."""
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        for child in map(int, children.read().split()):
            try:
                fields = stat_of(child)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it made sure that it may read one, which is over
            if int(fields[11]) + int(fields[12]) > 0.2 * os.sysconf("SC_CLK_TCK"):
                return child
    return None


@pytest.mark.parametrize("script", ["brief.py", "thread_churn.py"])
@pytest.mark.parametrize("rate, lasts_s", [(1000, 1.5), (1, 3.0)])
def test_cpu_that_was_used_while_cairn_stood_still_is_the_kernels_figure(cairn, python, script, rate, lasts_s):
    """Of the program's second half Cairn sees nothing but that it is over; at one look a second the first
    one at which it is told of the exec finds it over. No row has room for more than an interval."""
    file = cairn.folder / "run.cairn"
    run = cairn.spawn("run", "-r", str(rate), "-o", file, "--", *python.command(script, lasts_s))
    try:
        pid = wait_until(lambda: busy_child(run.pid))
        os.kill(run.pid, signal.SIGSTOP)
        wait_until(lambda: stat_of(pid)[0] == "Z")
        os.kill(run.pid, signal.SIGCONT)
    except BaseException:
        harness.end_group(run)
        raise
    ended = harness.finish(run).expect()
    report = cairn.report(file)
    all_s = report["recording"]["user_s"] + report["recording"]["sys_s"]
    cpu_s = sum(cairn.collapsed(file, "--metric", "cpu").values()) / 1e6
    near_s = 0.01 * all_s + 0.005
    if rate == 1:  # what is untold is whole 64ths of an interval
        cpu_s += report["quality"]["untold_cpu_s"]
        near_s += 1 / 64
    assert -near_s < cpu_s - all_s < near_s + ended.taken_s, (cpu_s, all_s)


def test_cpu_of_a_thread_that_ends_while_cairn_stands_still_is_its_own(cairn, python):
    """What it ran since it was last looked at is in no other thread's row, and in its own."""
    file = cairn.folder / "run.cairn"
    run = cairn.spawn("run", "-o", file, "--", *python.command("outlived.py", 0.6))
    try:
        pid = wait_until(lambda: busy_child(run.pid))
        os.kill(run.pid, signal.SIGSTOP)
        wait_until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 1)
        os.kill(run.pid, signal.SIGCONT)
    except BaseException:
        harness.end_group(run)
        raise
    ended = harness.finish(run).expect()
    thread_s = ended.last_json()["thread_cpu_s"]
    seen_s = sum(cairn.collapsed(file, "--metric", "cpu", "--thread", "computer").values()) / 1e6
    print(f"\n{python.label}: {seen_s:.3f} of {thread_s:.3f} s, the host took {ended.taken_s:.3f} s")
    near_s = 0.01 * thread_s + 0.01
    assert -near_s < seen_s - thread_s < near_s + ended.taken_s


def test_two_cores_of_work_are_two_cores(cairn, interpreter):
    """Two processes side by side: cpu adds up over processes, wall over threads."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    file, ended = cairn.record(interpreter, "children.py", "fork", 3.0)
    wall_s = time_in(cairn.collapsed(file), "child_work") / 1e6
    # Each of the two may have gone on for as long as nobody saw it, and so may be seen.
    spun_s, blind_s = sum(ended.last_json()["spun_s"]), 2 * cairn.blind_s(file, ended)
    assert spun_s - 0.5 - blind_s < wall_s < spun_s + 0.2 + blind_s, (wall_s, spun_s)

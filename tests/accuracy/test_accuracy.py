"""Is it true? Programs that know their own shares, against what Cairn says of them.

Run alone and one by one: other work on the machine is noise in the truth as well. Of what the host
takes, which the kernel tells (taken_s), a program and Cairn may each think otherwise. A limit is
such that a right answer fails less than once in ten million comparisons: exact binomial tails,
which are wide for samples at random moments of a schedule (those are spread more evenly).
"""
import ast
import math
import os
from collections import Counter

import pytest

import harness
from harness import TORN, impossible_stacks, time_in

FALSE_ALARM = 1e-7
KHZ_SECONDS = 6.0


def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def upper_tail(n, p, k):
    """P(X >= k) for X ~ Binomial(n, p)."""
    if k <= 0 or p >= 1:
        return 1.0
    terms = [log_choose(n, i) + i * math.log(p) + (n - i) * math.log1p(-p) for i in range(k, n + 1)]
    return math.fsum(map(math.exp, terms))


def may_be(n, p, share, slack=0.0):
    """Whether `share` of n samples can be seen where the truth is p, or up to `slack` off it."""
    p = min(max(share, p - slack), p + slack)
    k = round(share * n)
    tail = upper_tail(n, p, k) if k >= n * p else upper_tail(n, 1 - p, n - k)
    return tail > FALSE_ALARM / 2


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
    # The program looks before its own end; what that end costs is in Cairn's sum as well.
    assert facts["cpu_s"] * 0.99 - 0.02 < cpu_s < facts["cpu_s"] * 1.01 + 0.08, (cpu_s, facts)
    for thread, thread_s in facts["thread_cpu_s"].items():
        seen_s = sum(cairn.collapsed(file, "--metric", "cpu", "--thread", thread).values()) / 1e6
        assert abs(seen_s - thread_s) < 0.01 * thread_s + 0.01, (thread, seen_s, thread_s)


def lines_of_functions(script):
    """{name: line numbers of its body, or of its head} of the functions of a target program."""
    tree = ast.parse((harness.TARGETS / script).read_text())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = range(node.lineno, node.end_lineno + 1)
    return found


# Share of samples: impossible, torn. Frames of functions lie in one piece of memory, of which one
# moment is read; those of generators do not, and a program that does nothing but hand over between
# them still gets some wrong (docs/DESIGN.md, "What is not good enough yet").
CHURN = ["exceptions.py", "flutter.py", "generators.py", "relays.py", "tides.py"]
FULL = os.environ.get("CAIRN_FULL")
MOST_IMPOSSIBLE, MOST_TORN = 0.00002, 0.01

# Frames are objects of their own until 3.10, and no read takes two of them at one instant.
MOST_IMPOSSIBLE_OLD, MOST_TORN_OLD = 0.0001, 0.05


def check_churn(interpreter, n, torn, wrong, wrong_lines):
    qualified = interpreter.has_qualnames
    most_impossible = MOST_IMPOSSIBLE if qualified else MOST_IMPOSSIBLE_OLD
    most_torn = MOST_TORN if qualified else MOST_TORN_OLD
    for bad in (wrong, wrong_lines):
        assert upper_tail(n, most_impossible, sum(bad.values())) > FALSE_ALARM, bad
    assert upper_tail(n, most_torn, torn) > FALSE_ALARM, f"torn {torn} of {n}"


def churn(cairn, interpreter, script, seconds, rate, least_per_s):
    if script == "tides.py" and not interpreter.has_qualnames and not FULL:
        pytest.skip("not solved until 3.10, see docs/accuracy.md: in make test-full")
    file, ended = cairn.record(interpreter, script, seconds, options=["-r", rate])
    stacks = cairn.collapsed(file, "--unit", "samples")
    path = interpreter.path(script)
    n = sum(stacks.values())
    assert n > least_per_s * max(0.1, seconds - ended.taken_s)
    torn = sum(value for stack, value in stacks.items() if TORN in stack)
    wrong = impossible_stacks(stacks, interpreter.names(ended.last_json()["legal"]), path)
    lines = lines_of_functions(script)
    wrong_lines = Counter()
    for stack, value in stacks.items():
        for frame in stack:
            # Line 0 is none: the compiler gives no line to what it adds to clean up.
            named = frame.file == path and frame.name in lines and frame.line > 0
            if named and frame.line not in lines[frame.name]:
                wrong_lines[frame] += value
    print(
        f"\n{interpreter.label} {script} {rate}: {n} samples, torn {torn / n:.4%}, "
        f"impossible {sum(wrong.values()) / n:.4%}, wrong lines {sum(wrong_lines.values()) / n:.4%}"
    )
    return n, torn, wrong, wrong_lines


@pytest.mark.parametrize("script", CHURN)
def test_honest_on_churn_at_1khz(cairn, interpreter, script):
    n, torn, wrong, wrong_lines = churn(cairn, interpreter, script, KHZ_SECONDS, "1khz", 333)
    check_churn(interpreter, n, torn, wrong, wrong_lines)


@pytest.mark.parametrize("script", CHURN)
def test_honest_on_churn_at_the_highest_rate(cairn, interpreter, script):
    n, torn, wrong, wrong_lines = churn(cairn, interpreter, script, 2.0, "max", 5000)
    check_churn(interpreter, n, torn, wrong, wrong_lines)


def test_two_cores_of_work_are_two_cores(cairn, interpreter):
    """Two processes side by side: cpu adds up over processes, wall over threads."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    file, ended = cairn.record(interpreter, "children.py", "fork", 3.0)
    wall_s = time_in(cairn.collapsed(file), "child_work") / 1e6
    assert 5.5 - ended.taken_s < wall_s < 6.3 + ended.taken_s

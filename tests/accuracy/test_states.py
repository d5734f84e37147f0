"""States and overlays: what threads did and waited for, against what they know of themselves.

The same rules as in test_accuracy.py hold.
"""
import pytest

import harness
from harness import time_in
from limits import may_be
from test_accuracy import KHZ_SECONDS


@pytest.fixture(scope="module")
def waiting(interpreter, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("waiting"))
    with harness.proc() as options:
        file, ended = cairn.record(interpreter, "waiting.py", KHZ_SECONDS, **options)
    facts = ended.last_json()
    return {
        name: ({**fact, "taken_s": ended.taken_s}, cairn.report(file, "--idle", "--thread", name))
        for name, fact in facts.items()
    }


WAITERS = ["sleeper", "locked", "receiver", "reader", "flocker"]


@pytest.mark.parametrize("thread", WAITERS + ["busy0", "busy1"])
def test_states_are_a_threads_life(waiting, thread):
    fact, report = waiting[thread]
    sum_s = sum(report["states"].values())
    near_s = 0.01 + fact["taken_s"]
    assert 0.99 * fact["wall_s"] - near_s < sum_s < 1.01 * fact["most_s"] + near_s


@pytest.mark.parametrize("thread", WAITERS)
def test_who_waits_is_blocked_on_what_it_waits_for(waiting, thread):
    fact, report = waiting[thread]
    states, longest = report["states"], report["waits"][0]
    waited_s = fact["wall_s"] - fact["cpu_s"]
    # It wants the GIL twice: to begin and to end.
    near_s = 0.02 * fact["wall_s"] + 0.05 + fact["taken_s"]
    assert abs(states["blocked_s"] - waited_s) < near_s, states
    assert longest["syscall"] in fact["calls"], report["waits"]
    on = longest["on"]
    assert (fact["on"] in on) if fact["on"] else on == "", report["waits"]
    assert longest["waited_s"] > 0.95 * states["blocked_s"]


@pytest.mark.parametrize("thread", ["busy0", "busy1"])
def test_who_wants_the_gil_waits_for_it(waiting, thread):
    """What a busy thread did not run, it waited: for the GIL, or for a processor to have it."""
    fact, report = waiting[thread]
    states = report["states"]
    near_s = 0.02 * fact["wall_s"] + fact["taken_s"]
    sum_s = states["gil_wait_s"] + states["runnable_s"] + states["running_s"]
    assert sum_s > 0.99 * fact["wall_s"] - near_s, states
    assert abs(states["running_s"] - fact["cpu_s"]) < near_s, (states, fact)
    # Time that the host took counts as runnable in Cairn, as nothing in the kernel. Who was woken
    # and waits for a processor shows it only when it gets one: the last such wait may come too late.
    gil_wait_s = fact["wall_s"] - fact["cpu_s"] - fact["runq_s"]
    slack_s = 0.03 * fact["wall_s"] + 0.1 * fact["runq_s"] + fact["taken_s"]
    assert states["gil_wait_s"] < gil_wait_s + slack_s, (states, fact)
    assert states["gil_wait_s"] > 0.6 * gil_wait_s - fact["taken_s"], (states, fact)


def test_two_busy_threads_share_one_gil(waiting):
    """Somebody holds it all the time: who runs, and at most who does not wait for it."""
    held = {name: waiting[name][1]["overlays"]["gil_held_s"] for name in ("busy0", "busy1")}
    wall_s = max(waiting[name][0]["wall_s"] for name in held)
    near_s = 0.05 * wall_s + waiting["busy0"][0]["taken_s"]
    assert abs(sum(held.values()) - wall_s) < near_s, held
    for name, held_s in held.items():
        fact, report = waiting[name]
        most_s = fact["wall_s"] - report["states"]["gil_wait_s"]
        assert fact["cpu_s"] - near_s < held_s < most_s + near_s, (held, fact)
    for name in WAITERS:
        assert waiting[name][1]["overlays"]["gil_held_s"] < near_s - 0.03 * wall_s, name


LITTLE = """
import sys, time
sys.setswitchinterval(1e-7)
until = time.perf_counter() + 0.4
while time.perf_counter() < until:
    pass
assert "threading" not in sys.modules
"""


def test_a_program_of_one_thread_holds_its_gil_and_has_a_name(cairn, interpreter):
    """It has not imported threading, and asks for the GIL after 0 us, as CPython rounds that."""
    *python, _ = interpreter.command("busy.py")
    ended = cairn("run", "-o", "x.cairn", "--", *python, "-S", "-c", LITTLE).expect()
    report = cairn.report("x.cairn")
    states, overlays = report["states"], report["overlays"]
    blind_s = cairn.blind_s("x.cairn", ended)
    assert overlays["gil_held_unknown_s"] < 0.1 + blind_s, (overlays, states)
    assert overlays["gil_held_s"] > 0.36 - blind_s, (overlays, states)
    names = [row["name"] for row in cairn.report("x.cairn", "--by", "thread", "--idle")["rows"]]
    assert names == ["MainThread"], names


def check_overlay(cairn, file, name, truth_s, blind_s):
    """What was on at the look that came late has all of the time before it."""
    report = cairn.report(file)
    quality = report["quality"]
    # Ticks are missed in rows: those that are left weigh unevenly, and are fewer draws than they seem.
    n = int(quality["samples"] / (1 + 10 * quality["missed"] / quality["ticks"]))
    seen_s, all_s = report["overlays"][f"{name}_s"], sum(report["states"].values())
    assert report["overlays"][f"{name}_unknown_s"] < 0.01 * all_s + blind_s
    fits = may_be(n, truth_s / all_s, seen_s / all_s, blind_s / all_s)
    assert fits, (name, seen_s, truth_s, all_s, blind_s)


def test_overlays(cairn, interpreter):
    file, ended = cairn.record(interpreter, "overlays.py", KHZ_SECONDS)
    facts = ended.last_json()
    spent_s = facts["spent_s"]
    handled_s = spent_s["handle"] + spent_s["handle_in_generator"]
    blind_s = cairn.blind_s(file, ended)
    check_overlay(cairn, file, "gc", facts["collected_s"], blind_s)
    check_overlay(cairn, file, "exception", handled_s, blind_s)

    script = interpreter.path("overlays.py")
    held, wall = cairn.collapsed(file, "--metric", "gil"), cairn.collapsed(file)
    for name in spent_s:
        share = time_in(held, name, script) / time_in(wall, name, script)
        assert share < 0.05 if name == "hash_without_gil" else share > 0.97, (name, share)


def test_an_overlay_is_a_filter(cairn, interpreter):
    file, ended = cairn.record(interpreter, "overlays.py", 2.0)
    rows = cairn.report(file, "--while", "gc")["rows"]
    assert rows[0]["name"] == "collect" and rows[0]["self_share"] > 0.9, rows[:3]

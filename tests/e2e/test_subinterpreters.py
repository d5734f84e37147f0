"""Code in sub-interpreters (targets/subinterpreters.py) is on the stack of the thread that runs it."""
import json

import pytest

import strace
from harness import TORN, parse_collapsed

ENOUGH = 50  # samples of stacks that are whole
OUTER = ["turns", "outer_spin"]
INNER = {"main": [], "own": [], "lent": [], "nested": ["middle"]}


def truth_of(ended):
    told = [json.loads(line) for line in ended.text.splitlines()]
    return {one.pop("thread"): one for one in told}


def run(cairn, interpreter, *args, options=()):
    file, ended = cairn.record(interpreter, "subinterpreters.py", *args, options=options)
    return file, truth_of(ended), cairn.blind_s(file, ended)


def own_names(stack, path):
    return [frame.name for frame in stack if frame.file == path and frame.name != "<module>"]


def below_turns(stack, path):
    """(thread, names from turns() on) of a stack that is whole and reaches there, else (thread, []),
    as of a thread whose name is not known yet. The names are such as can be."""
    thread = stack[0].name.removeprefix("thread:").replace("MainThread", "main")
    names = own_names(stack, path)
    if "turns" not in names or TORN in stack or thread not in INNER:
        return thread, []
    below = names[names.index("turns") :]
    through = ["turns", "run_inside", *INNER[thread]]
    legal = [OUTER, [*through, "inner_work", "inner_spin"], [*through, "inner_sleep"]]
    legal += [[*through, "tell"]]
    assert any(one[: len(below)] == below for one in legal), (thread, below, stack[-1])
    return thread, below


@pytest.mark.parametrize("kind", ["shared", "isolated"])
def test_stacks_go_on_in_the_other_interpreter(cairn, interpreter, kind):
    if kind == "isolated" and interpreter.version < (3, 12):
        pytest.skip("no interpreter has a GIL of its own before 3.12")
    file, truth, blind_s = run(cairn, interpreter, 1.2, kind)
    assert set(truth) >= {"main", "own", "nested"}
    path = interpreter.path("subinterpreters.py")
    seen, lives = {}, {}
    for stack, value in cairn.collapsed(file, "--threads").items():
        lives[stack[0].name] = lives.get(stack[0].name, 0) + value / 1e6
        thread, below = below_turns(stack, path)
        if not below:
            continue
        assert thread in truth, stack
        place = below[-1] if below[-1] in ("outer_spin", "inner_sleep") else "between"
        place = "inner_work" if "inner_work" in below else place
        if "tell" in below:
            continue  # what it tells ends before
        seen[thread, place] = seen.get((thread, place), 0) + value / 1e6
    for thread, places in truth.items():
        for place, seconds in places.items():
            found = seen.get((thread, place), 0)
            near_s = 0.1 + 0.12 * seconds + blind_s
            assert abs(found - seconds) < near_s, (thread, place, found, places)
    report = cairn.report(file)
    assert report["quality"]["torn_share"] < 0.01
    span = report["recording"]["span_s"]
    least_s, most_s = span * 0.97 - blind_s, span * 1.01 + blind_s
    assert least_s < lives["thread:MainThread"] < most_s, "its time is counted once"


def test_threads_that_wake_up_while_they_are_read(cairn, interpreter):
    """Reads that are held up: the interpreters of a thread are still shown as of one moment."""
    strace.require()
    file, path = cairn.folder / "late.cairn", interpreter.path("subinterpreters.py")
    command = [cairn.binary, "run", "--flush", "100ms", "-o", file, "--"]

    def told():
        """Samples so far that are whole; what they say is judged."""
        export = cairn("export", "-f", "collapsed", "--threads", "--unit", "samples", file)
        stacks = parse_collapsed(export.text)
        return sum(count for stack, count in stacks.items() if below_turns(stack, path)[1])

    late = ["-e", "inject=process_vm_readv:delay_enter=300"]
    command += interpreter.command("subinterpreters.py", "-")
    truth = truth_of(strace.traced_until(cairn, late, command, lambda: told() > ENOUGH).expect())
    assert told() > ENOUGH, "they were seen"
    assert set(truth) >= {"main", "own", "nested"}, "the program does not notice"


def time_of(cairn, file, metric, names):
    """Seconds in the innermost frames of these names."""
    stacks = cairn.collapsed(file, "--metric", metric)
    return sum(v for s, v in stacks.items() if any(f.name in names for f in s[-1:])) / 1e6


def test_each_gil_has_its_holder(cairn, interpreter):
    """Who spins holds a GIL or waits for it; one that nobody else wants is held all the time."""
    file, _, blind_s = run(cairn, interpreter, 1, "shared")
    spins = ["outer_spin", "inner_spin"]
    held, waited = (time_of(cairn, file, metric, spins) for metric in ("gil", "gil-wait"))
    queued = time_of(cairn, file, "runq", spins)
    wall = time_of(cairn, file, "wall", spins)
    least_s, most_s = wall * 0.85 - queued - blind_s, wall * 1.2 + blind_s
    assert least_s < held + waited < most_s, (held, waited, queued, wall)
    span = cairn.report(file)["recording"]["span_s"]
    assert held < span * 1.03 + blind_s, "there is only one"
    if interpreter.version < (3, 12):
        return
    file, _, blind_s = run(cairn, interpreter, 1, "isolated")
    held, wall = (time_of(cairn, file, metric, ["inner_spin"]) for metric in ("gil", "wall"))
    assert wall * 0.95 - blind_s < held < wall * 1.01
    assert held > 1.2 - blind_s, "several at a time"

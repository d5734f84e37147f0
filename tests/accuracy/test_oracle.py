"""Stacks read while the program runs, against stacks read while it stands still.

What is read of a stopped process is of one moment by force. `build/tools/pystacks` reads both ways
with the same code as Cairn.
"""
import re
import select
from collections import Counter, namedtuple

import pytest

import harness
from limits import FALSE_ALARM, upper_tail

FULL = harness.FULL
TICKS, STOPS, SECONDS = 2000, 10_000 if FULL else 2000, 600 if FULL else 240
LEARNING = 1000
PYSTACKS = harness.cairn_binary().parent / "tools" / "pystacks"
SCRIPTS = ["flutter.py", "generators.py", "relays.py"]
# Of the leaf's distribution: chance of 2,000 looks at a program with few functions is 0.03; the rest
# is in docs/accuracy.md.
MOST_APART = {"flutter.py": 0.40, "generators.py": 0.20, "relays.py": 0.40}
Frame = namedtuple("Frame", "name file")
SLOW = pytest.mark.skipif(not FULL, reason="takes minutes: in make test-full")
MOST_DIFFERENT = 0.0002  # of stops


@pytest.fixture(params=SCRIPTS)
def running(request, interpreter):
    process = harness.spawn(interpreter.command(request.param, SECONDS))
    try:
        # It is in its own code once the first stack of it is whole.
        deadline = 0
        while "main" not in stacks_of(process.pid, 1) and deadline < 200:
            deadline += 1
            select.select([], [], [], 0.02)
        yield interpreter, request.param, process
    finally:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def stacks_of(pid, *args):
    """Ten thousand stops take longer than anything else on a machine with other work."""
    return harness.execute([PYSTACKS, pid, *args], deadline_s=SECONDS / 2).text


def legal_pairs(script, interpreter):
    ended = harness.execute(interpreter.command(script, "0.01"))
    pairs = {tuple(pair) for pair in ended.last_json()["legal"]}
    if interpreter.version >= (3, 11):
        return pairs
    return {tuple(name.rpartition(".")[2] for name in pair) for pair in pairs}


def frames_of(line):
    parts = [re.match(r"(.*?)(?: \((.*):\d+\+-?\d+\))?$", frame) for frame in line.split(";")[1:]]
    return [Frame(part[1], part[2]) for part in parts]


def accepted(text):
    """Stacks that were believed, as tuples of frames, and how many lines were not. The same one to
    the instruction, again, is of a program that waits for a processor: it counts once."""
    stacks, others, before = Counter(), 0, ""
    for line in text.splitlines():
        if line == before:
            continue
        before = line
        if line.startswith("ok;"):
            stacks[tuple(frames_of(line))] += 1
        else:
            others += 1
    return stacks, others


def seen_by_turns(pid):
    """{way: what is accepted, and how many are not}. One reader looks both ways by turns: where the
    program happens to be on a processor, how fast that is just then and what the reader knows of it
    is the same for both. It learns from LEARNING looks first, which do not count."""
    lines = stacks_of(pid, 2 * TICKS + LEARNING, 300, "turns").splitlines()[LEARNING:]
    return {
        way: accepted("\n".join(line.partition(";")[2] for line in lines if line.startswith(way)))
        for way in ("running", "stopped")
    }


def leaves(stacks):
    found = Counter()
    for stack, count in stacks.items():
        found[stack[-1].name] += count
    total = sum(found.values())
    return {name: count / total for name, count in found.items()}


def apart(left, right):
    """Total variation distance of two distributions."""
    return sum(abs(left.get(k, 0) - right.get(k, 0)) for k in left.keys() | right.keys()) / 2


def test_the_distance_itself():
    assert apart({"a": 1}, {"a": 1}) == 0 and apart({"a": 1}, {"b": 1}) == 1
    assert apart({"a": 0.5, "b": 0.5}, {"a": 1}) == 0.5


@pytest.mark.parametrize(
    "running",
    [pytest.param(s, marks=[SLOW] if s != "generators.py" else []) for s in SCRIPTS],
    indirect=True,
)
def test_running_and_stopped_show_the_same(running):
    interpreter, script, process = running
    legal = legal_pairs(script, interpreter)
    seen = {}
    for way, (stacks, others) in seen_by_turns(process.pid).items():
        wrong = harness.impossible_stacks(stacks, legal, interpreter.path(script))
        assert not wrong, (way, wrong)
        assert upper_tail(TICKS, 0.01, others) > FALSE_ALARM, (way, others)
        seen[way] = leaves(stacks)
    distance = apart(seen["running"], seen["stopped"])
    print(f"\n{interpreter.label} {script}: running and stopped are {distance:.3f} apart")
    assert distance < MOST_APART[script], seen


@pytest.mark.timeout(SECONDS)
def test_a_reader_that_knows_much_sees_what_a_new_one_sees(running):
    """The same instant, read from caches of a thousand ticks and more, and from nothing. Who knows
    nothing cannot place a generator that is just handed over to, nor those that wait for it: where
    these are more than the new reader saw, the process' own links say that they run."""
    interpreter, script, process = running
    text = stacks_of(process.pid, STOPS, 100, "oracle")
    found = re.search(r"stops (\d+) agreed (\d+) linked (\d+) unsure (\d+)", text)
    stops, agreed, linked, unsure = map(int, found.groups())
    told = f"{agreed} agree, {linked} by the links, {unsure} unsure of {stops}"
    print(f"\n{interpreter.label} {script}: {told}")
    assert stops == STOPS
    wrong = stops - agreed - linked
    assert upper_tail(stops, MOST_DIFFERENT, wrong) > FALSE_ALARM, text[-3000:]


def test_what_a_generator_runs_is_no_root(interpreter):
    """A copy that spans two calls of a generator shows its frame as nobody's, and running."""
    if interpreter.version >= (3, 11):
        pytest.skip("frames are objects until 3.10")
    process = harness.spawn(interpreter.command("orphan.py"))
    try:
        assert harness.read_line(process).strip() == "ready"
        for line in stacks_of(process.pid, 20).splitlines():
            assert not line.startswith("ok;generate"), line
    finally:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

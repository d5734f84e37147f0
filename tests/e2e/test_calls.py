"""Was every call in a recording made? CPython itself is asked.

The standard library's own functions do the work, from parsers to asyncio, and sys.setprofile notes
every call in a run of its own. No caller and callee may stand together in a recording that do not
there. The limits are those of the programs that call all the time (limits.py).
"""
import signal
from collections import Counter

import pytest

import harness
from harness import TORN
from limits import check_churn

SCRIPT = "library.py"
CRASHED = 128 + signal.SIGSEGV  # CPython 3.11.2 now and then
ROUND = "round_of"  # what it calls is the same in every round


@pytest.fixture(scope="module")
def calls(interpreter):
    # What gettext and others do depends on the environment.
    env = harness.Cairn("/").environment()
    ended = harness.execute(interpreter.command(SCRIPT, 0.5, "calls"), env=env)
    if ended.status == CRASHED:  # Cairn has no part in this run
        pytest.skip(f"{interpreter.label} crashes under its own sys.setprofile")
    told = ended.expect(0).last_json()
    return {(tuple(call[:3]), tuple(call[3:])) for call in told["calls"]}


@pytest.mark.parametrize("rate,seconds,least_per_s", [("1khz", 2.5, 333), ("max", 1.0, 2000)])
def test_every_call_was_made(cairn, interpreter, calls, rate, seconds, least_per_s):
    file, ended = cairn.record(interpreter, SCRIPT, seconds, options=["-r", rate])
    stacks = cairn.collapsed(file, "--unit", "samples", "--lines", "first")
    n, torn, wrong, seen = 0, 0, Counter(), set()
    for stack, value in stacks.items():
        names = [frame.name for frame in stack]
        if ROUND not in names:
            continue
        n += value
        torn += value * (TORN in stack)
        inner = [(f.name, f.file, f.line) for f in stack[names.index(ROUND) :] if f.file]
        made = set(zip(inner, inner[1:]))
        seen |= made & calls
        wrong.update({call: value for call in made - calls})
    print(f"\n{interpreter.label} {rate}: {n} samples, torn {torn / n:.4%}, wrong {dict(wrong)}, "
          f"{len(seen)} of {len(calls)} calls seen")
    assert n > least_per_s * max(0.1, seconds - ended.taken_s)
    assert len(seen) > 0.05 * len(calls), "the names of both are not alike"
    check_churn(interpreter, n, torn, wrong, {})

"""A thread that goes on while it is read, between any two parts of the reading: what is told is a stack
that it had (tests/unit/moments.c says how that is known)."""
import pytest

import harness

TICKS = 4000


@pytest.mark.parametrize("script", ["many_stops.py", "nested_turns.py"])
def test_no_stack_is_made_of_several(interpreter, script):
    probe = harness.cairn_binary().parent / "tests" / "unit" / "moments"
    ended = harness.execute([probe, 7, TICKS, *interpreter.command(script)]).expect()
    seen = ended.json()
    assert seen["ticks"] == TICKS and seen["stacks"] >= 3
    assert seen["wrong"] == 0, (seen, ended.err)
    assert seen["whole"] > TICKS * 0.95 and seen["cut"] < TICKS * 0.02, seen

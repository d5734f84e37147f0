"""Is every stack one that can have been? Programs that call all the time, and know what may call what.

How long anything took is not asked, so others may be at work beside them.
"""
import ast
from collections import Counter

import pytest

import harness
from harness import TORN, impossible_stacks
from limits import check_churn


def lines_of_functions(script):
    """{name: line numbers of its body, or of its head} of the functions of a target program."""
    tree = ast.parse((harness.TARGETS / script).read_text())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = range(node.lineno, node.end_lineno + 1)
    return found


SECONDS = 2.0 if harness.FULL else 1.2  # a look at each; millions are bench/honesty.py's
CHURN = ["descents.py", "exceptions.py", "flutter.py", "generators.py", "relays.py", "tides.py"]


def churn(cairn, interpreter, script, seconds, rate, least_per_s, **more):
    file, ended = cairn.record(interpreter, script, seconds, options=["-r", rate], **more)
    stacks = cairn.collapsed(file, "--unit", "samples")
    path = interpreter.path(script)
    n = sum(stacks.values())
    assert n > least_per_s * max(0.1, seconds - ended.taken_s)
    torn = sum(value for stack, value in stacks.items() if TORN in stack)
    told = ended.last_json()
    wrong = impossible_stacks(stacks, interpreter.names(told["legal"]), path, told.get("roots", ()))
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
    n, torn, wrong, wrong_lines = churn(cairn, interpreter, script, SECONDS, "1khz", 333)
    check_churn(interpreter, n, torn, wrong, wrong_lines)


@pytest.mark.parametrize("script", CHURN)
def test_honest_on_churn_at_the_highest_rate(cairn, interpreter, script):
    n, torn, wrong, wrong_lines = churn(cairn, interpreter, script, SECONDS, "max", 5000)
    check_churn(interpreter, n, torn, wrong, wrong_lines)


@pytest.mark.parametrize("rate, least_per_s", [("1khz", 333), ("10khz", 3000), ("max", 5000)])
@pytest.mark.parametrize("script", ["greenlets.py", "gevents.py"])
def test_honest_on_greenlets(cairn, equipped, script, rate, least_per_s):
    """Stacks that are exchanged."""
    interpreter, env = equipped
    n, *wrong = churn(cairn, interpreter, script, SECONDS, rate, least_per_s, env=env)
    check_churn(interpreter, n, *wrong)


def test_code_that_takes_the_place_of_other_code(cairn, interpreter):
    """Modules that come and go: no frame bears the name of what lay there before, or after."""
    n, torn, wrong, wrong_lines = churn(cairn, interpreter, "modules.py", 2.0, "10khz", 500)
    check_churn(interpreter, n, torn, wrong, wrong_lines)

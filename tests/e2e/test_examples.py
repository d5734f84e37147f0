"""The programs of examples/ under `cairn run`: what they print, and the functions that ran."""
import importlib.metadata
import json
import sys

import pytest

import harness
from harness import execute


@pytest.mark.parametrize("example", ["nn", "reader", "patch", "cv", "gil", "puzzle"])
def test_examples_can_be_profiled(cairn, example, folder):
    script = harness.ROOT / "examples" / f"{example}.py"
    alone = execute([sys.executable, script]).expect()
    under = cairn("run", "-o", "x.cairn", "--python", sys.executable, script).expect()
    if example in ("nn", "cv", "puzzle", "reader"):  # the others print times
        assert under.out == alone.out
    file = folder / "x.cairn"
    names = {frame.name for stack in cairn.collapsed(file) for frame in stack}
    wanted = {
        "nn": {"main", "train_numpy"},
        "reader": {"reader", "batches", "Executor.run"},
        "patch": {"statistics", "of_the_view", "of_a_contiguous_copy"},
        "cv": {"infer", "paste_back"},
        "gil": {"count_down", "one_after_the_other"},
        "puzzle": {"solve", "candidates", "hardest_square"},
    }[example]
    if example == "nn" and b"torch" in alone.out:
        wanted = {"main", "train_torch"}
    assert wanted <= names
    if example in ("nn", "patch", "cv"):
        version = importlib.metadata.version("numpy")
        assert version in json.dumps(cairn.report(file)["recording"])

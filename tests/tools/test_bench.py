"""The bench judges by these functions: what they must see, and what they must not."""
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import machine  # noqa: E402
import measure  # noqa: E402
import ratios  # noqa: E402
import results  # noqa: E402
import row_churn  # noqa: E402
import table  # noqa: E402
import tools  # noqa: E402

pytestmark = pytest.mark.timeout(60)


def own(*names):
    return tuple(("flutter.py", name) for name in names)


@pytest.mark.parametrize("stack", [
    own("<module>"),
    own("<module>", "main", "rounds", "green_top", "green_middle", "green_leaf"),
    (("", "tid:7"), *own("<module>", "main")),
    (*own("<module>", "main"), ("", "<GC>")),
    (("importlib.py", "load"),),
])
def test_a_possible_stack_is_let_pass(stack):
    assert row_churn.impossible(Counter({stack: 3})) == 0


@pytest.mark.parametrize("stack", [
    own("main"),
    own("<module>", "rounds"),
    own("<module>", "main", "rounds", "green_top", "blue_middle"),
    own("<module>", "main", "rounds", "green_top", "green_leaf"),
    own("<module>", "main", "rounds", "rounds"),
    (*own("<module>", "main"), ("json.py", "dumps"), *own("rounds")),
])
def test_an_impossible_stack_is_seen(stack):
    assert row_churn.impossible(Counter({stack: 3, own("<module>"): 1})) == 3


def test_the_grammar_is_the_program_s_own():
    source = (Path(__file__).resolve().parents[1] / "targets" / row_churn.PROGRAM).read_text()
    for caller, callee in row_churn.LEGAL - {("<module>", "main")}:
        assert f"def {caller}(" in source and f"def {callee}(" in source


def test_ratio_is_paired_and_leaves_out_failed_rounds():
    middle, low, high = ratios.paired_ratio([1, 10, None, 100], [2, 20, 7, None])
    assert (middle, low, high) == (2, 2, 2)
    middle, low, high = ratios.paired_ratio([1, 1, 1, 1, 1], [1, 2, 3, 4, 5])
    assert middle == 3 and 1 <= low < 3 < high <= 5
    assert ratios.paired_ratio([0, None], [1, 1]) is None


def test_wilson():
    low, high = ratios.wilson(0, 1000)
    assert low == 0 and 0.003 < high < 0.004
    low, high = ratios.wilson(50, 100)
    assert 0.40 < low < 0.41 and 0.59 < high < 0.60


def test_failed_runs_are_shown():
    of = table.Table("k", "Title", "s", {"peer": "7"})
    of.add(0, "3.13", "cairn", 1.0)
    of.fail("3.13", "peer", "it fell over")
    text = "\n".join(results.table_text(of))
    assert "0 ok, 1 failed" in text and "peer on 3.13: it fell over" in text and "| 7 |" in text


def test_a_share_is_of_the_peer_in_the_same_round():
    share = table.Goal(0.5, old=0.2, since=(3, 12), peer="peer")
    of = table.Table("k", "Title", "ns", {}, share)
    of.goals["other"] = share
    for turn, ours, theirs, others in ((0, 4, 10, 6), (1, 40, 100, 60), (2, 1, 1000, 600)):
        for subject in ("3.11.7", "3.12.1"):
            of.add(turn, subject, "cairn", ours)
            of.add(turn, subject, "peer", theirs)
            of.add(turn, subject, "other", others)
    of.add(0, "3.13.0", "cairn", 4)  # beside no peer
    met = {(line["subject"], line["tool"]): (line["goal"], line["met"]) for line in of.lines()}
    assert met["3.11.7", "cairn"] == (0.2, "no") and met["3.12.1", "cairn"] == (0.5, "yes")
    assert met["3.12.1", "other"] == (0.5, "no") and met["3.12.1", "peer"] == (None, None)
    assert met["3.13.0", "cairn"] == (0.5, "no number")
    text = "\n".join(results.table_text(of))
    assert "| <= 0.500 of peer | yes (0.400) |" in text and "**no** (0.600)" in text
    assert "| <= 0.500 of peer | no number |" in text


def test_collapsed_stacks_of_every_tool():
    cairn = tools.collapsed("main (/a b/x.py:3);C.f (/x.py:4) 5\n[not python] 2", tools.CAIRN_FRAME)
    assert cairn == {(("x.py", "main"), ("x.py", "C.f")): 5, (("", "[not python]"),): 2}
    spy = tools.collapsed("<module> (x.py:92);main (x.py) 2", tools.PY_SPY_FRAME)
    assert spy == {(("x.py", "<module>"), ("x.py", "main")): 2}
    tachyon = tools.collapsed("tid:9;x.py:<module>:92;~:<GC>:0 4", tools.COLON_FRAME)
    assert tachyon == {(("", "tid:9"), ("x.py", "<module>"), ("~", "<GC>")): 4}
    austin = tools.collapsed("# note\nP1;T0:1;/a/x.py:<module>:92 1", tools.COLON_FRAME)
    assert austin == {(("", "P1"), ("", "T0:1"), ("x.py", "<module>")): 1}


def test_a_run_is_measured_and_ended():
    code = "x = bytearray(64 << 20); print(sum(range(10**7)))"
    ran = measure.run([sys.executable, "-c", code], 30)
    assert ran.cpu_s > 0.02 and ran.wall_s > 0.02 and ran.peak_bytes > 64 << 20
    assert ran.out.strip() == str(sum(range(10**7)))
    with pytest.raises(measure.Failed, match="status 3: why"):
        measure.run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], 30)
    with pytest.raises(measure.Failed, match="not over after 0.2 s"):
        measure.run(["sleep", "60"], 0.2)


def test_memory_is_that_of_children_too():
    """As of `cairn import`, whose child reads the file."""
    child = "held = bytes(range(256)) * (1 << 18); print(len(held), flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    with process:
        assert int(process.stdout.readline()) == 64 << 20
        assert measure.peak_bytes(process.pid) > 64 << 20
        process.communicate(b"\n", timeout=20)
    assert measure.peak_bytes(process.pid) == 0


def test_a_page_does_not_say_where_the_tree_lies():
    root = Path(__file__).resolve().parents[2]
    assert results.without_place(f"{root}/build/x failed") == "build/x failed"


def test_processor_time_of_who_is_not_waited_for_is_the_bench_s_own():
    code = """import os, signal, time
if os.fork() == 0:
    while time.process_time() < 0.3:
        pass
    print("done", flush=True)
signal.pause()
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                              start_new_session=True)
    try:
        assert parent.stdout.readline() == "done\n"
        before_s = machine.busy_s()[1]
        with machine.ending():
            os.killpg(parent.pid, signal.SIGKILL)
            parent.wait()
        assert 0.25 < machine.busy_s()[1] - before_s < 2
    finally:
        parent.kill()
        parent.stdout.close()

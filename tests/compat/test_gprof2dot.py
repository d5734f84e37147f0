"""`cairn gprof2dot` beyond its seeds (seeds.txt): what it reads, and what it refuses."""
import importlib.util
import re
import sys

import pytest

from harness import execute

COLLAPSED = """main;parse;read 30
main;parse 20
main;solve;solve;step 40
main 10
"""


def nodes_of(dot):
    """{name: (total, self) in per cent} of the boxes."""
    found = re.findall(r'^\t\w+ \[.*?label="(.*?)"', dot, re.MULTILINE)
    rows = [label.split("\\n") for label in found if "%" in label and ")" in label]
    return {row[0].split(":")[-1]: (float(row[1][:-1]), float(row[2][1:-2])) for row in rows}


def test_stacks_from_a_pipe(cairn, folder):
    """gprof2dot guesses totals from who called whom; here they are those of the stacks."""
    ended = cairn("gprof2dot", "-f", "collapse", "-n", "0", "-e", "0", data=COLLAPSED.encode()).expect()
    nodes = nodes_of(ended.text)
    assert nodes == {"main": (100, 10), "parse": (50, 20), "read": (30, 30), "solve": (40, 0),
                     "step": (40, 40)}  # fmt: skip
    if importlib.util.find_spec("gprof2dot"):
        command = [sys.executable, "-m", "gprof2dot", "-f", "collapse", "-n", "0", "-e", "0"]
        peer = nodes_of(execute(command, COLLAPSED.encode(), cwd=folder).expect().text)
        assert {name: own for name, (_, own) in peer.items()} == {
            name: own for name, (_, own) in nodes.items()
        }


def test_a_recording_and_its_exports_are_one_graph(cairn, busy_recording, folder):
    file, _ = busy_recording
    cairn("export", "-f", "pstats", "-o", "out.prof", file).expect()
    wanted = cairn("gprof2dot", "-f", "pstats", "out.prof").expect().text
    assert "heavy" in wanted and cairn("gprof2dot", file).expect().text == wanted
    assert cairn("export", "-f", "dot", file).expect().text == wanted


def test_names_are_listed(cairn, busy_recording):
    listed = cairn("gprof2dot", "--list-functions", "*heavy", busy_recording[0]).expect().text
    assert re.fullmatch(r"busy:\d+:heavy\n", listed)
    every = cairn("gprof2dot", "-n", "0", "--list-functions", "+", busy_recording[0]).expect().text
    assert listed in every and len(every.splitlines()) > 5
    below = ["-n", "0", "-e", "0", "--root", "*heavy", "--list-functions", "+"]
    below = cairn("gprof2dot", *below, busy_recording[0]).expect().text
    assert listed in below and len(below) < len(every)
    assert cairn("gprof2dot", "--list-functions", "nobody", busy_recording[0]).expect().text == ""


def test_empty_words_are_none(cairn, busy_recording):
    wanted = cairn("gprof2dot", busy_recording[0]).expect().text
    assert cairn("gprof2dot", "--root", "", "--leaf", "", busy_recording[0]).expect().text == wanted


@pytest.mark.parametrize("words, status, says", [
    (["-f", "axe", "x"], 122, "there is no FORMAT 'axe'"),
    (["-z", "*nothing_like_it"], 127, "root node *nothing_like_it not found"),
    (["-l", "*nothing_like_it"], 127, "leaf node *nothing_like_it not found"),
    (["--skew", "inf"], 122, "--skew: 'inf' is no number above 0"),
    (["--skew", "-1"], 122, "--skew: '-1' is no number above 0"),
    (["--node-label", "name"], 122, "there is no MEASURE 'name'"),
    (["-c", "sepia"], 122, "there is no THEME 'sepia'"),
])  # fmt: skip
def test_what_cannot_be_is_said(cairn, busy_recording, words, status, says):
    ended = cairn("gprof2dot", *words, busy_recording[0]).expect(status)
    assert says in ended.talk and ended.out == b""


def test_what_is_no_profile_is_said(cairn, folder):
    (folder / "x.prof").write_text("no profile\n")
    assert "x.prof" in cairn("gprof2dot", "-f", "pstats", "x.prof").expect(123).talk
    assert "gone.prof" in cairn("gprof2dot", "-f", "pstats", "gone.prof").expect(127).talk

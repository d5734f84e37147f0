"""`cairn pprof` prints what google/pprof prints: of a small profile whose reports are kept here
(golden/pprof; tools: `python tests/compat/test_pprof.py` asks the real tool again), and where Go is
installed, of real recordings."""
import http.client
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "pprof"
LINES = {  # the golden file, and the words that it is of
    "top": "-top",
    "top_cum": "-top -cum -nodecount=4",
    "top_lines": "-lines -text",
    "top_filefunctions": "--top --filefunctions --nodefraction=0.2",
    "top_unit": "-top -unit=ms -divide_by 4",
    "top_focus": "-top -focus load -ignore=^nothing -hide read",
    "top_relative": "-top -focus=io.py -relative_percentages",
    "top_show_from": "-top -show_from solve -prune_from=step -compact_labels",
    "top_diff_base": "-top -diff_base before.pb.gz",
    "top_base": "-top -base=before.pb.gz",
    "top_normalize": "-top -normalize -base before.pb.gz",
    "top_drop_negative": "-top -drop_negative -base before.pb.gz",
    "tree": "-tree",
    "tree_small": "-tree -nodecount 2 -edgefraction=0.2",
    "tree_lines": "-tree -lines -cum",
    "peek": "-peek solve|load",
    "traces": "-traces",
    "traces_lines": "-traces -lines -taghide=state",
    "list": "-list=step|read -source_path=/nowhere",
}
REAL = ["go", "tool", "pprof"]


def real(words, folder):
    # No profile of its own is kept, no server is asked: nothing but the files.
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "TZ": "UTC"}
    command = [shutil.which("go"), *REAL[1:], *map(str, words)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


def without_time(text):
    return re.sub(r"(?m)^Time: .*\n", "", text)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    import harness
    folder = tmp_path_factory.mktemp("pprof")
    cairn = harness.Cairn(folder)
    for name in ("stacks", "before"):
        shutil.copy(GOLDEN / f"{name}.txt", folder)
        cairn("export", "-f", "pprof", "-o", f"{name}.pb.gz", f"{name}.txt").expect()
    return cairn


@pytest.mark.parametrize("name", LINES)
def test_it_prints_what_pprof_printed(place, name):
    words = LINES[name].split()
    assert place("pprof", *words, "stacks.pb.gz").expect().text == (GOLDEN / f"{name}.out").read_text()


def test_the_goldens_are_those_of_the_real_one(place):
    if not shutil.which("go"):
        pytest.skip("Go, which has pprof, is not installed")
    for name in ("top", "tree", "peek", "traces", "top_diff_base"):
        assert real([*LINES[name].split(), "stacks.pb.gz"], place.folder) == (GOLDEN / f"{name}.out").read_text()


def test_of_a_recording_it_prints_what_pprof_prints_of_its_export(cairn, busy_recording, folder):
    if not shutil.which("go"):
        pytest.skip("Go, which has pprof, is not installed")
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", busy_recording[0]).expect()
    for line in ("-top", "-tree -lines", "-peek=.", "-traces", "-list=heavy", "-top -sample_index=samples",
                 "-mean -cum -top", "-top -sample_index=2 -tagfocus=state=running"):  # fmt: skip
        mine = cairn("pprof", *line.split(), busy_recording[0]).expect().text
        assert without_time(mine) == real([*line.split(), "out.pb.gz"], folder), line


def test_any_file_is_read_and_a_program_in_front_is_passed_over(place):
    wanted = place("pprof", "-top", "stacks.pb.gz").expect().text
    assert place("pprof", "stacks.pb.gz", "-top").expect().text == wanted
    assert place("pprof", "-top", sys.executable, "stacks.pb.gz").expect().text == wanted
    assert place("pprof", "-top", "stacks.txt").expect().text.splitlines()[-8:] == wanted.splitlines()[-8:]
    place("pprof", "-top", "-output=top.txt", "stacks.pb.gz").expect()
    assert (place.folder / "top.txt").read_text() == wanted


def test_source_stands_beside_its_numbers(cairn, folder):
    (folder / "program.py").write_text("def heavy():\n\tx = 1\n    # end\n\n\n\n\n\n\n# far\n")
    (folder / "s.txt").write_text(f"heavy ({folder}/program.py:2) 5000\n")
    listed = cairn("pprof", "-list", "heavy", "s.txt").expect().text
    assert f"ROUTINE ======================== heavy in {folder}/program.py\n" in listed
    assert "       5ms        5ms      2:\tx = 1\n" in listed and "far" not in listed


def test_a_graph_has_the_nodes_and_edges(place):
    drawn = place("pprof", "-dot", "stacks.pb.gz").expect().text
    assert drawn.startswith("digraph") and re.search(r'^N\d+ \[label="step\\n500ms \(56\.38%\)"', drawn, re.MULTILINE)
    assert 'tooltip="solve -> step (500ms)"' in drawn and "tidy" not in drawn
    if shutil.which("dot"):
        assert b"<svg" in place("pprof", "-svg", "stacks.pb.gz").expect().out
    ended = place("pprof", "-svg", "stacks.pb.gz", env={"PATH": "/nowhere"}).expect(127)
    assert "graphviz" in ended.talk and ended.out == b""


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "-top"),
        (["-tpo"], "-top"),
        (["-top", "-tree"], "at most one"),
        (["-raw"], "-raw"),
        (["-top", "-focus=("], "-focus"),
        (["-top", "-nodecount=few"], "few"),
        (["-top", "-lines", "-files"], "conflicting"),
        (["-top", "-sample_index=heap"], "wall"),
        (["-top", "-base", "before.pb.gz", "-diff_base=before.pb.gz"], "both"),
        (["-http=8080"], "HOST:PORT"),
        (["-top", "-output"], "-output"),
    ],
)
def test_bad_words_are_named(place, words, said):
    import harness
    assert said in place("pprof", "stacks.pb.gz", *words).expect(harness.USAGE).talk


def test_what_is_not_there_is_named(place):
    (place.folder / "cut.pb.gz").write_bytes((place.folder / "stacks.pb.gz").read_bytes()[:60])
    assert "cut.pb.gz" in place("pprof", "-top", "cut.pb.gz").expect(123).talk
    assert "gone.pb" in place("pprof", "-top", "gone.pb").expect(127).talk
    assert "nobody" in place("pprof", "-peek=nobody", "stacks.pb.gz").expect(127).talk
    assert "Focus" in place("pprof", "-top", "-focus=nobody", "stacks.pb.gz").expect().talk


@pytest.mark.parametrize("module", [False, True])
def test_http_has_the_page(place, module):
    import harness
    words = ["-http=127.0.0.1:", "-no_browser", "stacks.pb.gz"]
    if module:
        env = {**place.environment(), "PYTHONPATH": str(harness.cairn_binary().parent / "python")}
        command = [sys.executable, "-m", "cairn.pprof", *words]
        process = harness.spawn(command, env=env, cwd=place.folder, stderr=subprocess.STDOUT)
    else:
        process = place.spawn("pprof", *words, stderr=subprocess.STDOUT)
    try:
        line = harness.read_line(process)
        port, token = re.fullmatch(r"Serving web UI on http://127\.0\.0\.1:(\d+)/\?t=(\w+)", line.strip()).groups()
        asked = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        asked.request("GET", "/api/table", headers={"Cookie": f"cairn-{port}={token}"})
        assert "solve" in asked.getresponse().read().decode()
        asked.close()
    except BaseException:
        harness.end_group(process)
        raise
    process.send_signal(signal.SIGINT)
    assert harness.finish(process).status == 0


if __name__ == "__main__":  # CAIRN=build/cairn: the real tool's words, anew
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as work:
        for stem in ("stacks", "before"):
            made = [os.environ["CAIRN"], "export", "-f", "pprof", "-o", f"{work}/{stem}.pb.gz", GOLDEN / f"{stem}.txt"]
            subprocess.run(made, check=True)
        for stem, line in LINES.items():
            (GOLDEN / f"{stem}.out").write_text(real([*line.split(), "stacks.pb.gz"], Path(work)))

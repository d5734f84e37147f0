"""pprof's own tool reads what we write, and shows what the report shows."""
import os
import re
import shutil
from pathlib import Path

import pytest

import harness


@pytest.fixture(scope="module")
def pprof():
    """`go tool pprof` as a function from arguments to text."""
    if not os.environ.get("CAIRN_FULL"):
        pytest.skip("Go is heavy: in make test-full")
    go = shutil.which("go") or next(map(str, Path("/usr/lib").glob("go-*/bin/go")), None)
    if go is None:
        pytest.skip("needs Go: apt-get install golang-go")
    env = {**os.environ, "PPROF_TMPDIR": "/nonexistent", "HOME": "/nonexistent"}
    return lambda *args: harness.execute([go, "tool", "pprof", *args], env=env).expect().text


def test_top_is_the_reports(cairn, python, folder, pprof):
    file, ended = cairn.record(python, "states.py", 0.8)
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", file).expect()
    out = folder / "out.pb.gz"
    told = pprof("-top", "-unit=us", "-nodefraction=0", "-nodecount=1000", out)
    assert "Type: wall" in told
    total_us = float(re.search(r"Total samples = ([\d.]+)us", told)[1])
    stacks = cairn.collapsed(file)
    assert abs(total_us - sum(stacks.values())) < 0.001 * total_us
    flat = {m[2]: float(m[1]) for m in re.finditer(r"^ *([\d.]+)(?:us)? .*%  (.*)$", told, re.M)}
    for row in cairn.report(file, "--idle", "--limit", "6")["rows"]:
        same = [r["self_s"] for r in cairn.report(file, "--idle")["rows"]
                if r["qualname"] == row["qualname"]]  # fmt: skip
        assert abs(flat[row["qualname"]] - sum(same) * 1e6) < 0.01 * total_us, row
    assert "<module>" in told, "names in brackets are not cut off"


def test_labels_are_tags(cairn, python, folder, pprof):
    file, ended = cairn.record(python, "states.py", 0.8)
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", file).expect()
    tags = pprof("-tags", folder / "out.pb.gz")
    for word in ("thread:", "process:", "state:", "sleeper", "busy", "blocked", "running"):
        assert word in tags, tags
    busy = pprof("-sample_index=cpu", "-top", "-tagfocus=thread=busy", folder / "out.pb.gz")
    assert "spin" in busy and "sleep_through" not in busy

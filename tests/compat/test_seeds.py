"""What people have in their notes prints what the tool printed that they had it for (seeds.txt)."""
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest

import harness
from harness import ROOT, execute

# The real tool, and what of its text is masked because it differs from run to run: (regex, text).
REAL = {"pstats": ["-m", "pstats"], "gprof2dot": ["GPROF2DOT"]}
IN_PYTHON = ("kernprof", "line_profiler")  # run by the Python of the tests, which has the real ones
LINES = [(r"Total time: \S+ s", "Total time: T s"),
         (r"(?m)^( +\d+ +\d+) +\S+ +\S+ +[\d.]+  ", r"\1 T  "),
         (r"(?m)^( +\d+ +\d+) +\S+ +\S+ {11,}", r"\1 T  "),  # no time, so no share of it
         (r"(?m)^ +[\d.]+ seconds", "S seconds"),
         (r"/\S+/(kernprof-\w+\.py)", r"/TMP/\1"),
         (r"(kernprof-(command|stdin)-)\w+", r"\1XXX"),
         (r"(?m)^\S+ -m (cairn\.)?line_profiler", "PYTHON -m line_profiler"),
         (r"(?m)^\S+ -m pstats", "PYTHON -m pstats")]
MASKS = {"pstats": [], "gprof2dot": [], "pprof": [], "kernprof": LINES, "line_profiler": LINES}
# Run with every CPython, in test_cprofile.py; served until they are ended, in test_viewers.py.
ELSEWHERE = {"cprofile", "snakeviz", "cprofilev"}
PROFILES = {"profile.out": "reader.py", "nn.prof": "puzzle.py"}
# What kernprof's lines run and read.
FILES = {
    "steps.py": """import sys

import helpers

@profile
def steps(n):
    total = 0
    for i in range(n):
        total += helpers.twice(i)
    return total

@profile
def never():
    pass

def plain():
    return helpers.Tool().use()

print(steps(3), plain(), sys.argv[1:])
""",
    "helpers.py": """def twice(n):
    return n + n

class Tool:
    def use(self):
        return self.inner()

    def inner(self):
        return 2
""",
    "before.py": "import builtins\nprint('setup', __name__)\n",
    "settings.toml": """[tool.line_profiler.kernprof]
line-by-line = true
verbose = 1
skip-zero = true
unit = 1e-3
prof-mod = ["helpers.Tool"]

[tool.line_profiler.cli]
summarize = true
skip-zero = true

[tool.line_profiler.show.column_widths]
line = 8
""",
    "none.toml": "[tool]\nline_profiler = 3\n",
}


def seeds():
    lines = Path(__file__).with_name("seeds.txt").read_text().splitlines()
    rows = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    assert rows, "there are no seeds"
    return [pytest.param(tool, line, id=line) for tool, line in rows if tool not in ELSEWHERE]


@pytest.fixture(scope="module")
def place(python, tmp_path_factory):
    """A folder with `cairn` in bin/, the real tools under the same name in real/, and profiles."""
    folder = tmp_path_factory.mktemp("seeds")
    for name in ("bin", "real", "package"):
        (folder / name).mkdir()
    ours = folder / "package" / "cairn"  # where the command is that has its package beside it
    ours.write_text(f'#!/bin/sh\nexec "{harness.cairn_binary()}" "$@"\n')
    ours.chmod(0o755)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    shutil.copy(harness.cairn_binary(), folder / "bin" / "cairn")
    cases = "".join(
        f'{tool}) exec "{python.executable}" {" ".join(words)} "$@" ;;\n'
        for tool, words in REAL.items()
    )
    cases += "".join(f'{tool}) exec "{sys.executable}" -m {tool} "$@" ;;\n' for tool in IN_PYTHON)
    cases += 'pprof) exec go tool pprof "$@" ;;\n'
    found = importlib.util.find_spec("gprof2dot")  # of the tests' Python; it runs on any
    cases = cases.replace("GPROF2DOT", f'"{found.origin}"' if found else "gprof2dot is not there")
    script = folder / "real" / "cairn"
    script.write_text(f"#!/bin/sh\ntool=$1\nshift\ncase $tool in\n{cases}esac\nexit 1\n")
    script.chmod(0o755)
    for out, program in PROFILES.items():
        command = [python.executable, "-m", "cProfile", "-o", out, ROOT / "examples" / program]
        execute(command, cwd=folder).expect()
        words = ["export", "-f", "pprof", "-o", Path(out).with_suffix(".pb.gz"), out]
        harness.Cairn(folder)(*words).expect()
    return folder


def said(place, tool, line, binaries):
    env = harness.Cairn(place).environment()
    env["PATH"] = f"{place / binaries}:{env['PATH']}"
    env["CAIRN_PYTHON"] = sys.executable
    ended = execute(["bash", "-c", line], cwd=place, env=env).expect()
    text = ended.text
    for pattern, replacement in MASKS[tool]:
        text = re.sub(pattern, replacement, text)
    return text


def missing(line):
    """Why Go's pprof says nothing of a line; "": it does."""
    if not shutil.which("go"):
        return "Go, which has pprof, is not installed"
    minor = int(re.search(r"go1\.(\d+)", execute(["go", "version"]).expect().text).group(1))
    if minor < 21 and {"-raw", "-tags"} & set(line.split()):
        return f"Go 1.{minor} prints it another way than 1.21 on"
    return ""


@pytest.mark.parametrize("tool, line", seeds())
def test_a_line_of_notes_prints_the_same(place, tool, line):
    if tool == "pprof" and missing(line):
        pytest.skip(missing(line))
    wanted = said(place, tool, line, "real")
    assert wanted
    assert said(place, tool, line, "package" if tool in IN_PYTHON else "bin") == wanted

"""The documents are true: their commands run, their tables name tests that exist.

Blocks marked `console` hold commands behind `$ `, run in order, as a reader would; what stands
below them is an example of output. $PID is a Python program that is running.
"""
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import harness
from harness import ROOT, execute

PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")])
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
SYSTEM = "/usr/bin/python3"


def commands(text):
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def rows(text, heading):
    """The rows below the table's head that begins with `heading`, as lists of cells."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f"| {heading}"):
            break
    else:
        raise AssertionError(f"no table {heading}")
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    assert found, f"the table {heading} is empty"
    return found


class Place:
    """A folder like a fresh clone, with `cairn` on PATH and a program running as $PID."""

    def __init__(self, folder, interpreter, prefix=(), path=""):
        cairn = harness.Cairn(folder)
        self.prefix = prefix
        self.folder = folder
        folder.chmod(0o777)
        (folder / "bin").mkdir()
        shutil.copy(cairn.binary, folder / "bin" / "cairn")
        shutil.copytree(ROOT / "examples", folder / "examples")
        # The package as a build has it, and as `make install` lays it beside the command.
        for package in ("build/python", "share/cairn/python"):
            shutil.copytree(
                harness.built_package(), folder / package,
                ignore=shutil.ignore_patterns("*.p", "__pycache__"),
            )  # fmt: skip
        shutil.copytree(harness.TARGETS, folder / "targets")
        self.env = cairn.environment(PATH=f"{folder / 'bin'}:{path}")
        self.worker = harness.spawn([*prefix, interpreter, folder / "targets" / "worker.py"])
        self.env["PID"] = str(json.loads(harness.read_line(self.worker))["ready"])

    def run(self, command):
        words = [*self.prefix, "bash", "-euc", command]
        return execute(words, cwd=self.folder, env=self.env).expect(0)

    def recordings(self):
        return set((self.folder / ".cairn").glob("*.cairn"))

    def close(self):
        harness.end_group(self.worker)
        self.worker.wait(harness.DEADLINE_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def make_folder():
    return Path(tempfile.mkdtemp(prefix="cairn-test-", dir="/tmp"))


@pytest.fixture(scope="module")
def place(python):
    """As the user who runs the tests, with the packages of the tests."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    place = Place(make_folder(), python.executable, path=path)
    place.run("cairn run examples/gil.py")
    yield place
    place.close()


@pytest.fixture(scope="module")
def place_of_nobody():
    """As somebody without any right of root, with the system's Python."""
    if (harness.version_of(SYSTEM) or (0,))[:2] not in harness.SUPPORTED:
        pytest.skip(f"{SYSTEM} is not a supported CPython that everybody may run")
    prefix = NOBODY if os.geteuid() == 0 else []
    place = Place(make_folder(), SYSTEM, prefix, path="/usr/bin:/bin")
    place.run("cairn run examples/gil.py")
    yield place
    place.close()


def pages_with(finder):
    return [page for page in PAGES if finder(page.read_text())]


@pytest.mark.parametrize("page", pages_with(commands), ids=lambda page: page.name)
def test_commands_of_the_documents_run(place, page):
    for command in commands(page.read_text()):
        place.run(command)


def test_the_readme_has_commands_at_all():
    assert len(commands((ROOT / "README.md").read_text())) >= 3


README_ROWS = rows((ROOT / "README.md").read_text(), "What")


@pytest.mark.parametrize("row", README_ROWS, ids=lambda row: row[0])
def test_every_row_of_the_readme_runs(request, row):
    assert row[2] in ("no", "yes")
    place = request.getfixturevalue("place_of_nobody" if row[2] == "no" else "place")
    before = place.recordings()
    place.run(row[1].strip("`").replace("\\|", "|"))
    for made in place.recordings() - before:
        made.unlink()  # the rows that read are about the one of examples/gil.py
    check_tests(row[-1])


def check_tests(cell):
    """Each `file` or `file::test` of a cell exists."""
    named = re.findall(r"`([^`]+)`", cell)
    assert named, cell
    for name in named:
        file, _, function = name.partition("::")
        path = ROOT / "tests" / file
        assert path.exists(), name
        if function:
            assert re.search(rf"\b{function}\(", path.read_text()), name


EXAMPLES = {  # what the examples of the manual name, in a folder of its own
    "script.py": "import time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: pass\n",
    "first.py": "print(1)\n",
    "second.py": "input()\n",
    "data.json": "[1, 2]\n",
}


def test_examples_of_the_manual_run(place):
    for name, text in EXAMPLES.items():
        (place.folder / name).write_text(text)
    place.run("cairn run --report none -o before.cairn examples/gil.py; cp before.cairn after.cairn")
    ran = 0
    commands = ["run", "attach", "dump", "report", "html", "view", "query", "export", "diff", "merge", "pstats"]
    commands += ["gprof2dot", "pprof", "snakeviz", "cprofilev", "doctor", "help", "completions", "man"]
    for command in commands:
        place.run("rm -f out.prof")
        text = place.run(f"cairn help {command}").text
        for line in text.split("\nExamples\n")[1].splitlines():
            line = line.strip().replace("4711", "$PID").replace("/usr/share/", "/dev/null #")
            # Functions differ: this one is of the program that the place has recorded.
            if "--of" in line:
                line = "cairn run --report none examples/gil.py; cairn report --of count_down"
            place.run(line)
            ran += 1
    assert ran >= 19


THREATS = rows((ROOT / "SECURITY.md").read_text(), "Threat")


@pytest.mark.parametrize("row", THREATS, ids=lambda row: row[0][:40])
def test_every_threat_names_its_tests(row):
    check_tests(row[-1])


def test_the_map_names_folders_and_tests_that_exist():
    text = (ROOT / "docs" / "DESIGN.md").read_text()
    for folder, *_, tests in rows(text, "Folder"):
        assert (ROOT / folder.strip("`")).is_dir(), folder
        check_tests(tests)
    for promise in rows(text, "Promise"):
        check_tests(promise[-1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target

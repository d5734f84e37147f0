"""line_profiler's own tests, of its source as PyPI has it, run with Cairn's modules under its names.

They take minutes and what pip brings, so CAIRN_FULL=1 asks for them. What does not pass stands in
line_profiler_tests.txt with its reason: a test that is listed and passes fails here as well.
"""
import os
import shutil
import tarfile
from xml.etree import ElementTree

import pytest

import harness

VERSION = "5.0.2"
LISTED = harness.ROOT / "tests" / "compat" / "line_profiler_tests.txt"
OTHER_PARTS = ["test_cli.py", "test_cython.py", "test_eager_preimports.py", "test_sys_monitoring.py",
               "test_toml_config.py", "test_ipython.py"]  # see the list
# Names that the tests import. What is the tool's own inside stands in for nothing.
SHIMS = {
    "line_profiler.py": """
import sys
import cairn.line_profiler as ours
if __name__ == "__main__":
    from cairn import _line_profiler
    sys.exit(_line_profiler.main())
ours._line_profiler = ours.line_profiler = ours
ours.__path__ = []
for name in ("line_profiler", "line_profiler.line_profiler", "line_profiler._line_profiler"):
    sys.modules[name] = ours
""",
    "kernprof.py": """
import sys
from cairn import _kernprof as ours
if __name__ == "__main__":
    sys.exit(ours.main())
ours.ContextualProfile = ours.ByCount
sys.modules["kernprof"] = ours
""",
}


def listed(version):
    """Tests that do not pass here; "3.12+" or "3.11-" behind one says with which Pythons. The reason
    stands above them."""
    names = set()
    for line in LISTED.read_text().splitlines():
        name, _, condition = line.partition("  ")
        minor = int(condition.strip("3.+-")) if condition else 0
        if condition.endswith("-") and version[1] > minor or condition.endswith("+") and version[1] < minor:
            continue
        if name and not name.startswith("#"):
            names.add(name)
    return names


@pytest.fixture
def tests_of_the_tool(interpreter, folder):
    """A folder that has the tests, the shims and the package; and what it takes to run them."""
    if not os.environ.get("CAIRN_FULL"):
        pytest.skip("some minutes: CAIRN_FULL=1 asks for it")
    if interpreter.chroot or interpreter.version < (3, 9):
        pytest.skip("pip of this interpreter brings no pytest that these tests are written for")
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    with tarfile.open(harness.sdist("line_profiler", VERSION)) as archive:
        archive.extractall(folder / "source")
    (source,) = (folder / "source").iterdir()
    shutil.move(source / "tests", folder / "tests")
    for name, text in SHIMS.items():
        (folder / name).write_text(text)
    (folder / "cairn").symlink_to(harness.built_package() / "cairn")
    command = folder / "bin" / "kernprof"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {interpreter.executable} -m kernprof "$@"\n')
    command.chmod(0o755)
    (folder / "bin" / "python").symlink_to(interpreter.executable)
    return folder, harness.installed_by_pip(interpreter, "pytest==8.4.2", "ubelt==1.3.6")


@pytest.mark.timeout(1800)
def test_line_profilers_own_tests(tests_of_the_tool, interpreter):
    folder, site = tests_of_the_tool
    environment = harness.Cairn(folder).environment(
        PYTHONPATH=f"{folder}:{site}", PYTHONDONTWRITEBYTECODE="1", COLUMNS="300",
        PATH=f"{folder}/bin:{os.environ['PATH']}",
    )  # fmt: skip
    words = ["-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "--junitxml=told.xml",
             *(f"--ignore=tests/{name}" for name in OTHER_PARTS), "tests"]  # fmt: skip
    ended = harness.execute(
        [interpreter.executable, *words], cwd=folder, env=environment, deadline_s=1500
    )
    passed, failed = set(), set()
    for case in ElementTree.parse(folder / "told.xml").iter("testcase"):
        file, *classes = case.get("classname").split(".")[1:]  # behind "tests."
        name = "::".join([f"{file}.py", *classes, case.get("name")])
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.add(name)
        elif "skipped" not in kinds:
            passed.add(name)
    passed -= failed  # a test may pass, and its end fail
    known = listed(interpreter.version) & (passed | failed)
    assert len(passed) >= 75, ended.text[-3000:]
    assert failed - known == set(), "these passed once, or nobody has said why they do not"
    assert passed & known == set(), f"these pass now: take them out of {LISTED.name}"

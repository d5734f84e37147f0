"""Wheels: one for every CPython out of the build folder, one by `pip install .` for the one it runs."""
import re
import zipfile

import pytest

import harness
from harness import ROOT, execute

BACKEND = ROOT / "tools" / "backend.py"
BUILD_S = 400  # a whole build beside other tests
PROGRAM = """
import cairn
def answer(n):
    return n
with cairn.region("asking"):
    for i in range(1000):
        answer(i)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    build = harness.cairn_binary().parent
    if not (build / "build.ninja").exists():
        pytest.skip(f"{build} is not a build folder")
    folder = tmp_path_factory.mktemp("dist")
    said = execute(["/usr/bin/python3", BACKEND, folder, build]).expect().text
    return said.strip()


def install(python, folder, what, *options, env=None):
    """Into a venv of its own, which it returns."""
    venv = folder / "venv"
    execute([python.executable, "-m", "venv", venv]).expect()
    command = [venv / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-index",
               "--disable-pip-version-check", "--no-cache-dir", *options, what]  # fmt: skip
    return venv, execute(command, deadline_s=BUILD_S, **({"env": env} if env else {}))


def check_use(venv, folder, has_engine=True):
    (folder / "program.py").write_text(PROGRAM)
    env = harness.Cairn(folder).environment()
    env["PATH"] = f"{venv / 'bin'}:/usr/bin:/bin"
    options = ["--exact"] if has_engine else []
    run = ["cairn", "run", *options, "-o", "x.cairn", "--report", "none", "program.py"]
    execute(run, cwd=folder, env=env).expect()
    report = execute(["cairn", "report", "--json", "x.cairn"], cwd=folder, env=env).expect().json()
    assert report["quality"]["samples"] > 0
    if has_engine:
        assert {row["name"]: row.get("calls") for row in report["rows"]}["answer"] == 1000
        text = execute(["python", "-m", "cairn.cprofile", "program.py"], cwd=folder, env=env).expect().text
        assert re.search(r"^ *1000 .*program.py:3\(answer\)", text, re.MULTILINE), text
        again = execute(["cairn", "cprofile", "-s", "calls", "program.py"], cwd=folder, env=env).expect().text
        assert re.search(r"^ *1000 .*program.py:3\(answer\)", again, re.MULTILINE), again
        words = ["kernprof", "-l", "-v", "-p", "program.py", "program.py"]
        for command in (["cairn", *words], ["python", "-m", "cairn.kernprof", *words[1:]]):
            lines = execute(command, cwd=folder, env=env).expect().text
            assert re.search(r"^ *4 +1000 .* return n$", lines, re.MULTILINE), lines


def check_by_path(venv, folder):
    """Not activated, the command means the Python that it was installed for, as others there do; by
    a link from elsewhere (pipx makes such) that of PATH."""
    (folder / "who.py").write_text("import sys\nprint(sys.prefix)\n")
    (folder / "link").symlink_to(venv / "bin" / "cairn")
    env = harness.Cairn(folder).environment(PATH="/usr/bin:/bin")
    for command in (["cprofile"], ["run", "--report", "none", "-o", "who.cairn"]):
        said = execute([venv / "bin" / "cairn", *command, "who.py"], cwd=folder, env=env).expect().text
        assert said.splitlines()[0] == str(venv), said
    said = execute([folder / "link", "run", "--report", "none", "-o", "link.cairn", "who.py"],
                   cwd=folder, env=env).expect().text  # fmt: skip
    assert said.splitlines()[0] != str(venv)


def test_one_wheel_works_in_every_python(interpreter, wheel, folder):
    if interpreter.chroot:
        pytest.skip("pip cannot install into an interpreter that was unpacked for tests")
    venv, ended = install(interpreter, folder, wheel)
    ended.expect()
    check_use(venv, folder, interpreter.has_engine())
    if interpreter.has_engine():
        check_by_path(venv, folder)


def test_a_wheel_holds_what_it_lists(wheel):
    with zipfile.ZipFile(wheel) as archive:
        listed = [line.split(",")[0] for line in archive.read("cairn-0.1.0.dist-info/RECORD").decode().split()]
        assert sorted(listed) == sorted(archive.namelist()) and archive.testzip() is None
        modules = [name for name in listed if re.fullmatch(r"cairn/_exact\.cpython-3\d+.*\.so", name)]
    assert len(modules) > 1


@pytest.mark.timeout(2 * BUILD_S)
def test_pip_builds_for_the_python_it_runs_with(python, folder):
    venv, ended = install(python, folder, ROOT, "--no-build-isolation")
    ended.expect()
    modules = [file.name for file in (venv / "lib").rglob("cairn/_exact*.so")]
    minor = python.version[1]
    assert len(modules) == 1 and f"cpython-3{minor}-" in modules[0]
    check_use(venv, folder)


def test_what_is_missing_is_one_sentence(python, folder):
    env = {**harness.Cairn(folder).environment(), "PKG_CONFIG_LIBDIR": str(folder), "PKG_CONFIG_PATH": ""}
    _, ended = install(python, folder, ROOT, "--no-build-isolation", env=env)
    said = (ended.out + ended.err).decode()
    assert ended.status != 0
    (line,) = [line for line in said.splitlines() if "apt-get install" in line]
    assert re.search(r"cairn: not here, and needed to build it: libzstd, .*; apt-get install libzstd-dev ", line)
    assert "Traceback" not in said

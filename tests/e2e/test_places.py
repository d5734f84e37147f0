"""Where interpreters live: venvs, chroots, pid namespaces, shells, stripped and static builds."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import harness
import strace
from harness import TARGETS, execute, time_in

SECONDS = 0.8


def check_busy(cairn, file, ended):
    """The recording of busy.py says what the program says."""
    stacks, near_s = cairn.collapsed(file), 0.1 + cairn.blind_s(file, ended)
    for name, seconds in ended.last_json()["spent_s"].items():
        assert abs(time_in(stacks, name) / 1e6 - seconds) < near_s, name


def run_busy(cairn, *command, **options):
    file = cairn.folder / "x.cairn"
    file.unlink(missing_ok=True)
    ended = cairn("run", "-o", file, "--", *command, **options).expect()
    check_busy(cairn, file, ended)


def test_plain(cairn, interpreter):
    run_busy(cairn, *interpreter.command("busy.py", SECONDS))


@pytest.mark.parametrize("kind", ["--symlinks", "--copies"])
def test_venv(cairn, interpreter, folder, kind):
    if interpreter.chroot:
        pytest.skip("a venv inside the chroot would need its python3-venv")
    make = [interpreter.executable, "-m", "venv", "--without-pip", kind, folder / "venv"]
    execute(make).expect()
    run_busy(cairn, folder / "venv" / "bin" / "python3", TARGETS / "busy.py", SECONDS)
    # The active venv's python3 is the one that runs a script.
    env = {
        "VIRTUAL_ENV": str(folder / "venv"),
        "PATH": f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}",
    }
    where = cairn("run", "-c", "import sys; print(sys.prefix)", env=env).expect().text
    assert where.strip() == str(folder / "venv")


def shared_library_of(executable):
    listing = execute(["ldd", executable]).text
    for line in listing.splitlines():
        if "libpython" in line:
            return Path(line.split("=>")[1].split()[0])
    return None


@pytest.fixture
def stripped(interpreter, folder):
    """A copy of the interpreter, and of its libpython if it has one, without any symbol table
    that `strip` may take away; argv and environment to run it."""
    if interpreter.chroot:
        pytest.skip("stripping means copying; done for the interpreters installed here")
    executable = Path(interpreter.executable).resolve()
    copy = folder / "python3"
    subprocess.run(["strip", "-o", copy, executable], check=True, timeout=60)
    code = "import sys; print(sys.base_prefix)"
    env = {"PYTHONHOME": execute([executable, "-c", code]).text.strip()}
    library = shared_library_of(executable)
    if library:
        subprocess.run(["strip", "-o", folder / library.name, library], check=True, timeout=60)
        env["LD_LIBRARY_PATH"] = str(folder)
    return copy, env


def test_stripped(cairn, stripped):
    copy, env = stripped
    run_busy(cairn, copy, TARGETS / "busy.py", SECONDS, env=env)


LOADER_S = 0.3  # that it is held up for
DATA = re.compile(r"^mmap\(.*PROT_WRITE, MAP_PRIVATE\|MAP_FIXED\|MAP_DENYWRITE, ")


def test_while_its_library_is_mapped(cairn, interpreter, folder):
    """What the loader has still to clear looks like a runtime of another build."""
    strace.require()
    if interpreter.chroot or not shared_library_of(interpreter.executable):
        pytest.skip("this interpreter is in one piece, or in a chroot without strace")
    command = interpreter.command("busy.py", SECONDS)
    watch = ["strace", "-o", folder / "calls", "-e", "trace=mmap"]
    execute([*watch, command[0], "-c", "pass"]).expect()
    calls = (folder / "calls").read_text().splitlines()
    # The first library that is mapped is that which the executable names first.
    which = next(i for i, call in enumerate(calls) if DATA.match(call)) + 1
    late = f"inject=mmap:delay_exit={LOADER_S * 1e6:.0f}:when={which}"
    run_busy(cairn, *watch, "-e", late, *command)


NO_PYTHON = r"""
#include <stdint.h>
#include <time.h>

uint64_t _PyRuntime[512];
const unsigned long Py_Version = 0x030b02f0;

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 512; i++)
        _PyRuntime[i] = 4097;
    if (argc > 1)
        nanosleep(&(struct timespec){30, 0}, 0);
    while (clock() < CLOCKS_PER_SEC * 3 / 10) /* to be looked at at all, by one who was kept from it */
        ;
    return 0;
}
"""


def test_a_runtime_that_does_not_fit(cairn, folder):
    """Said of one that ends at once, of one that runs and of one that only sleeps."""
    (folder / "other.c").write_text(NO_PYTHON)
    build = ["cc", "-rdynamic", "-o", folder / "other", folder / "other.c"]
    subprocess.run(build, check=True, timeout=60)
    said = "cairn: Python 3.11.2 has a layout other than the one known, of its runtime"
    ended = cairn("run", "./other").expect(124)
    assert said in ended.talk and not list(folder.glob("*.cairn")), ended
    process = harness.spawn([folder / "other", "sleep"])
    try:
        for command in (["attach"], ["dump"]):
            assert said in cairn(*command, process.pid).expect(124).talk
    finally:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)


def test_under_a_foreign_name(cairn, interpreter, folder):
    """The runtime is found by its structures; the name of the file says nothing."""
    if interpreter.chroot:
        pytest.skip("copies the executable; done for the interpreters installed here")
    executable = Path(interpreter.executable).resolve()
    copy = folder / "frobnicator"
    shutil.copy(executable, copy)
    code = "import sys; print(sys.base_prefix)"
    env = {"PYTHONHOME": execute([executable, "-c", code]).text.strip()}
    library = shared_library_of(executable)
    if library:
        env["LD_LIBRARY_PATH"] = str(library.parent)
    run_busy(cairn, copy, TARGETS / "busy.py", SECONDS, env=env)


def test_shell_in_between(cairn, interpreter, folder):
    words = " ".join(f"'{word}'" for word in interpreter.command("busy.py", SECONDS))
    run_busy(cairn, "sh", "-c", f"cd /; {words}")
    shim = folder / "tool"
    shim.write_text(f"#!/bin/sh\nexec {words}\n")
    shim.chmod(0o755)
    run_busy(cairn, shim)


UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def check_worker(cairn, pid):
    """Most of what is recorded of worker.py is its work."""
    ended = cairn("attach", "--for", "700ms", "-o", "x.cairn", pid).expect()
    file = cairn.folder / "x.cairn"
    assert time_in(cairn.collapsed(file), "one_round") / 1e6 > 0.4 - cairn.blind_s(file, ended)


def in_namespace(interpreter):
    if os.geteuid() != 0:
        pytest.skip("a pid namespace needs root")
    if interpreter.chroot:
        pytest.skip("one boundary at a time: --mount-proc and chroot do not go together")


def test_pid_namespace_run(cairn, interpreter):
    in_namespace(interpreter)
    run_busy(cairn, *UNSHARE, *interpreter.command("busy.py", SECONDS))


def test_pid_namespace_attach(cairn, interpreter, worker, folder):
    in_namespace(interpreter)
    target = worker(interpreter, prefix=UNSHARE)
    assert target.pid == 1, "what the target calls itself"
    outside = harness.only_child(target.process.pid)
    check_worker(cairn, outside)
    assert "worker.py" in cairn("dump", outside).expect().text
    target.check_answer()


def test_deleted_executable(cairn, interpreter, folder):
    """An upgrade replaced the file under the running program."""
    if interpreter.chroot:
        pytest.skip("copies the executable; done for the interpreters installed here")
    executable = Path(interpreter.executable).resolve()
    copy = folder / "python3"
    shutil.copy(executable, copy)
    code = "import sys; print(sys.base_prefix)"
    env = dict(os.environ, PYTHONHOME=execute([executable, "-c", code]).text.strip())
    library = shared_library_of(executable)
    if library:
        env["LD_LIBRARY_PATH"] = str(library.parent)
    process = harness.spawn([copy, TARGETS / "worker.py"], env=env)
    try:
        target = harness.Worker(process)
        copy.unlink()
        check_worker(cairn, target.pid)
        target.check_answer()
    finally:
        harness.end_group(process)


def test_isolated_unbuffered_and_optimised(cairn, python):
    command = python.command("busy.py", SECONDS)
    run_busy(cairn, command[0], "-I", "-u", "-OO", "-X", "utf8", *command[1:])

"""Python inside a C program (targets/embeds.c): from a shared library, or linked into it whole."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import harness
from harness import time_in

WHERE = """import json, sysconfig
names = "INCLUDEPY LIBDIR INSTSONAME LIBPL LIBRARY LDVERSION MULTIARCH prefix".split()
print(json.dumps({name: sysconfig.get_config_var(name) for name in names}))"""
# What Debian's static library leaves to the program that it is linked into.
OUTSIDE = ["-lm", "-ldl", "-lz", "-lexpat", "-lutil"]


def where(interpreter):
    prefix = ["chroot", interpreter.chroot] if interpreter.chroot else []
    answer = subprocess.run(
        [*prefix, interpreter.executable, "-c", WHERE], capture_output=True, timeout=20, check=True
    )
    return json.loads(answer.stdout)


def compile_embeds(interpreter, output, libraries, flags=()):
    """cc with the headers of an interpreter; those of a chroot's C library stay out of it."""
    paths = where(interpreter)
    headers = Path(interpreter.chroot + paths["INCLUDEPY"])
    if not (headers / "Python.h").exists():
        pytest.skip(f"{interpreter.label} has no headers")
    for library in libraries:
        if library.is_absolute() and not library.exists():
            pytest.skip(f"{interpreter.label} has no {library.name}")
    includes = ["-I", headers]
    if interpreter.chroot and paths["MULTIARCH"]:
        own = output.parent / "include" / paths["MULTIARCH"]
        own.mkdir(parents=True)
        inside = f"{interpreter.chroot}/usr/include/{paths['MULTIARCH']}/{headers.name}"
        (own / headers.name).symlink_to(inside)
        includes += ["-I", own.parent]
    command = ["cc", "-O1", *flags, *includes, "-o", output, harness.TARGETS / "embeds.c"]
    command += [*libraries, "-pthread", *OUTSIDE]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    return output


@pytest.fixture(scope="module")
def shared(interpreter, tmp_path_factory):
    """A program that is linked against the interpreter's shared library."""
    paths = where(interpreter)
    library = Path(interpreter.chroot + paths["LIBDIR"]) / paths["INSTSONAME"]
    flags = [f"-Wl,-rpath,{paths['LIBDIR']}"]
    if interpreter.chroot:  # it wants a newer C library, which is there when the program runs
        flags.append("-Wl,--unresolved-symbols=ignore-in-shared-libs")
    output = tmp_path_factory.mktemp("embeds") / "embeds"
    return compile_embeds(interpreter, output, [library], flags)


def command(interpreter, program, how, script, *args):
    """argv that lets the program run a script of tests/targets in `interpreter`'s library."""
    words = [*how.split(), interpreter.path(script), *map(str, args)]
    if not interpreter.chroot:
        return [str(program), *words]
    inside = f"{harness.CHROOT_TARGETS}/{program.name}"
    shutil.copy2(program, interpreter.chroot + inside)
    return ["chroot", interpreter.chroot, inside, *words]


def record(cairn, argv):
    file = cairn.folder / "run.cairn"
    return file, cairn("run", "-o", file, "--", *argv).expect()


def spent(ended):
    """What the rounds of a target program say about themselves, added up."""
    total = {}
    for line in ended.text.splitlines():
        for name, seconds in json.loads(line)["spent_s"].items():
            total[name] = total.get(name, 0) + seconds
    return total


def check_functions(cairn, file, path, truth, blind_s):
    stacks = cairn.collapsed(file)
    for name, seconds in truth.items():
        near_s = 0.06 + 0.06 * seconds + blind_s
        assert abs(time_in(stacks, name, path) / 1e6 - seconds) < near_s, name
    for stack in stacks:
        names = [frame.name for frame in stack if frame.file == path]
        assert names[:2] in ([], ["<module>"], ["<module>", "main"]), stack


def test_started_late_ended_and_started_again(cairn, interpreter, shared):
    """Not looked for often while nothing is there, it is noticed at once when it starts."""
    argv = command(interpreter, shared, "thread late 700 twice", "busy.py", 0.4)
    file, ended = record(cairn, argv)
    assert len(ended.text.splitlines()) == 2
    check_functions(cairn, file, interpreter.path("busy.py"), spent(ended), cairn.blind_s(file, ended))
    report = cairn.report(file)
    assert report["quality"]["torn_share"] < 0.01
    outside = time_in(cairn.collapsed(file), "[not python]") / 1e6
    assert outside > 2 * 2 * 0.65, "what C did, and the main thread, is not Python's"


def test_a_library_that_is_loaded_late(cairn, interpreter, folder):
    """The program is not linked to it, and brings no symbol of it."""
    paths = where(interpreter)
    library = f"{paths['LIBDIR']}/{paths['INSTSONAME']}"
    if not library.endswith(".so.1.0") or not Path(interpreter.chroot + library).exists():
        pytest.skip(f"{interpreter.label} has no shared library")
    program = folder / "loads"
    build = ["cc", "-O1", "-o", program, harness.TARGETS / "loads.c", "-ldl"]
    subprocess.run(build, check=True, timeout=60)
    # Without PYTHONHOME it would look for its modules beside the program.
    argv = command(interpreter, program, f"900 {library}", "busy.py", 1)
    file, ended = record(cairn, ["env", f"PYTHONHOME={paths['prefix']}", *argv])
    check_functions(cairn, file, interpreter.path("busy.py"), spent(ended), cairn.blind_s(file, ended))


def test_attach_before_it_starts(cairn, interpreter, shared, folder):
    process = harness.spawn(command(interpreter, shared, "late 60000", "busy.py", 0.4))
    try:
        ended = cairn("attach", "--for", "500ms", process.pid).expect(harness.NOT_SUPPORTED)
    finally:
        harness.end_group(process)
        harness.finish(process)
    assert "runs no Python" in ended.talk and "not initialised" in ended.talk
    assert not list(folder.rglob("*.cairn"))


def test_attach_and_dump(cairn, interpreter, shared, folder):
    process = harness.spawn(command(interpreter, shared, "thread", "worker.py"))
    try:
        target = harness.Worker(process)
        dumped = cairn("dump", "--json", target.pid).expect().json()
        names = [[frame["name"] for frame in thread["frames"]] for thread in dumped["threads"]]
        assert sorted(map(len, names))[0] <= 1, "the main thread runs no Python"
        assert any("main" in stack and "<module>" in stack for stack in names), names
        ended = cairn("attach", "--for", "700ms", "-o", "out.cairn", target.pid).expect()
        stacks = cairn.collapsed(folder / "out.cairn")
        worked_s = time_in(stacks, "one_round", interpreter.path("worker.py")) / 1e6
        blind_s = cairn.blind_s(folder / "out.cairn", ended)
        assert 0.45 - blind_s < worked_s < 0.9 + blind_s
        target.check_answer()
    finally:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)


def test_called_by_threads_of_c(cairn, interpreter, shared):
    """Each call makes a thread state and ends it."""
    argv = command(interpreter, shared, "calls 2", "called.py", 1)
    file, ended = record(cairn, argv)
    stacks = cairn.collapsed(file, "--threads")
    truth = spent(ended)
    seen = {}
    for stack, value in stacks.items():
        names = [frame.name for frame in stack]
        if "called" in names:
            assert "<module>" not in names, stack
            seen[names[0]] = seen.get(names[0], 0) + value / 1e6
    near_s = 0.1 * sum(truth.values()) + cairn.blind_s(file, ended)
    assert abs(sum(seen.values()) - sum(truth.values())) < near_s


@pytest.mark.parametrize("how", ["fork", "thread fork"])
def test_forked_by_c(cairn, interpreter, shared, how):
    """Python in the child, which was not told, takes its thread for the parent's."""
    argv = command(interpreter, shared, how, "busy.py", 0.5)
    file, ended = record(cairn, argv)
    check_functions(cairn, file, interpreter.path("busy.py"), spent(ended), cairn.blind_s(file, ended))


@pytest.mark.parametrize("flags", [["-Wl,--export-dynamic"], ["-s"]], ids=["whole", "stripped"])
def test_linked_into_the_program(cairn, python, folder, flags):
    """A stripped one tells its version nowhere but among its constants."""
    system = next((i for i in harness.installed_interpreters() if "system" in i.label), None)
    if system is None:
        pytest.skip("no python3 of the system is there, only that has a static library")
    paths = where(system)
    library = Path(paths["LIBPL"]) / paths["LIBRARY"]
    flags = ["-no-pie", *flags]
    program = compile_embeds(system, folder / "embeds", [library], flags)
    assert b"libpython" not in subprocess.run(["ldd", program], capture_output=True).stdout
    file, ended = record(cairn, command(system, program, "late 300", "busy.py", 0.8))
    check_functions(cairn, file, system.path("busy.py"), spent(ended), cairn.blind_s(file, ended))
    version = ".".join(map(str, system.version))
    assert f"{version} (table)" in json.dumps(cairn.report(file))

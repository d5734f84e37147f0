"""cairn.cprofile and `cairn cprofile` beside the interpreter's own, on every version.

The oracles are CPython's own tests, its cProfile under a clock that the program turns, a tracer
in Python (tests/targets/counted.py), and what the real command prints.
"""
import os
import re
import shutil

import pytest

import harness

SEEDS = [
    line.split()[1:]
    for line in (harness.ROOT / "tests" / "compat" / "seeds.txt").read_text().splitlines()
    if line.startswith("cprofile: ")
]
# By module: those that do not pass, and why. What is not here has to pass, and what is here must not.
# They ask whether tool id 2 of sys.monitoring is taken, by that name: it is left to others on purpose.
TOOL_ID = {"CProfileTest.test_profile_as_context_manager", "CProfileTest.test_profile_enable_disable"}
# From 3.14 on they want "tool 2 is already in use", and methods that are cProfile's callbacks.
INSIDES = {"CProfileTest.test_second_profiler", "CProfileTest.test_crash_with_not_enough_args"}
# `profile` is a tracer in Python that calls functions of C `:0(len)`: cProfile's names are ours.
OTHER_NAMES = {"ProfileTest.test_calling_conventions", "ProfileTest.test_cprofile"}


@pytest.fixture
def counting(interpreter):
    """An interpreter that there is a module for."""
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    return interpreter


def told(counting, script, *words):
    """What a program of tests/targets says that is handed the package."""
    command = counting.command(script, counting.package(), *words)
    return harness.execute(command, env=harness.Cairn("/").environment()).expect()


def test_cpythons_own_tests(counting):
    found = told(counting, "cpython_tests.py").last_json()
    if found is None:
        pytest.skip(f"{counting.label} came without the tests of CPython")
    left_out = {"test_profile": OTHER_NAMES, "test_pstats": set()}
    left_out[next(iter(found))] = (TOOL_ID if counting.version >= (3, 12) else set()) | (
        INSIDES if counting.version >= (3, 14) else set()
    )
    least = {"test_profile": 6, "test_pstats": 8}
    assert len(found) == 3
    for module, said in found.items():
        assert said["ran"] >= least.get(module, 10), module
        assert said["bad"].keys() == left_out[module], (module, said["bad"])


def test_numbers_are_those_of_cprofile(counting):
    found = told(counting, "counted.py", "clock").last_json()
    assert len(found) == 7
    for case in found:
        assert len(case["cairn"]) >= 4, case["what"]
        assert case["cairn"] == case["cProfile"], case["what"]


def test_numbers_are_those_of_a_tracer_in_python(counting):
    assert min(told(counting, "counted.py", "reference").last_json()) >= 4


def test_threads_are_not_mixed(counting):
    found = told(counting, "counted.py", "threads").last_json()
    right = {"empty": [found["wanted"]] * 2, "calls_empty": [4, 4]}
    assert found["cProfile"] != right  # the peer counts one thread, or all on one stack
    assert found["cairn"] == right


def test_promises_of_the_class(counting):
    said = told(counting, "profile_api.py").text.splitlines()
    assert "nothing_is_kept" in said and len(said) >= 13


# --- the command ---


def run_tool(counting, folder, tool, words, **options):
    """`python -m TOOL words` beside words.py, which lies in the current folder."""
    inside = folder
    if counting.chroot:
        inside = harness.Path(counting.chroot + harness.CHROOT_TARGETS)
    else:
        for program in ("words.py", "library_work.py"):
            shutil.copy(harness.TARGETS / program, folder)
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package())
    environment["PYTHONHASHSEED"] = "0"
    command = counting.command("words.py")[:-1]
    if counting.chroot:  # chroot(8) begins in the root folder
        script = f'cd {harness.CHROOT_TARGETS} && exec "$@"'
        command = [*command[:2], "/bin/sh", "-c", script, "sh", command[2]]
    ended = harness.execute([*command, "-m", tool, *words], env=environment, cwd=folder, **options)
    return ended, inside


def masked(text):
    """Without times, and in no order where times give it."""
    if "library_work.py" in text:  # one of the functions that are all called so wins: see compat.md
        text = "".join(
            line for line in text.splitlines(True)
            if "<string>:" not in line and " function calls " not in line
        )  # fmt: skip
    text = re.sub(r"0x[0-9a-f]+", "0x0", re.sub(r"\d+\.\d{3}", "0.000", text))
    ordered = "Ordered by: standard name" in text
    return text if ordered else sorted(text.splitlines())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda words: "_".join(words[2:]) or "nothing")
def test_text_is_that_of_the_real_command(counting, folder, seed):
    real, _ = run_tool(counting, folder, "cProfile", seed[2:])
    ours, _ = run_tool(counting, folder, "cairn.cprofile", seed[2:])
    assert masked(ours.text) == masked(real.text)
    assert ours.status == real.status
    assert ours.talk == real.talk


@pytest.mark.parametrize("words", [["-s", "time"], ["-m"]])
def test_options_with_nothing_to_run_are_told_the_usage(counting, folder, words):
    real, _ = run_tool(counting, folder, "cProfile", words)
    assert "IndexError" in real.talk
    ours, _ = run_tool(counting, folder, "cairn.cprofile", words)
    assert ours.status == 2 and ours.text.startswith("Usage: ") and not ours.talk


READ = """
import pstats, sys
for file in sys.argv[1:]:
    stats = pstats.Stats(file)
    print(stats.total_calls - stats.prim_calls)
"""


def test_files_are_read_by_every_version(folder):
    """Each writes one; the pstats of each of the others reads it."""
    written = []
    for writer in harness.supported_interpreters():
        if writer.has_engine() and not (writer.chroot and os.geteuid() != 0):
            writer.prepare()
            words = ["-o", "x.prof", "words.py"]
            ended, inside = run_tool(writer, folder, "cairn.cprofile", words)
            ended.expect()
            written.append(shutil.copy(inside / "x.prof", folder / f"{writer.label}.prof"))
    assert written
    for reader in harness.installed_interpreters():
        if reader.version[:2] in harness.SUPPORTED:
            said = harness.execute([reader.executable, "-c", READ, *written]).expect().text
            assert said.split() == ["176"] * len(written), reader.label  # fibonacci(10)


def cairn_cprofile(counting, cairn, *words):
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    shutil.copy(harness.TARGETS / "words.py", cairn.folder)
    return cairn("cprofile", "--python", counting.executable, *words)


def test_the_program_is_main_and_its_status_is_kept(counting, cairn):
    ended = cairn_cprofile(counting, cairn, "-s", "stdname", "words.py", "main", "exit").expect(7)
    lines = ended.text.splitlines()
    assert lines[1:3] == ["['main', 'exit'] __main__", "True"]
    assert re.search(r"^ +177/1 .* words.py:5\(fibonacci\)$", ended.text, re.MULTILINE)
    assert ended.talk == ""


def test_the_command_counts_what_python_m_counts(counting, cairn):
    """The folder that -m looked into is known to the import system: no finder is made for it anew."""
    if counting.chroot:
        pytest.skip("cProfile is run in the folder of the program, which is in no chroot")
    (cairn.folder / "imports.py").write_text("import this_one\n")
    (cairn.folder / "this_one.py").write_text("import calendar\n")
    counted = []
    for _ in range(2):  # the first round compiles
        real = harness.execute([counting.executable, "-m", "cProfile", "-s", "stdname", "imports.py"],
                               cwd=cairn.folder, env=cairn.environment()).expect()  # fmt: skip
        ours = cairn_cprofile(counting, cairn, "-s", "stdname", "imports.py").expect()
        counted = [
            re.findall(r"^ +([\d/]+) .* (<frozen importlib[^ ]*|[^ ]*zipimport.*)$", text, re.MULTILINE)
            for text in (real.text, ours.text)
        ]
    assert len(counted[0]) > 20 and counted[1] == counted[0]


TRACED = """
import traceback
try:
    1 / 0
except ZeroDivisionError:
    print(len(traceback.format_exc().splitlines()))
"""


def test_a_program_that_formats_its_traceback_counts_what_cprofile_counts(counting, cairn):
    """linecache asks the program's names for __loader__, and calls more where there is one."""
    if counting.chroot:
        pytest.skip("cProfile is run in the folder of the program, which is in no chroot")
    (cairn.folder / "traced.py").write_text(TRACED)
    words = ["-s", "stdname", "traced.py"]
    command = [counting.executable, "-m", "cProfile", *words]
    environment = dict(cairn.environment(), PYTHONDONTWRITEBYTECODE="1")
    real = harness.execute(command, cwd=cairn.folder, env=environment).expect()
    ours = cairn_cprofile(counting, cairn, *words).expect()
    rows = [
        re.findall(r"^ +([\d/]+) .* (\S*linecache.py.*|\{.*(?:getattr|'dict').*\})$", text, re.MULTILINE)
        for text in (real.text, ours.text)
    ]
    assert len(rows[0]) > 3 and rows[1] == rows[0]


def test_a_module_is_main_as_well(counting, cairn):
    ended = cairn_cprofile(counting, cairn, "-m", "words", "main").expect()
    assert ended.text.splitlines()[1:3] == ["['main'] __main__", "True"]


def test_a_traceback_is_the_programs_own(counting, cairn):
    ended = cairn_cprofile(counting, cairn, "words.py", "fail").expect(1)
    alone = harness.execute(
        [counting.executable, "words.py", "fail"], cwd=cairn.folder, env=cairn.environment()
    ).expect(1)
    assert "(fibonacci)" in ended.text
    assert ended.talk.replace(f'"{cairn.folder}/', '"') == alone.talk.replace(
        f'"{cairn.folder}/', '"'
    )


def test_a_python_without_an_engine_is_told(cairn, folder, python):
    """The package without its modules, as where headers were not there."""
    package = folder / "build" / "python" / "cairn"
    shutil.copytree(
        harness.Path(python.package()) / "cairn", package, ignore=shutil.ignore_patterns("*.so*")
    )
    binary = shutil.copy(harness.cairn_binary(), folder / "build" / "cairn")
    ended = harness.Cairn(folder, binary)(
        "cprofile", "--python", python.executable, "x.py"
    ).expect(harness.NOT_SUPPORTED)
    assert "there is no engine for" in ended.talk and "headers" in ended.talk
    start = package / "_start.py"
    as_free = f"import sys, runpy; sys.abiflags = 't'; sys.argv = ['', 'cprofile', 'x.py']; runpy.run_path({str(start)!r})"
    ended = harness.execute([python.executable, "-c", as_free]).expect(harness.NOT_SUPPORTED)
    assert "is a free-threaded build, which is not supported yet" in ended.talk and "headers" not in ended.talk


def test_the_package_is_looked_for_beside_the_command(cairn, folder, python):
    binary = shutil.copy(harness.cairn_binary(), folder / "cairn")
    ended = harness.Cairn(folder, binary)("cprofile", "x.py").expect(harness.NOT_FOUND)
    assert "the package `cairn` is not beside" in ended.talk

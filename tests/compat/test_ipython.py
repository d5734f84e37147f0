"""%load_ext cairn: the text is that of IPython's own %prun and of line_profiler's %lprun.

With the Python that runs the tests, which has them all.
"""
import re
import sys

import pytest

import harness

SESSION = """
from IPython.core.interactiveshell import InteractiveShell
import sys

shell = InteractiveShell.instance(colors="NoColor", history_length=0)
shell.history_manager.enabled = False
shell.run_line_magic("load_ext", sys.argv[1])
shell.run_cell('''
import time
n = 5
def inner(n):
    return sorted(range(n))
def outer(n):
    return [inner(i) for i in range(n)]
def never():
    pass
''')
"""


def session(folder, extension, *calls):
    (folder / "session.py").write_text(SESSION + "\n".join(calls))
    environment = harness.Cairn(folder).environment(
        PYTHONPATH=str(harness.built_package()), IPYTHONDIR=str(folder / "ipython"))
    command = [sys.executable, "session.py", extension]
    return harness.execute(command, env=environment, cwd=folder).expect()


def masked(text):
    text = re.sub(r"\d+\.\d+ seconds", "T seconds", text)
    text = re.sub(r"Total time: \S+ s", "Total time: T", text)
    text = re.sub(r"^( +\d+ +\d+) +\S+ +\S+ +\S+  ", r"\1 T  ", text, flags=re.M)
    return re.sub(r" +\d+\.\d\d\d(?= )", " T", text)


@pytest.mark.parametrize("magic, real", [
    ("-s stdname outer(5)", "prun"),
    ("-s calls -s stdname -l 2 outer(5)", "prun"),
    ("-s stdname -l sorted -l .5 outer(3)", "prun"),
    ("-q -T out.txt -D out.prof -s stdname outer(3)", "prun"),
    ("-s stdname import sys; sys.exit(3)", "prun"),
    ("-s stdname len({n})", "prun"),
    ("-f inner -f outer outer(5)", "lprun"),
    ("-f inner -f never -z -u 1e-3 outer(5)", "lprun"),
    ("-f inner -T out.txt -D out.lprof outer(2)", "lprun"),
    ("-f inner raise SystemExit", "lprun"),
    ("-f nosuch outer(2)", "lprun"),
    ("-m nosuch outer(2)", "lprun"),
    ("-m textwrap -z import textwrap; textwrap.fill('a b', 20)", "lprun"),
])
def test_text_is_that_of_the_real_magic(folder, magic, real):
    call = f"shell.run_cell({f'%{real} {magic}'!r})"
    ours = session(folder, "cairn", call)
    files = {file.name: masked(file.read_text()) for file in folder.glob("out.txt")}
    theirs = session(folder, "line_profiler", call)
    assert masked(ours.text) == masked(theirs.text)
    assert files == {file.name: masked(file.read_text()) for file in folder.glob("out.txt")}


def test_values_are_what_the_real_ones_return(folder):
    ended = session(
        folder, "cairn",
        "s = shell.run_line_magic('prun', '-q -r outer(4)')",
        "print(type(s).__module__, [v[:2] for k, v in s.stats.items() if k[2] == 'inner'])",
        "s.print_stats('inner')",
        "p = shell.run_line_magic('lprun', '-r -f inner outer(4)')",
        "print(type(p).__module__, [hits for _, hits, _ in p.get_stats().timings.popitem()[1]])",
    )  # fmt: skip
    assert "due to restriction <'inner'>" in ended.text
    assert "pstats [(4, 4)]\n" in ended.text and "cairn.line_profiler [4]\n" in ended.text


def test_a_cell_is_sampled(folder):
    # Long beside the first look: test_notebook.py says why.
    cell = "def busy():\n    begin = time.perf_counter()\n" \
           "    while time.perf_counter() < begin + 2: pass\n    return time.perf_counter() - begin\n" \
           "print('it took', busy())\nx = 41\nx + 1"
    ended = session(folder, "cairn", f"shell.run_cell({('%%cairn -o cell.cairn -r 1khz' + chr(10) + cell)!r})",
                    "shell.run_cell('%cairn x + 2')",
                    "shell.run_cell('%cairn 1 / 0')")  # fmt: skip
    assert re.search(r"^ *[\d.]+ ±.* busy ", ended.text, re.M), ended.text
    assert "42\n" in ended.text and "43\n" in ended.text and "ZeroDivisionError" in ended.text
    cairn, file = harness.Cairn(folder), folder / "cell.cairn"
    took_s = float(re.search(r"^it took (\S+)$", ended.text, re.M)[1])
    (busy,) = [row for row in cairn.report(file)["rows"] if row["name"] == "busy"]
    assert abs(busy["self_s"] - took_s) < 0.15 + cairn.blind_s(file, ended), busy


def test_lprun_comes_with_its_module_alone(folder):
    calls = ["shell.run_cell('%lprun -f inner -z outer(4)')",
             "print(shell.find_line_magic('prun').__func__.__module__)",
             "import importlib",
             "print(importlib.import_module(sys.argv[1]).LineProfiler().timer_unit)"]
    ours, theirs = (session(folder, module, *calls) for module in ("cairn.line_profiler", "line_profiler"))
    assert masked(ours.text) == masked(theirs.text) and "inner" in ours.text

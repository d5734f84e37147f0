"""`cairn run --exact`: every call of every thread and process, counted once.

Judges are a slow tracer in Python and the numbers that a program knows of itself
(tests/targets/exact_work.py); where CPython's own profiler is wrong, that is shown first.
"""
import ast
import json
import os
import pstats
import shutil
from pathlib import Path

import pytest

import harness
from harness import execute

SCRIPT = "exact_work.py"
TEXT = (harness.TARGETS / SCRIPT).read_text().splitlines()
# Tracer and program are two runs; what C code calls in between is not the tracer's to see.
SELF = ("reference", "note", "peer")


@pytest.fixture
def counted(cairn, interpreter, counts_place):
    """Runs a case and gives the report's rows of this program by name, and the whole report."""

    def run(case, status=0):
        file, ended = cairn.record(
            interpreter, SCRIPT, case, options=["--exact"], status=status, env=counts_place
        )
        report = cairn.report(file)
        return rows_of(report), report, file, ended

    return run


def rows_of(report):
    """Of one program under two paths (spawned children name it from the top): added up."""
    rows = {}
    for row in report["rows"]:
        if not row["file"].endswith(SCRIPT):
            continue
        before = rows.setdefault(row["name"], dict.fromkeys(NUMBERS, 0) | {"callers": {}})
        for key in NUMBERS:
            before[key] += row[key]
        for caller in row["callers"]:
            calls = before["callers"].get(caller["name"], 0)
            before["callers"][caller["name"]] = calls + caller["calls"]
    return rows


NUMBERS = ("calls", "primitive_calls", "resumes", "self_s", "total_s", "suspended_s")


def asked(interpreter, case, who):
    return execute(interpreter.command(SCRIPT, case, who)).expect().last_json()


def test_counts_are_those_of_a_tracer_in_python(counted, interpreter):
    wanted = asked(interpreter, "calls", "reference")
    rows, report, _, _ = counted("calls")
    got = {
        name: [rows[name]["calls"], rows[name]["primitive_calls"], rows[name]["resumes"]]
        for name in wanted["rows"] if name not in SELF
    }  # fmt: skip
    wanted["rows"] = {name: row for name, row in wanted["rows"].items() if name not in SELF}
    assert got == wanted["rows"] and len(got) >= 19
    assert got["rec"] == [150, 30, 0] and got["slow"] == [1, 1, 2]

    # A class stands between its caller and __init__ where calls of classes are seen.
    edges = {
        f"{name} {caller}": calls
        for name, row in rows.items() for caller, calls in row["callers"].items()
        if caller in rows and calls and name not in ("__init__", "calls")
    }  # fmt: skip
    wanted["callers"].pop("__init__ calls")
    assert edges == wanted["callers"] and len(edges) >= 15

    natives = {row["name"]: row for row in report["rows"] if row["kind"] == "c"}
    for name, caller in (("len", "leaf"), ("sorted", "method"), ("sleep", "slow")):
        module = "time" if name == "sleep" else "builtins"
        row = natives[f"<built-in method {module}.{name}>"]
        calls = {c["name"]: c["calls"] for c in row["callers"]}[caller]
        assert calls == wanted["c_calls"][f"{name} {caller}"]
    types = {row["name"]: row["calls"] for row in report["rows"] if row["kind"] == "type"}
    if interpreter.version >= (3, 12):
        assert types["<class '__main__.Thing'>"] == 1

    # What a generator did itself, what it called, and for how long it was left alone.
    slow = rows["slow"]
    assert slow["self_s"] < slow["total_s"] >= 0.05 and slow["suspended_s"] >= 0.1
    assert rows["wait_between"]["total_s"] >= 0.15
    quality = report["quality"]
    assert quality["cut_short"] is False and quality["events_lost"] == 0
    assert quality["events"] == sum(r["calls"] + r["resumes"] for r in report["rows"])


def test_generators_that_never_began_are_no_calls(cairn, interpreter, counts_place):
    file, _ = cairn.record(interpreter, SCRIPT, "unbegun", options=["--timeline"], env=counts_place)
    report = cairn.report(file)
    rows = rows_of(report)
    assert [rows["countdown"][key] for key in NUMBERS[:3]] == [1, 1, 1]
    assert "outer" not in rows and rows["leaf"]["calls"] == 21
    quality = report["quality"]
    assert quality["events"] == sum(r["calls"] + r["resumes"] for r in report["rows"])
    events = json.loads(cairn("export", "-f", "chrome", file).expect().out)["traceEvents"]
    begun = [e["name"] for e in events if e["ph"] == "B"]
    assert begun.count("countdown") == 2 and begun.count("leaf") == 21 and "outer" not in begun


def test_threads_are_not_mixed(cairn, counted, interpreter):
    right = {"leaf": [6000, 6000], "many": [3, 3]}
    peer = asked(interpreter, "threads", "peer")
    assert {name: peer[name] for name in right} != right
    rows, report, file, _ = counted("threads")
    got = {n: [rows[n]["calls"], rows[n]["primitive_calls"]] for n in right}
    assert got == right
    assert rows["many"]["total_s"] >= rows["leaf"]["total_s"] > 0
    text = cairn("report", "--by", "function", "--limit", "500", file).expect().text
    assert "ncalls  tottime  percall  cumtime  percall filename:lineno(function)" in text
    assert any(line.split()[0] == "6000" and "leaf)" in line for line in text.splitlines() if line)


def test_forks_and_spawns_are_counted_in_their_own_processes(cairn, counted, interpreter):
    rows, report, file, ended = counted("family")
    said = ended.last_json()
    assert rows["leaf"]["calls"] == 1 + 10 + 100 + 2 * 1000
    assert rows["loop"]["calls"] == 5
    assert rows["family"]["calls"] == 1  # not again in those that were forked inside it
    assert rows["loop"]["callers"]["family"] == 2
    assert report["quality"]["events_lost"] == 0
    parent = rows_of(cairn.report(file, "--process", str(said["pid"])))
    child = rows_of(cairn.report(file, "--process", str(said["child"])))
    assert (parent["leaf"]["calls"], child["leaf"]["calls"]) == (1, 110)
    assert child["loop"]["callers"] == {"family": 1, "run": 1} or child["loop"]["calls"] == 2


OWN = """
@profile
def chosen(n):
    return len(range(n))
for n in range(5):
    chosen(n)
"""


@pytest.mark.parametrize("options", [["--exact"], ["--exact", "--lines"], ["--exact", "--lines=hybrid", "--timeline"]])
def test_what_cairn_does_is_no_row(cairn, counting, folder, options):
    """Neither its own functions, nor what its beginning calls once calls are counted."""
    script = "profile = lambda function: function\n" * (len(options) == 1) + OWN
    (folder / "own.py").write_text(script)
    cairn("run", *options, "--report", "none", "-o", "x.cairn", "--python", counting.executable, "own.py",
          cwd=folder).expect()  # fmt: skip
    rows = cairn.report(folder / "x.cairn")["rows"]
    calls = {row["name"]: row["calls"] for row in rows}
    assert calls["chosen"] == 5 and calls["<built-in method builtins.len>"] >= 5
    callers = [caller["name"] for row in rows for caller in row["callers"]]
    assert not [name for name in [*calls, *callers] if "cairn" in name]
    assert "<built-in method atexit.register>" not in calls
    assert not [row for row in rows if row["name"] == "<method 'update' of 'dict' objects>" and not row["callers"]]


@pytest.mark.parametrize("case, seen", [("profiles_itself", 2), ("profiled_by_cprofile", 1)])
def test_another_profiler_in_the_program_keeps_its_place(cairn, counted, interpreter, case, seen):
    rows, report, file, ended = counted(case)
    assert ended.last_json() == seen
    # Until 3.11 a thread has one profile function: what went by meanwhile is told to be missing.
    apart = interpreter.version >= (3, 12)
    assert report["quality"]["displaced"] == (0 if apart else 1)
    shown = " ".join(cairn("report", file).expect().text.split())
    assert ("displaced: " in shown) == ("nor what threads did that it then started" in shown) == (not apart)
    if apart:
        assert rows["leaf"]["calls"] == (4 if case == "profiles_itself" else 2)


@pytest.mark.parametrize("options", [["--exact"], ["--lines"], ["--exact", "--lines", "--opcodes"]])
def test_a_profile_function_of_the_program_hears_what_it_would(cairn, interpreter, counts_place, options):
    """The return of sys.setprofile(), whose call it was not told of, stops `profile`."""
    if interpreter.version >= (3, 12) and "--exact" in options:
        pytest.skip("from 3.12 on it is told of that return: docs/compat.md")
    alone = execute(interpreter.command(SCRIPT, "hears_events")).expect().last_json()
    _, ended = cairn.record(interpreter, SCRIPT, "hears_events", options=options, env=counts_place)
    assert ended.last_json() == alone


def test_a_profile_function_that_is_set_again_counts_on(cairn, counted, interpreter):
    """Until 3.11 it is Cairn's own that the program was given, and gives back."""
    rows, report, file, ended = counted("sets_it_again")
    assert ended.last_json() == [3, True]
    apart = interpreter.version >= (3, 12)
    assert rows["leaf"]["calls"] == 1 + 20 + 10 + 100 + (1 + 3 if apart else 0)
    assert rows["loop"]["calls"] == (4 if apart else 3)
    assert report["quality"]["displaced"] == (0 if apart else 1)


def test_without_another_profiler_nothing_is_displaced(cairn, counted):
    for case in ("threads", "family", "killed"):
        _, report, file, _ = counted(case, status=137 if case == "killed" else 0)
        assert report["quality"]["displaced"] == 0
        assert "displaced: " not in cairn("report", file).expect().text


@pytest.mark.parametrize("case, status", [("killed", 137), ("exits", 5)])
def test_what_was_counted_outlives_the_process(counted, case, status):
    rows, report, _, ended = counted(case, status)
    assert report["quality"]["cut_short"] is True
    assert rows["leaf"]["calls"] == 5000 and rows["loop"]["calls"] == 1
    assert rows["loop"]["total_s"] >= rows["leaf"]["total_s"] > 0
    assert rows[case]["total_s"] >= rows["loop"]["total_s"]
    assert b"os._exit" in ended.err


@pytest.mark.parametrize(
    "options", [["run", "--exact"], ["run", "--exact", "--lines"], ["run", "--exact", "--timeline"],
                ["count", "--in", "loop", "--in", "leaf", "--in", "execs", "--in", "after"],
                ["lines", "--exact", "--in", "leaf"]], ids=lambda words: " ".join(words[:3])
)  # fmt: skip
def test_a_process_that_becomes_another_program(cairn, interpreter, counts_place, options):
    """Whatever it did before is kept to the last event, and the next program counts from nothing."""
    command = interpreter.command(SCRIPT, "execs")
    cairn(*options, "-o", "x.cairn", "--", *command, env=counts_place).expect()
    report = cairn.report("x.cairn")
    quality = report["quality"]
    assert quality["cut_short"] is True and quality["events_lost"] == 0
    assert "(a signal, os._exit, exec)" in " ".join(cairn("report", "x.cairn").expect().text.split())
    if options[0] != "lines":
        rows = rows_of(report)
        got = {name: rows[name]["calls"] for name in ("leaf", "loop", "execs", "after")}
        assert got == {"leaf": 5370, "loop": 3, "execs": 1, "after": 1}
        assert rows["loop"]["callers"]["execs"] == 1 and rows["loop"]["callers"]["after"] == 1
        assert rows["execs"]["total_s"] >= rows["execs"]["self_s"] > 0
    if "--timeline" in options:
        assert quality["timeline_calls"] == quality["events"] and quality["timeline_lost"] == 0
    if options != ["run", "--exact"] and "--timeline" not in options:
        line = next(n for n, text in enumerate(TEXT, 1) if text.strip() == 'return len("leaf")')
        hits = [row["hits"] for row in report["lines"] if row["line"] == line and row["hits"]]
        assert sum(hits) == 5370


def test_the_program_sees_no_difference(cairn, counts_place, interpreter, folder):
    if interpreter.chroot:
        pytest.skip("the chroot has no /proc for the program to look at")
    assert counts_place == {}
    (folder / "sitecustomize.py").write_text("import sys; sys.was_customized = True\n")
    code = "import sys, os; print(sys.was_customized, sys.path, os.environ['PYTHONPATH'])"
    environment = cairn.environment(PYTHONPATH=str(folder))
    command = [interpreter.executable, "-c", code]
    alone = execute(command, cwd=folder, env=environment).expect()
    own = cairn("run", "--exact", "--", *command, env={"PYTHONPATH": str(folder)}).expect()
    assert own.out == alone.out and b"True" in own.out

    command = interpreter.command("surroundings.py", "one", "two words")
    alone = execute(command, cwd=folder, env=cairn.environment()).expect()
    assert cairn("run", "--exact", "--", *command).expect().out == alone.out
    command = interpreter.command("fails.py")
    alone = execute(command, env=cairn.environment()).expect(1)
    under = cairn("run", "--exact", "--report", "none", "--", *command).expect(1)
    assert under.out == alone.out and under.err.startswith(alone.err)


CLASSES = """import gc, weakref
class Base: pass
def make(i):
    made = type("Odd" if i % 2 else "Even", (Base,), {})
    made(), made()
    return weakref.ref(made)
gone = [make(i) for i in range(300)]
gc.collect()
print(sum(ref() is not None for ref in gone), Base.__subclasses__())
"""


def test_classes_that_are_called_go_as_they_would(cairn, interpreter, counts_place, folder):
    """And their numbers are not those of who has their address afterwards."""
    script = Path(counts_place.get("TMPDIR", folder)) / "classes.py"
    script.write_text(CLASSES)
    command = ["chroot", interpreter.chroot] if interpreter.chroot else []
    ended = cairn("run", "--exact", "--report", "none", "-o", "x.cairn", "--", *command,
                  interpreter.executable, script, env=counts_place).expect()  # fmt: skip
    assert ended.text == "0 []\n"
    calls = {row["name"]: row["calls"] for row in cairn.report(folder / "x.cairn")["rows"] if "calls" in row}
    seen = 300 if interpreter.version >= (3, 12) else None
    assert [calls.get(f"<class '__main__.{name}'>") for name in ("Odd", "Even")] == [seen, seen]


@pytest.mark.parametrize("way", ["inherits", "given"])
def test_an_empty_path_names_no_folder(cairn, counting, folder, way):
    """Not even where the program runs in a folder that is on its path anyway."""
    code = "import os, sys; print(sys.path, [os.environ.get('PYTHONPATH'), 'CAIRN_SPOOL' in os.environ])"
    if way == "given":
        code = "import os, subprocess, sys\n" \
               f"subprocess.run([sys.executable, '-c', {code!r}], env=dict(os.environ, PYTHONPATH=''))"
    execute([counting.executable, "-m", "venv", "--without-pip", folder / "own"]).expect()
    (packages,) = (folder / "own" / "lib").glob("python*/site-packages")
    command = [str(folder / "own" / "bin" / "python"), "-c", code]
    alone = execute(command, cwd=packages, env=cairn.environment(PYTHONPATH="")).expect()
    words = ["run", "--exact", "--report", "none", "-o", folder / "x.cairn", "--", *command]
    under = execute([harness.cairn_binary(), *words], cwd=packages, env=cairn.environment(PYTHONPATH=""))
    assert under.expect().out == alone.out and str(packages) in alone.text


@pytest.fixture
def counting(interpreter):
    if not interpreter.has_engine() or interpreter.chroot:
        pytest.skip(f"no module was built for {interpreter.label}, or it is in a root of its own")
    return interpreter


def test_trace_is_another_word(cairn, python, folder):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    cairn("trace", "-o", folder / "x.cairn", "--", *python.command(SCRIPT, "exits")).expect(5)
    report = cairn.report(folder / "x.cairn")
    assert rows_of(report)["leaf"]["calls"] == 5000
    exec_report = cairn("report", folder / "x.cairn").expect().text
    assert "cut short: 1 process ended without a clean stop" in " ".join(exec_report.split())


def test_pstats_has_what_was_counted(cairn, python):
    """Read by CPython's own reader: rows and callers of the report."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    file, _ = cairn.record(python, "exact_work.py", "threads", options=["--exact"])
    cairn("export", "-f", "pstats", "-o", "x.prof", file).expect()
    stats = pstats.Stats(str(cairn.folder / "x.prof")).stats
    rows = {}
    for row in cairn.report(file)["rows"]:
        if row["kind"] != "label":
            key = (row["file"], row["first_line"], row["name"])
            rows.setdefault(key, []).append(row)
    assert set(rows) == {key for key in stats if not key[2].startswith("[")}
    for key, alike in rows.items():
        primitive, calls, self_s, total_s, callers = stats[key]
        assert calls == sum(row["calls"] for row in alike)
        assert primitive == sum(row["primitive_calls"] for row in alike)
        assert self_s == pytest.approx(sum(row["self_s"] for row in alike), abs=1e-8)
        assert total_s == pytest.approx(sum(row["total_s"] for row in alike), abs=1e-8)
        told = {(c["file"], c["first_line"], c["name"]) for row in alike for c in row["callers"]}
        assert {caller for caller in callers if not caller[2].startswith("[")} == \
            {caller for caller in told if not caller[2].startswith("[")}
    shown = cairn("pstats", file, data=b"sort calls\nstats 3\n").expect().text
    assert "ncalls" in shown and "nsamples" not in shown


def refusal_of(cairn, file):
    """Why nothing was counted, as the recording has it and the report shows it."""
    told = cairn.report(file)["recording"]["environment"]["counting.refused"]
    shown = " ".join(cairn("report", file).expect().text.split())
    assert f"not counted: {told}" in shown
    return told


@pytest.mark.parametrize("option", ["--exact", "--lines"])
@pytest.mark.parametrize("alone", ["-I", "-E", "-S"])
def test_a_python_that_hears_of_nothing_is_told(cairn, python, alone, option):
    command = [python.executable, alone, *python.command("busy.py", 0.2)[1:]]
    cairn("run", "-o", "x.cairn", option, "--", *command).expect()
    assert "-E, -I, -S and a PYTHONPATH set on the way" in refusal_of(cairn, "x.cairn")
    assert "counting.refused" not in cairn.report(cairn.record(
        python, "busy.py", 0.2, options=["--exact"])[0])["recording"]["environment"]


STARTS = """import json, os, subprocess, sys
alone, script = sys.argv[1:]
words = [sys.executable, *([alone] if alone.startswith("-") else []), script, "0.3"]
child = subprocess.Popen(words)
child.wait()
forked = os.fork()
if forked == 0:
    os._exit(0)
os.wait()
print(json.dumps(child.pid))
"""


@pytest.mark.parametrize("option", ["--exact", "--lines"])
@pytest.mark.parametrize("alone", ["-I", "-E", "-S", "no"])
def test_a_child_that_hears_of_nothing_is_told(cairn, python, folder, alone, option):
    """Beside a program that is counted. Of a copy that met nothing to count nothing is said."""
    (folder / "starts.py").write_text(STARTS)
    ended = cairn("run", "-o", "x.cairn", option, "--report", "none", "--python", python.executable,
                  "starts.py", alone, harness.TARGETS / "busy.py").expect()  # fmt: skip
    if alone == "no":
        assert "counting.refused" not in cairn.report("x.cairn")["recording"]["environment"]
    else:
        assert refusal_of(cairn, "x.cairn").startswith(
            f"1 process that began a Python ({ended.last_json()}): nothing that counts was there; -E, -I, "
            "-S and an environment that C gives it leave it out, or it or the program was over before")
    assert cairn.report("x.cairn")["quality"]["events"] > 0


BEGINS = """import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env={**os.environ, "PYTHONUSERBASE": sys.argv[1]})
open("begun").close()
until = time.monotonic() + 0.3
while time.monotonic() < until:
    pass
print(child.pid)
"""


def test_a_child_that_begins_when_the_program_is_over_is_told(cairn, python, folder):
    """It has come as far as to the user's own paths, which are read before what counts is looked for."""
    (folder / "begins.py").write_text(BEGINS)
    paths = folder / "lib/python{}.{}/site-packages".format(*python.version)
    paths.mkdir(parents=True)
    (paths / "waits.pth").write_text('import os; open("begun", "w").close(); open("held").close()\n')
    os.mkfifo(folder / "begun")
    os.mkfifo(folder / "held")
    ended = cairn("run", "-o", "x.cairn", "--exact", "--report", "none", "--python", python.executable,
                  "begins.py", folder).expect()  # fmt: skip
    told = refusal_of(cairn, "x.cairn")
    os.close(os.open(folder / "held", os.O_RDWR))  # who is not there any more is not waited for
    assert told.startswith(f"1 process that began a Python ({ended.text.strip()}): nothing that counts was")
    assert told.endswith("or it or the program was over before")


@pytest.fixture
def without(folder):
    """The command beside a package that has no module for one Python; and what those are called."""

    def make(python):
        asked = execute([python.executable, "-c", "import _imp; print(_imp.extension_suffixes()[0])"])
        suffix = asked.expect().text.strip()
        unwanted = shutil.ignore_patterns(f"_exact{suffix}", "*.p", "__pycache__")
        shutil.copytree(harness.built_package(), folder / "python", ignore=unwanted)
        shutil.copy(harness.cairn_binary(), folder / "cairn")
        return harness.Cairn(folder, folder / "cairn"), f"_exact{suffix}"

    return make


def test_a_python_without_a_module_is_told(without, python, folder):
    cairn, module = without(python)
    place = folder / "counts"
    place.mkdir()
    command = ["run", "-o", "x.cairn", "--exact", "--", *python.command("busy.py", 0.2)]
    cairn(*command, env={"TMPDIR": str(place)}).expect()
    assert refusal_of(cairn, "x.cairn").startswith(f"the program: there is no module {module} ")
    assert not list(place.iterdir()), "nothing is left behind"


def test_a_free_threaded_python_is_named_as_such(cairn, python, folder):
    """Nothing that could be built would count it. It says by its suffix what it is."""
    (folder / "program.py").write_text(
        "import os\nopen(os.environ['CAIRN_SPOOL'] + '/without.cpython-313t-x86_64-linux-gnu.so', 'w')\n")
    cairn("run", "-o", "x.cairn", "--exact", "--", python.executable, "-I", "program.py").expect()
    assert refusal_of(cairn, "x.cairn") == (
        "the program: its Python is a free-threaded build (_exact.cpython-313t-x86_64-linux-gnu.so), which is "
        "not supported yet; CPython 3.8 to 3.15 are counted")


OLD = """import os, sys
import json
sys.stdout.write(json.dumps([sys.path[1:], os.environ.get("PYTHONPATH"), os.environ.get("CAIRN_SPOOL")]))
"""


def test_a_python_that_is_not_counted_sees_no_difference(cairn, python, folder):
    """Those older than 3.8, 2.7 among them, with an environment that they are given."""
    others = harness.old_pythons()
    if not others or not python.has_engine():
        pytest.skip("takes a Python that is older")
    (folder / "old.py").write_text(OLD)
    for other in others:
        (folder / "program.py").write_text(
            f"import os, subprocess\nsubprocess.run([{other!r}, 'old.py'], env=dict(os.environ))\n")
        alone = execute([python.executable, "program.py"], cwd=folder, env=cairn.environment()).expect()
        words = ["--report", "none", "--force", "-o", "x.cairn", "--", python.executable, "program.py"]
        under = cairn("run", "--exact", *words).expect()
        assert under.out == alone.out and under.err == alone.err == b""
        told = refusal_of(cairn, "x.cairn")
        assert told.startswith("a process: there is no module _exact") and "CPython 3.8 to 3.15 are counted" in told


def test_what_each_python_reads_is_in_its_words():
    """The words of 2.7 that 3 has as well: no text with names in it, no annotation, no `nonlocal`."""
    source = (harness.built_package() / "cairn" / "_site" / "sitecustomize.py").read_text()
    newer = (ast.JoinedStr, ast.AnnAssign, ast.Nonlocal, ast.YieldFrom, ast.Starred)
    nodes = ast.walk(ast.parse(source, feature_version=(3, 4)))
    assert not [node for node in nodes if isinstance(node, newer)]


def test_a_child_without_a_module_is_told(without, python, folder):
    others = [i for i in harness.installed_interpreters()
              if i.version[:2] in harness.SUPPORTED and i.version[:2] != python.version[:2]]
    if not others or not python.has_engine():
        pytest.skip("takes two Pythons")
    cairn, module = without(others[0])
    (folder / "program.py").write_text(
        f"import subprocess\nsubprocess.run([{others[0].executable!r}, '-c', 'sum(range(9))'])\n")
    cairn("run", "-o", "x.cairn", "--exact", "--", python.executable, "program.py").expect()
    assert refusal_of(cairn, "x.cairn").startswith(f"a process: there is no module {module} ")
    assert any(row["calls"] for row in cairn.report("x.cairn")["rows"])

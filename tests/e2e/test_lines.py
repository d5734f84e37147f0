"""`cairn lines` and `cairn run --lines`: hits are those of a tracer in Python, times are known, and
what was counted outlives the process.
"""
import json
import os
import re

import pytest

import harness

FUNCTIONS = {"loops", "recursion", "counting", "fails", "method", "work"}


@pytest.fixture
def counting(interpreter):
    """An interpreter that there is a module for, and that the command can start."""
    if not interpreter.has_engine() or interpreter.chroot:
        pytest.skip(f"no module was built for {interpreter.label}, or it is in a root of its own")
    return interpreter


@pytest.fixture
def record(cairn, interpreter, counts_place):
    """Runs a case of line_work.py: the report, and how it ended."""

    def run(what, *options, status=0, program="line_work.py"):
        file, ended = cairn.record(interpreter, program, what, status=status,
                                   options=options or ["--lines"], env=counts_place)  # fmt: skip
        return cairn.report(file), ended

    return run


def hits_of(report, functions=FUNCTIONS):
    hits = {}
    for row in report["lines"]:
        if row["function"].split(".")[-1] in functions:
            hits[row["line"]] = hits.get(row["line"], 0) + row["hits"]
    return hits


def reference(interpreter):
    ended = harness.execute(interpreter.command("line_work.py", "trace")).expect()
    return {int(line): hits for line, hits in ended.last_json().items()}


@pytest.mark.parametrize("what, times, status", [
    ("plain", 1, 0), ("threads", 4, 0), ("fork", 3, 0), ("exit", 1, 3), ("kill", 1, 137)])
def test_hits_are_those_of_a_tracer(record, interpreter, what, times, status):
    report, _ = record(what, status=status)
    assert hits_of(report) == {line: times * n for line, n in reference(interpreter).items()}
    quality = report["quality"]
    assert quality["events"] == sum(row["hits"] for row in report["lines"])
    assert quality["events_lost"] == 0 and quality["cut_short"] == (status != 0)


@pytest.mark.parametrize("what, times, status", [("threads", 4, 0), ("fork", 3, 0), ("kill", 1, 137)])
def test_hits_without_times_are_those_of_a_tracer(record, interpreter, what, times, status):
    report, _ = record(what, "--lines=hybrid", status=status)
    assert hits_of(report) == {line: times * n for line, n in reference(interpreter).items()}
    assert report["quality"]["events"] == sum(row["hits"] for row in report["lines"])
    assert report["quality"]["events_lost"] == 0
    assert {row["times"] for row in report["lines"]} <= {"sampled", None}


@pytest.mark.parametrize("options", [["--lines"], ["--lines=hybrid"]])
def test_however_control_goes(record, interpreter, options):
    """What is derived from the first line of a run is what comes of one event after the other."""
    ended = harness.execute(interpreter.command("opcode_zoo.py", "lines")).expect()
    report, _ = record("plain", *options, program="opcode_zoo.py")
    counted = {}
    for row in report["lines"]:
        lines = counted.setdefault(str(row["first_line"]), {})
        lines[str(row["line"])] = lines.get(str(row["line"]), 0) + row["hits"]
    told = ended.last_json()
    assert sum(map(len, told.values())) > 150
    assert {first: counted.get(first, {}) for first in told} == told


HYBRID = '''
import time
def spins(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
def hybrid():
    spins(0.2)
    spins(0.05)
def slow(n):
    for i in range(n):
        yield i
for i in slow(3):
    hybrid()
'''


def test_times_of_samples(cairn, python, folder):
    """They are those of the samples on these lines, and said to be; where is told beside."""
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (folder / "program.py").write_text(HYBRID)
    words = ["--python", python.executable, "--report", "none", "--force", "-o", "x.cairn"]
    ended = cairn("run", "--lines=hybrid", *words[:2], *words[4:], "program.py").expect()
    cairn.need_sight(folder / "x.cairn", ended)
    shown = ended.talk
    assert "Hits are exact. Times are those of the samples (wall)" in shown, shown
    assert re.search(r"^hybrid, .* by samples, lines counted in ", shown, re.M), shown
    report = cairn.report(folder / "x.cairn")
    lines = {row["line"]: row for row in report["lines"] if row["line"] in (8, 9, 12)}
    assert {line: row["hits"] for line, row in lines.items()} == {8: 3, 9: 3, 12: 3}
    rows = cairn.report(folder / "x.cairn", "--by", "line", "--idle")["rows"]
    sampled = {row["line"]: row for row in rows if row["name"] == "hybrid"}
    for line in (8, 9):
        row, told = lines[line], sampled[line]
        assert row["times"] == "sampled" and row["c_s"] is None and row["suspended_s"] is None
        assert (row["time_s"], row["self_s"]) == (told["total_s"], told["self_s"]) and row["samples"] > 0
        assert row["time_low_s"] < row["time_s"] < row["time_high_s"]
    assert lines[8]["time_s"] > lines[9]["time_s"]
    for options in (["run", "--lines=hybrid", "--lines=slow"], ["lines", "--hybrid", "--in", "slow"],
                    ["run", "--lines=hybrid", "--lines=__main__:hybrid"], ["lines", "--in", "hybrid"]):
        cairn(*options, *words, "program.py").expect()
        found = cairn.report(folder / "x.cairn")["lines"]
        assert {row["function"] for row in found} == {"hybrid" if "hybrid" in options[-1] else "slow"}
        assert {row["times"] == "sampled" for row in found} == {options[1] != "--in"}


def test_run_count_is_cairn_count(cairn, counting, folder):
    """With --lines the lines are timed; calls are counted in any case."""
    (folder / "program.py").write_text("def slow(n):\n    return n\nfor i in range(3):\n    slow(i)\n")
    words = ["--report", "none", "--force", "-o", "x.cairn", "--python", counting.executable]
    told = []
    for options in (["count"], ["run", "--count"], ["run", "--count", "--lines"]):
        cairn(*options, *words, "program.py").expect()
        report = cairn.report(folder / "x.cairn")
        assert {row["times"] for row in report["lines"]} == {"measured" if "--lines" in options else "sampled"}
        (row,) = (row for row in report["rows"] if row["name"] == "slow")
        told.append((row["calls"], {row["line"]: row["hits"] for row in report["lines"]}))
    assert told[0][0] == 3 and told[0][1][2] == 3
    assert told == told[:1] * 3


THREADS = '''
import json, threading
def work(n):
    for i in range(n):
        i + 1
tids = {}
def runs(n):
    tids[n] = threading.get_native_id()
    work(n)
for n in range(1, 71):
    thread = threading.Thread(target=runs, args=(n,))
    thread.start()
    thread.join()
runs(1000)
print(json.dumps(tids))
'''


@pytest.mark.parametrize("how, apart", [("--lines=work", True), ("--lines=hybrid", False)])
def test_lines_of_a_thread(cairn, counting, folder, how, apart):
    """64 threads of a function are told apart where lines are timed; of the others, and where only
    hits are counted, those of all of them are shown, and said to be. The main thread is the last."""
    (folder / "program.py").write_text(THREADS)
    words = ["--report", "none", "-o", "x.cairn", "--python", counting.executable]
    tids = cairn("run", how, "--lines=work", *words, "program.py").expect().json()
    ran = [*range(1, 71), 1000]

    def hits(*options):
        (row,) = (row for row in cairn.report(folder / "x.cairn", *options)["lines"] if row["line"] == 5)
        return row["hits"], row["by_thread"]

    alone = ran[:64] if apart else []
    others = sum(ran) - sum(alone)
    assert hits() == (sum(ran), False)
    for n in (*alone[:1], *alone[-1:], 1000):
        chosen = ["--thread", tids[str(n)]]
        assert hits(*chosen) == ((n, True) if n in alone else (others, False))
        text = " ".join(cairn("report", *chosen, "x.cairn").expect().text.split())
        assert ("not told apart by thread, those of all threads" in text) == (n not in alone)


def test_a_place_where_nothing_ran_is_named(cairn, counting, folder):
    """Who misspells a name would look for lines that are not there."""
    (folder / "program.py").write_text("def slow(n):\n    return n\nslow(2)\nclass Class:\n    def method(self):\n"
                                       "        pass\n    class Inner:\n        def inner(self):\n            pass\n"
                                       "Class().method()\nClass.Inner().inner()\n")
    words = ["--report", "none", "--force", "-o", "x.cairn", "--python", counting.executable]
    for options, what in ((["run", "--lines=solw"], "line"), (["lines", "--in", "solw"], "line"),
                          (["trace", "--in", "solw"], "call")):
        done = cairn(*options, *words, "program.py").expect()
        assert (f"cairn: no {what} was counted: nothing that ran is a function, module or FILE:LINE "
                "called solw\n") in done.talk
    done = cairn("count", "--in", "solw", "--in", "other", *words, "program.py").expect()
    assert "no line was counted: " in done.talk and "called solw or other\n" in done.talk
    assert "no call" not in done.talk  # they are all counted there
    for options, what in ((["lines"], "line"), (["trace"], "call"), (["trace", "--timeline"], "call")):
        done = cairn(*options, "--in", "slow", "--in", "solw", "--in", "Class", *words, "program.py").expect()
        assert (f"cairn: no {what} was counted of solw: no function, module or FILE:LINE that was met is called "
                "so\n") in done.talk, done.talk
    done = cairn("trace", "--max-overhead", "50%", "--in", "slow", "--in", "solw", *words, "program.py").expect()
    assert "no call" not in done.talk, done.talk  # it may have ended before that ran
    (folder / "fork.py").write_text("import os\ndef child():\n    os.setgid(12345); os.setuid(12345); late()\n"
                                    "def late():\n    pass\ndef slow():\n    pass\nslow()\n"
                                    "if os.fork() == 0:\n    child()\n    os._exit(0)\nos.wait()\n")
    if os.geteuid() == 0:  # who meets it may make no file there any more
        done = cairn("trace", "--in", "slow", "--in", "late", *words, "fork.py").expect()
        assert "no call" not in done.talk, done.talk
    done = cairn("trace", "--in", "Class", "--in", "Inner", "--in", "Class.Inner", *words, "program.py").expect()
    assert "no call" not in done.talk, done.talk  # a class within one that is named, too
    for where in ("slow", "program", "program:slow", "__main__"):
        done = cairn("count", "--in", where, *words, "program.py").expect()
        assert "counted" not in done.talk, done.talk
        found = cairn.report(folder / "x.cairn")
        assert {row["function"] for row in found["lines"]} >= {"slow"}
        assert "slow" in {row["name"] for row in found["rows"]}
    (folder / "package").mkdir()
    (folder / "package" / "tool.py").write_bytes((folder / "program.py").read_bytes())
    done = cairn("count", "--in", "package.tool", *words, "-m", "package.tool").expect()
    assert "counted" not in done.talk, done.talk
    found = cairn.report(folder / "x.cairn")
    assert {row["function"] for row in found["lines"]} >= {"slow"}


def test_what_cairn_does_meanwhile_is_its_own(cairn, counting, folder):
    """Which lines are to be counted is asked in the middle of the program, from 3.12 on."""
    if counting.version < (3, 12):
        pytest.skip("asks nothing then")
    functions = "".join(f"def f{i}(x):\n" + "    x = x + 1 if x else [x]\n" * 50 for i in range(200))
    calls = "".join(f"f{i}(1)\n" for i in range(200))
    (folder / "program.py").write_text(functions + calls)
    words = ["--python", counting.executable, "--report", "none", "-r", "max", "-o", "x.cairn"]
    ended = cairn("run", "--lines=hybrid", *words, "program.py").expect()
    stacks = cairn.collapsed(folder / "x.cairn", "--unit", "samples")
    own = {stack[-2].name for stack in stacks if stack[-1].name == "[cairn]"}
    assert any(name.startswith("f") for name in own) or ended.taken_s > 0.05, own
    assert not any(frame.name.startswith("planner.<locals>") for stack in stacks for frame in stack)


SUSPENDS = '''
import time
def naps():
    yield 1
    time.sleep(0.01)
    yield 2
for _ in naps():
    time.sleep(0.05)
'''


def test_the_time_of_a_suspended_line_has_a_column(cairn, python, folder):
    if not python.has_engine():
        pytest.skip(f"no module was built for {python.label}: its headers are not there")
    (folder / "program.py").write_text(SUSPENDS)
    shown = cairn("lines", "--exact", "--in", "naps", "--python", python.executable, "-o", "x.cairn",
                  "program.py", env={"COLUMNS": "200"}).expect().talk  # fmt: skip
    assert re.search(r"% time +self us +in C us +suspended us$", shown, re.M), shown
    numbers = [int(found) for found in re.findall(r"(\d+) +(?:yield \d|time\.sleep\(0.01\))$", shown, re.M)]
    rows = cairn.report(folder / "x.cairn")["lines"]
    assert [row["suspended_s"] >= 0.05 for row in rows] == [True, False, True]
    assert len(numbers) > 2, shown
    assert all(abs(row["suspended_s"] * 1e6 - told) <= 1 for row, told in zip(rows, numbers[:3])), shown


def test_beside_calls_they_tell_what_is_their_own(record):
    report, ended = record("times", "--exact", "--lines=sleeps")
    assert {row["function"] for row in report["lines"]} == {"sleeps"}
    first, _, spins, passes, last = report["lines"]
    late_s = ended.last_json() - 0.15  # what all of it took beyond what it should
    near_s = 0.02 + late_s
    assert 0.05 <= first["time_s"] < 0.05 + near_s and 0.05 <= first["c_s"] <= first["time_s"]
    assert first["self_s"] < 0.01 + late_s
    assert 0.03 < spins["time_s"] + passes["time_s"] < 0.05 + near_s
    assert spins["hits"] >= passes["hits"] > 100
    assert 0.05 <= last["time_s"] < 0.05 + near_s
    assert last["c_s"] == 0 and last["self_s"] < 0.01 + late_s
    for row in report["lines"]:
        assert row["suspended_s"] == 0 and row["self_s"] + row["c_s"] <= row["time_s"] + 1e-9
    calls = {row["name"]: row["calls"] for row in report["rows"]}
    assert calls["sleeps"] == calls["calls"] == 1


@pytest.mark.parametrize("where, functions", [
    (["loops"], {"loops"}),
    (["recursion", "fails"], {"recursion", "fails"}),
    (["Thing.method"], {"method"}),
    (["__main__:work"], {"work"}),
    (["no_module:work", "counting"], {"counting"}),
    (["nothing.of.it"], set()),
])
def test_where(record, interpreter, where, functions):
    report, _ = record("plain", *(f"--lines={name}" for name in where))
    assert {row["function"].split(".")[-1] for row in report["lines"]} == functions
    wanted = reference(interpreter)
    assert all(wanted[line] == n for line, n in hits_of(report).items())


PLACED = """import functools
def plain(
    a,
):

    # what it does
    return (lambda: a)()
@functools.lru_cache(
    maxsize=None)
def outer(n):
    def inner(k):
        return [k for _ in range(k)]
    return inner(n)
class A:
    x = 1

    def m(self):
        return self.x
plain(1); outer(2); A().m()
"""


@pytest.mark.parametrize("line, functions", [
    (2, {"plain"}), (3, {"plain"}), (6, {"plain"}), (7, {"plain", "<lambda>"}),
    (8, {"outer"}), (10, {"outer"}), (11, {"inner"}), (12, {"inner", "<listcomp>"}), (13, {"outer"}),
    (15, {"A"}), (17, {"m"}), (18, {"m"}), (19, {"<module>"}), (16, set()),
])
def test_a_line_means_the_function_that_it_lies_in(lines_of, counting, line, functions):
    hits, _ = lines_of(PLACED, "--in", f"program.py:{line}")
    if counting.version >= (3, 12):
        functions = functions - {"<listcomp>"}  # of what it is in
    assert {name for name, _ in hits} == functions


@pytest.mark.parametrize("text, functions", [
    ("between = work(1) + Box().method()", {"<module>"}),
    ("    area = side * side", {"Box"}),
    ("    return n + first", {"work"}),
    ("        return self.area", {"method"}),
])
def test_what_stands_between_annotations_is_in_no_function(record, text, functions):
    line = 1 + (harness.TARGETS / "annotated.py").read_text().splitlines().index(text)
    report, _ = record("", f"--lines=annotated.py:{line}", program="annotated.py")
    rows = report["lines"]
    assert {row["function"].split(".")[-1] for row in rows if row["hits"]} == functions
    assert line in {row["line"] for row in rows}


def test_a_line_and_a_module(record):
    line = 1 + (harness.TARGETS / "line_work.py").read_text().splitlines().index("        yield i")
    report, _ = record("plain", f"--lines=line_work.py:{line}")
    assert {row["function"] for row in report["lines"]} == {"counting"}
    report, _ = record("plain", "--lines=json.encoder", "--lines=json")
    assert {row["function"] for row in report["lines"]} >= {"JSONEncoder"}
    assert all("/json/" in row["file"] for row in report["lines"])


def test_profile_in_the_program(cairn, counting, folder):
    (folder / "asks.py").write_text(
        "import functools\n"
        "def unasked(): return 1\n"
        "@profile\ndef asked(n):\n    return n + unasked()\n"
        "class A:\n"
        "    @profile\n    @staticmethod\n    def s(): return 2\n"
        "    @property\n    @profile\n    def p(self): return 3\n"
        "print(asked(1), A.s(), A().p)\n"
    )
    words = ["run", "--lines=nothing", "--report", "none", "-o", "x.cairn", "--python",
             counting.executable, "asks.py"]
    assert cairn(*words).expect().text == "2 2 3\n"
    report = cairn.report(folder / "x.cairn")
    names = {row["function"].split(".")[-1]: row["hits"] for row in report["lines"]}
    assert names == {"asked": 1, "s": 1, "p": 1}


def test_what_a_person_sees(cairn, python, folder):
    (folder / "program.py").write_text(
        "def f(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\nf(50)\n")
    shown = cairn("lines", "--python", python.executable, "-o", "x.cairn", "program.py").expect().talk
    assert re.search(r"^f, .*lines counted in .*program\.py$", shown, re.M), shown
    assert re.search(r"^ +3 +51 +\d+ +[\d.]+ +[\d.]+      for i in range\(n\):$", shown, re.M), shown
    assert "lines counted" in cairn("report", "--by", "line", "x.cairn").expect().text
    cairn("count", "--python", python.executable, "--report", "none", "-o", "y.cairn",
          "program.py").expect()  # fmt: skip
    report = cairn.report(folder / "y.cairn")
    assert [row["calls"] for row in report["rows"] if row["name"] == "f"] == [1]
    assert {row["line"]: row["hits"] for row in report["lines"] if row["function"] == "f"} == {
        2: 1, 3: 51, 4: 50, 5: 1}
    assert all(row["c_s"] is None and row["times"] != "measured" for row in report["lines"])
    for words, why in ((["--in", ""], "--in"), (["--in", "a"] * 33, "32")):
        ended = cairn("lines", *words, "program.py")
        assert ended.status == harness.USAGE and why in ended.talk


def test_multiprocessing_and_subprocesses(cairn, counting, folder):
    (folder / "many.py").write_text(
        "import multiprocessing, subprocess, sys\n"
        "def f(n):\n    return n + 1\n"
        "if __name__ == '__main__':\n"
        "    for way in ('fork', 'spawn'):\n"
        "        with multiprocessing.get_context(way).Pool(2) as pool:\n"
        "            assert pool.map(f, range(20)) == list(range(1, 21))\n"
        "            pool.close()\n            pool.join()\n"
        "    subprocess.run([sys.executable, '-c', 'def f(n):\\n  return n\\nf(1)'], check=True)\n"
    )
    cairn("lines", "--in", "f", "--python", counting.executable, "--report", "none", "-o", "x.cairn",
          "many.py").expect()  # fmt: skip
    hits = {}
    for row in cairn.report(folder / "x.cairn")["lines"]:
        name = (row["file"].rpartition("/")[2], row["line"])
        hits[name] = hits.get(name, 0) + row["hits"]
    assert hits == {("many.py", 3): 40, ("<string>", 2): 1}


def test_line_profiler_in_the_program_goes_on(cairn, counting, folder):
    """Its counters are its own, while lines of the same functions are recorded."""
    (folder / "both.py").write_text(
        "import json\nfrom cairn.line_profiler import LineProfiler\n"
        "def f(n):\n    n += 1\n    return n\n"
        "lines = LineProfiler(f)\nwith lines:\n    f(1); f(2)\n"
        "f(1)\n"
        "print(json.dumps([hits for _, hits, _ in lines.get_stats().timings.popitem()[1]]))\n"
    )
    ended = cairn("lines", "--in", "f", "--python", counting.executable, "--report", "none", "-o",
                  "x.cairn", "both.py", env={"PYTHONPATH": counting.package()}).expect()  # fmt: skip
    assert json.loads(ended.text) == [2, 2]
    report = cairn.report(folder / "x.cairn")
    assert [(row["line"], row["hits"]) for row in report["lines"]] == [(4, 3), (5, 3)]


@pytest.fixture
def lines_of(cairn, counting, folder):
    """Runs a program under `cairn lines`: {(function, line): hits}, and how it ended."""

    def run(text, *options, status=0, name="program.py", command="lines"):
        (folder / name).write_text(text)
        ended = cairn(command, *options, "--force", "--python", counting.executable, "--report",
                      "none", "-o", "x.cairn", name, env={"PYTHONPATH": counting.package()})  # fmt: skip
        ended.expect(status)
        hits = {}
        for row in cairn.report(folder / "x.cairn")["lines"]:
            key = (row["function"].split(".")[-1], row["line"])
            hits[key] = hits.get(key, 0) + row["hits"]
        return hits, ended

    return run


def test_a_child_that_can_have_no_file_lives_on(lines_of):
    hits, ended = lines_of(
        "import os, resource\n"
        "def f():\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        for i in range(9):\n"
        "            g()\n"
        "        os._exit(0)\n"
        "    return os.waitpid(pid, 0)[1]\n"
        "def g():\n    return 1\n"
        "g()\n"
        "print(f())\n"
    )
    assert ended.text == "0\n"
    assert hits["g", 11] == 1 and hits["f", 9] == 1


@pytest.mark.parametrize("count", [1, 2])
def test_children_that_meet_new_code_first(lines_of, count):
    """Nothing of theirs gets into the file of their parent."""
    hits, _ = lines_of(
        "import multiprocessing\n"
        "def f(n):\n    return n\n"
        "def g():\n    return 1\n"
        "def h():\n    return 2\n"
        "h()\n"
        f"with multiprocessing.get_context('fork').Pool({count}) as pool:\n"
        "    pool.map(f, range(30), 1)\n"
        "    pool.close()\n    pool.join()\n"
        "g(); h()\n"
    )
    assert hits["f", 3] == 30 and hits["g", 5] == 1 and hits["h", 7] == 2


def test_code_that_line_profiler_has_is_recorded_as_well(lines_of):
    hits, ended = lines_of(
        "from cairn.line_profiler import LineProfiler\n"
        "def f():\n    return 1\n"
        "def g(): return 2\n"
        "lines = LineProfiler(f)\n"
        "with lines: f()\n"
        "g()\n"
        "more = LineProfiler(g)\n"
        "with more: g(); g()\n"
        "print([rows[0][1] for one in (lines, more) for rows in one.get_stats().timings.values()])\n",
        "--in", "f",
    )  # fmt: skip
    assert ended.text == "[1, 2]\n" and hits == {("f", 3): 1}


def test_profile_of_what_has_run_already(lines_of):
    hits, _ = lines_of("def f():\n    return 1\nf()\nprofile(f)\nf(); f()\n", "--in", "nothing")
    assert hits == {("f", 2): 2}


def test_an_exception_that_is_on_its_way_stays(lines_of, folder):
    """A generator that is closed before it began is entered with one."""
    text = ("def g():\n    yield 1\n"
            "for how in ('close', 'throw'):\n"
            "    one = g()\n"
            "    try:\n"
            "        one.close() if how == 'close' else one.throw(KeyError(3))\n"
            "    except KeyError as e:\n        print(e)\n"
            "import gc; g(); gc.collect()\n")  # fmt: skip
    hits, ended = lines_of(text)
    assert ended.text == "3\n"
    name = b"caf\xe9.py".decode("utf-8", "surrogateescape")
    hits, ended = lines_of(text, name=name)
    assert ended.text == "3\n"


DEBUGGED = """import io, pdb, sys
def f(n):
    t = 0
    for i in range(n):
        t += i
    return t
pdb.Pdb(stdin=io.StringIO("step\\nnext\\nnext\\ncontinue\\n"), stdout=io.StringIO(),
        nosigint=True, readrc=False).runcall(f, 3)
f(2)
"""


def test_a_debugger_that_goes_on(lines_of):
    hits, _ = lines_of(DEBUGGED, "--in", "f")
    assert hits == {("f", 3): 2, ("f", 4): 7, ("f", 5): 5, ("f", 6): 2}


@pytest.mark.parametrize("options", [(), ("--opcodes",)])
def test_what_a_trace_function_raises_is_raised(lines_of, options):
    """Until 3.9 what the event of a line returns is forgotten where one of an instruction follows."""
    hits, ended = lines_of(
        "import sys\n"
        "def refuses(frame, event, arg):\n"
        "    if event == 'line' and frame.f_lineno == 8:\n"
        "        raise KeyError(frame.f_code.co_name)\n"
        "    return refuses\n"
        "def f():\n"
        "    n = 1\n"
        "    return n\n"
        "sys.settrace(refuses)\n"
        "try:\n    f()\n"
        "except KeyError as refused:\n    print(refused)\n"
        "print(sys.gettrace())\n"
        "f()\n",
        "--in", "f", *options,
    )  # fmt: skip
    assert ended.text == "'f'\nNone\n"
    assert hits["f", 7] == 2


def test_a_trace_function_that_is_set_within_a_frame_is_told(lines_of, cairn, counting):
    text = ("import sys\n"
            "def f():\n    sys.settrace(lambda *_: None)\n    return 1\n"
            "def g():\n    return 1\n"
            "f(); sys.settrace(None); g()\n")  # fmt: skip
    hits, _ = lines_of(text, "--in", "f", "--in", "g")
    assert hits["g", 6] == 1
    apart = counting.version >= (3, 12)
    assert cairn.report("x.cairn")["quality"]["displaced"] == (0 if apart else 1)
    assert hits.get(("f", 4)) == (1 if apart else None)
    lines_of(text.replace("    sys.settrace(lambda *_: None)\n", ""), "--in", "f", "--in", "g")
    assert cairn.report("x.cairn")["quality"]["displaced"] == 0


def test_another_profiler_in_the_program(lines_of):
    _, ended = lines_of(
        "import cProfile\n"
        "def f():\n    try:\n        cProfile.Profile().enable()\n    except ValueError:\n        pass\n"
        "def g(n):\n    return n and g(n - 1)\n"
        "f()\ng(50)\nprint('so')\n",
        command="count",
    )
    assert ended.text == "so\n"

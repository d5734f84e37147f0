"""cairn.line_profiler and `cairn kernprof`: hits are those of a tracer in Python, times are known,
text and files are those of line_profiler.
"""
import os
import pickle
import re
import shutil
import sys

import pytest

import harness

PROGRAM = """
import time

@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

@profile
class Thing:
    def method(self):
        return work(3)

    @property
    def half(self):
        return 1

@profile
def never():
    pass

print(work(10), Thing().method(), Thing().half)
"""


@pytest.fixture
def counting(interpreter):
    """An interpreter that there is a module for."""
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    return interpreter


def told(counting, what):
    command = counting.command("lined.py", counting.package(), what)
    return harness.execute(command, env=harness.Cairn("/").environment()).expect().last_json()


def test_hits_are_those_of_a_tracer_in_python(counting):
    found = told(counting, "counts")
    assert found["cairn"] == found["again"], "what ran while it was off does not count"
    assert len(found["cairn"]) == 12
    assert found["cairn"] == found["reference"]


def test_times_are_those_of_each_frame(counting):
    """line_profiler gives the line that recurses some microseconds, and other threads' time."""
    found = told(counting, "times")
    rows, (recursion_s, generators_s) = found["rows"], found["spent"]
    assert 0.02 <= rows["sleeps+2"] <= recursion_s
    assert 0.06 <= rows["sleeps+4"] <= 3 * recursion_s, "every level counts"
    assert 0.006 <= rows["slow_generator+2"] <= generators_s - 0.039
    assert 0.009 <= rows["slow_generator+4"] <= generators_s - 0.036
    # While the other sleeps nobody runs its line: 30 ms, beside the 15 ms of its own sleeps.
    assert rows["slow_generator+3"] <= generators_s - 0.045, rows
    assert 0.03 <= rows["drives_slowly+2"] <= generators_s
    assert 0.015 <= rows["drives_slowly+1"] <= generators_s - 0.03


def test_threads_are_not_mixed(counting):
    (sleeping, returning), spent_s = told(counting, "threads")
    assert sleeping[0] == returning[0] == 15
    assert 0.2 <= sleeping[1] <= spent_s and returning[1] <= spent_s - 0.2


# --- the commands ---


@pytest.fixture
def program(folder):
    (folder / "program.py").write_text(PROGRAM)
    return folder / "program.py"


def masked(text):
    """Without times."""
    text = re.sub(r"Total time: \S+ s", "Total time: T", text)
    text = re.sub(r"^( +\d+ +\d+) +\S+ +\S+ +\S+  ", r"\1 T  ", text, flags=re.M)
    return re.sub(r"^ +[\d.]+ seconds", "S seconds", text, flags=re.M)


def module(folder, name, *words, package=harness.ROOT / "build" / "python"):
    """`python -m NAME words` of the Python that runs the tests, which has the real tools."""
    environment = harness.Cairn(folder).environment(PYTHONPATH=str(package))
    return harness.execute([sys.executable, "-m", name, *words], env=environment, cwd=folder)


@pytest.mark.parametrize("words", [["-l", "-v"], ["-l", "-v", "-z"], ["-lv", "--summarize=yes"],
                                   ["-l", "-v", "-u", "1e-3"]])
def test_text_is_that_of_the_real_command(folder, program, words):
    real = module(folder, "kernprof", *words, program.name).expect()
    ours = module(folder, "cairn.kernprof", *words, program.name).expect()
    assert masked(ours.text) == masked(real.text)


def test_each_reads_what_the_other_wrote(folder, program):
    module(folder, "kernprof", "-l", "-o", "real.lprof", program.name).expect()
    module(folder, "cairn.kernprof", "-l", "-o", "ours.lprof", program.name).expect()
    for file in ("real.lprof", "ours.lprof"):
        real = module(folder, "line_profiler", "-m", "-t", file).expect().text
        ours = module(folder, "cairn.line_profiler", "-m", "-t", file).expect().text
        assert ours == real and "work at line" in ours
    both = module(folder, "cairn.line_profiler", "real.lprof", "ours.lprof").expect().text
    assert re.search(r"^ +7 +30 ", both, re.M), both


def test_a_file_that_would_run_something_does_not(folder):
    class Bad:
        def __reduce__(self):
            return (os.system, ("touch ran",))

    (folder / "bad.lprof").write_bytes(pickle.dumps(Bad()))
    (folder / "none.lprof").write_bytes(b"hello")
    (folder / "cut.lprof").write_bytes(pickle.dumps({"a": [1, 2, 3]})[:-3])
    for file, why in (("bad", "posix.system"), ("none", "no .lprof"), ("cut", "no .lprof")):
        ended = module(folder, "cairn.line_profiler", f"{file}.lprof")
        assert ended.status == harness.DAMAGED, ended.talk
        assert why in ended.talk and "Traceback" not in ended.talk
    assert not (folder / "ran").exists()


def test_the_commands(cairn, counting, program):
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    options = ["--python", counting.executable]
    shown = cairn("kernprof", *options, "-l", "-v", "-p", program, program.name).expect()
    assert "45 3 1" in shown.text and "Function: work at line 4" in shown.text
    file = cairn.folder / "program.py.lprof"
    again = cairn("line_profiler", *options, "-z", file).expect()
    assert "never" not in again.text and "Function: work" in again.text
    program.write_text("import sys; sys.exit(7)")
    cairn("kernprof", *options, "-l", program.name).expect(7)
    cairn("kernprof", *options, "-l").expect(2)


def test_modules_are_chosen_by_name(cairn, counting, program):
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    options = ["--python", counting.executable, "-l", "-v", "-z"]
    shown = cairn("kernprof", *options, "-p", "calendar", "-m", "calendar", "2026", "1").expect()
    assert "January 2026" in shown.text and re.search(r"Function: (\w+\.)?formatday ", shown.text)
    (cairn.folder / "data.json").write_text("[1, 2]")
    words = ["-p", "json.decoder,textwrap.dedent", "-m", "json.tool", "data.json"]
    shown = cairn("kernprof", *options, *words).expect()  # it closes its stdout
    said = shown.text + shown.talk
    assert re.search(r"Function: (JSONDecoder\.)?raw_decode ", said) and "dedent" not in said


def test_profile_in_a_program(counting, folder):
    """A decorator that does nothing until it is asked to."""
    if counting.chroot:
        pytest.skip("the folder is not in the chroot")
    (folder / "asks.py").write_text(
        "from cairn.line_profiler import profile\n"
        "@profile\ndef f(n):\n    return n + 1\n"
        "print(f(1), f.__name__)\n"
    )
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package())
    command = [counting.executable, "asks.py"]
    alone = harness.execute(command, env=environment, cwd=folder).expect()
    assert alone.text == "2 f\n" and len(list(folder.iterdir())) == 1
    asked = harness.execute(command, env={**environment, "LINE_PROFILE": "1"}, cwd=folder).expect()
    assert "asks.py:2 - f" in asked.text
    assert "     4         1 " in (folder / "profile_output.txt").read_text()
    assert (folder / "profile_output.lprof").exists()


EXPLICIT = """
from TOOL import profile
@profile
def f(n):
    return n + 1
@profile
def never():
    pass
print(f(1))
"""


@pytest.mark.parametrize("config", ["", "[tool.line_profiler.write]\noutput_prefix = 'other'\n"
                                    "text = false\n[tool.line_profiler.show]\nstripzeros = false\n"
                                    "details = true\n[tool.line_profiler.setup]\n"
                                    "environ_flags = ['LOOK']\n"])
def test_what_the_decorator_writes_is_what_the_real_one_writes(folder, config):
    """In the folder, and on stdout; a file that Cairn finds may say how, as with the real one."""
    found = {}
    for tool in ("line_profiler", "cairn.line_profiler"):
        place = folder / tool
        place.mkdir()
        (place / "pyproject.toml").write_text(config)
        (place / "program.py").write_text(EXPLICIT.replace("TOOL", tool))
        environment = harness.Cairn(folder).environment(
            PYTHONPATH=str(harness.ROOT / "build" / "python"), LOOK="1", LINE_PROFILE="1" if not config else ""
        )
        command = [sys.executable, "program.py"]
        text = harness.execute(command, env=environment, cwd=place).expect().text
        text = masked(text.replace(str(place), "/HERE").replace("-m cairn.", "-m "))
        day = re.compile(r"_\d{4}-\d\d-\d\dT\d{6}")
        text = re.sub(r"(?m)^\S+( -m line_profiler)", r"python\1", day.sub("_DAY", text))
        files = sorted(day.sub("_DAY", file.name) for file in place.iterdir() if file.is_file())
        plain = [masked(file.read_text().replace(str(place), "/HERE")) for file in sorted(place.glob("*.txt"))]
        found[tool] = (text, files, plain)
    assert found["cairn.line_profiler"] == found["line_profiler"]


def test_a_found_file_does_not_say_what_is_run(folder, program):
    """A folder may be somebody else's; one that is named, by words or the environment, is one's own."""
    (folder / "pyproject.toml").write_text(
        "[tool.line_profiler.kernprof]\nsetup = 'other.py'\noutfile = 'other.lprof'\n"
        "line-by-line = true\n"
    )
    (folder / "other.py").write_text("print('ran')\n")
    ended = module(folder, "cairn.kernprof", program.name).expect()
    assert "ran" not in ended.text and "may not say `setup`" in ended.talk
    assert (folder / "program.py.lprof").exists() and not (folder / "other.lprof").exists()
    ended = module(folder, "cairn.kernprof", "--config", "pyproject.toml", program.name).expect()
    assert "ran" in ended.text and (folder / "other.lprof").exists() and ended.talk == ""
    ended = module(folder, "cairn.kernprof", "--no-config", "-b", program.name).expect()
    assert (folder / "program.py.prof").exists() and ended.talk == ""


def test_words_that_do_nothing_say_so(cairn, counting, program):
    """On every version: no TOML is read until 3.10, unless tomli is there."""
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    (cairn.folder / "some.toml").write_text("[tool.line_profiler.kernprof]\nskip-zero = true\n")
    words = ["--python", counting.executable, "--config", "some.toml", "-l", "-v", "--prof-imports"]
    ended = cairn("kernprof", *words, program.name).expect()
    assert "--prof-imports does nothing here" in ended.talk
    assert ("never" in ended.text) == ("is not read" in ended.talk)
    assert counting.version < (3, 11) or "never" not in ended.text


def test_a_program_that_fails_shows_its_own_frames(cairn, python, program):
    program.write_text("@profile\ndef f():\n    raise KeyError\ndef g():\n    f()\ng()\n")
    ended = cairn("kernprof", "--python", python.executable, "-l", program.name)
    assert ended.status == 1
    assert "KeyError" in ended.talk and "kernprof" not in ended.talk
    assert "line 6, in <module>" in ended.talk and "line 5, in g" in ended.talk
    assert (cairn.folder / "program.py.lprof").exists()


def test_an_old_profile_outlives_a_slip(cairn, python, program):
    (cairn.folder / "old").write_text("precious")
    for words in (["kernprof", "-l"], ["cprofile"]):
        ended = cairn(words[0], "--python", python.executable, *words[1:], "-o", "old", "typo.py")
        assert ended.status != 0 and "typo.py" in ended.talk
        assert (cairn.folder / "old").read_text() == "precious"


def test_classes_that_are_members_of_others_are_left_alone(counting, folder):
    (folder / "classes.py").write_text(
        "import functools\nfrom cairn.line_profiler import LineProfiler\n"
        "class Other:\n    def f(self): return 1\n"
        "before = Other.f\n"
        "lines = LineProfiler()\n"
        "@lines\nclass Form:\n"
        "    model = Other\n"
        "    class Meta:\n        def g(self): return 2\n"
        "    def h(self, n): return n\n"
        "    part = functools.partialmethod(h, 3)\n"
        "Other.form = Form\n"
        "Form().part(), Form.Meta().g(), Other().f()\n"
        "assert Other.f is before\n"
        "print(sorted((key[2].split('.')[-1], rows[0][1]) for key, rows in\n"
        "             lines.get_stats().timings.items() if rows))\n"
    )
    if counting.chroot:
        pytest.skip("the folder is not in the chroot")
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package())
    ended = harness.execute([counting.executable, folder / "classes.py"], env=environment).expect()
    assert ended.text == "[('g', 1), ('h', 1)]\n"


NAMESPACES = """
import json, json.decoder, textwrap
from TOOL import LineProfiler
def added(of, what):
    profiler = LineProfiler()
    count = getattr(profiler, of)(what)
    return [count, sorted(f.__qualname__ for f in profiler.functions)]
print(json.dumps([added("add_module", json.decoder), added("add_module", textwrap),
                  added("add_class", textwrap.TextWrapper)]))
"""


def test_how_much_is_in_a_module_is_what_the_real_one_says(folder):
    """Its members: a class is one, whatever it has."""
    said = []
    for tool in ("line_profiler", "cairn.line_profiler"):
        (folder / "spaces.py").write_text(NAMESPACES.replace("TOOL", tool))
        said.append(module(folder, "spaces").expect().last_json())
    assert said[0] == said[1] and said[0][0][0] == 6


def test_other_tools_go_on(counting, folder):
    """A tracer and cProfile of the program's own have the numbers that they have alone."""
    (folder / "both.py").write_text(
        "import cProfile, sys, threading\n"
        "def inner():\n    return 1\n"
        "def outer():\n    for _ in range(5):\n        inner()\n"
        "seen = []\n"
        "def trace(frame, event, arg):\n"
        "    if frame.f_code in (inner.__code__, outer.__code__):\n"
        "        seen.append((frame.f_code.co_name, event, frame.f_lineno))\n"
        "        return trace\n"
        "def both():\n"
        "    seen.clear()\n    sys.settrace(trace)\n    outer()\n    sys.settrace(None)\n"
        "    profile = cProfile.Profile()\n    profile.runcall(outer)\n"
        "    calls = sorted((e.callcount for e in profile.getstats() if not isinstance(e.code, str)))\n"
        "    return list(seen), calls\n"
        "alone = both()\n"
        "from cairn.line_profiler import LineProfiler\n"
        "lines = LineProfiler(outer)\n"
        "with lines:\n    beside = both()\n"
        "assert alone == beside, (alone, beside)\n"
        "[rows] = lines.get_stats().timings.values()\n"
        "assert [hits for _, hits, _ in rows] == [12, 10], rows\n"
    )
    if counting.chroot:
        pytest.skip("the folder is not in the chroot")
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package())
    harness.execute([counting.executable, folder / "both.py"], env=environment).expect()


DECORATED = """
import sys
from cairn.line_profiler import LineProfiler

lines = LineProfiler()
log = []

def told(*words):
    log.append((*words, lines.enable_count))

@lines
def numbers():
    for i in range(2):
        told("runs", i)
        try:
            got = yield i
        except KeyError:
            got = "caught"
        told("got", got)
    return "over"

assert lines(numbers) is numbers and lines(len) is len and len(lines.functions) == 1
made = numbers()
assert next(made) == 0
told("suspended")
assert made.send("sent") == 1
told("suspended")
try:
    made.throw(KeyError())
except StopIteration as over:
    assert over.value == "over"
left = numbers()
next(left)
left.close()
told("over")
assert log == [("runs", 0, 1), ("suspended", 0), ("got", "sent", 1), ("runs", 1, 1), ("suspended", 0),
               ("got", "caught", 1), ("runs", 0, 1), ("over", 0)], log

@lines
async def asked():
    for i in range(2):
        told("asked", i)
        yield i

async def asks():
    async for i in asked():
        told("between", i)

del log[:]
try:
    asks().send(None)
except StopIteration:
    pass
assert log == [("asked", 0, 1), ("between", 0, 0), ("asked", 1, 1), ("between", 1, 0)], log

def helper():
    return 1

@lines
class Thing:
    lent = staticmethod(helper)
    def own(self):
        return self.lent()

assert Thing.lent is helper and Thing().own() == 1
"""


def test_what_is_decorated_counts_while_it_runs(counting, folder):
    """line_profiler's own tests of it take minutes: test_tools_own_tests.py."""
    if counting.chroot:
        pytest.skip("the folder is not in the chroot")
    (folder / "decorated.py").write_text(DECORATED)
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package())
    harness.execute([counting.executable, folder / "decorated.py"], env=environment).expect()


WORKERS = """
import multiprocessing
from cairn.line_profiler import profile

@profile
def work(n):
    return n + 1

if __name__ == "__main__":
    context = multiprocessing.get_context("METHOD")
    process = context.Process(target=work, args=(1,))
    process.start()
    process.join()
    work(1)
    print("PARENT")
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_worker_writes_nothing_over_its_parents_file(counting, folder, method):
    if counting.chroot:
        pytest.skip("the folder is not in the chroot")
    (folder / "workers.py").write_text(WORKERS.replace("METHOD", method))
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package(), LINE_PROFILE="1")
    ended = harness.execute([counting.executable, "workers.py"], env=environment, cwd=folder).expect()
    assert ended.text.count("Wrote profile results to profile_output.lprof") == 1


def test_with_counts_of_calls_the_decorator_works_too(cairn, counting):
    """kernprof -b without -l: `profile` of line_profiler's is the profiler that runs."""
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    (cairn.folder / "explicit.py").write_text(
        "from cairn.line_profiler import profile\n"
        "@profile\ndef seen():\n    return 1\n"
        "seen()\nseen()\n"
    )
    cairn("kernprof", "--python", counting.executable, "-b", "-o", "x.prof", "explicit.py").expect()
    assert re.search(r" 2 .*\(seen\)", cairn("pstats", "x.prof", data=b"stats\n").expect().text)
    ended = cairn("kernprof", "--python", counting.executable, "-l", "-p", "nothing_here", "explicit.py").expect()
    assert "1 profiling target not found: ['nothing_here']" in ended.talk

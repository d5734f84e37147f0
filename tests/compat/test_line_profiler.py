"""cairn.line_profiler and `cairn kernprof`: hits are those of a tracer in Python, times are known,
text and files are those of line_profiler.
"""
import json
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


IMPORTS = {
    "kit/__init__.py": "from .parts import part\ndef packed(): pass\n",
    "kit/tool.py": "import side\ndef used(n): return n\ndef spare(): pass\nclass Thing:\n    def m(self): pass\n",
    "kit/parts.py": "def part(): pass\nclass A:\n    def a(self): pass\nclass B:\n    def b(self): pass\nA.made = B\n",
    "side/__init__.py": "from .deep import aside\n",
    "side/deep.py": "def aside(): pass\ndef deep(): pass\n",
    "program.py": """from __future__ import annotations
import sys
early = sorted({"kit", "side"} & set(sys.modules))
from kit import tool as other, \\
    packed
try:
    import side
    from nowhere import nothing
except ImportError: from side import aside
def inside():
    import kit.tool as again; again.used(2)
    return again
print(early, other.used(1), inside().Thing().m(), packed(), aside())
""",
}


def write_imports(folder):
    (folder / "kit").mkdir()
    (folder / "side").mkdir()
    for name, text in IMPORTS.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("options, found", [
    (["--no-preimports", "-p", "kit.tool"], ["Thing.m", "spare", "used"]),
    (["--no-preimports", "-p", "kit.tool.used,side"], ["aside", "deep", "used"]),
    (["--no-preimports", "-p", "kit.packed,absent"], ["packed"]),
    (["--no-preimports", "-p", "kit.parts"], []),
    (["-p", "kit.parts"], ["A.a", "B.b", "part"]),
    (["--no-preimports", "-p", "kit"], ["Thing.m", "packed", "spare", "used"]),
    (["--no-preimports", "-p", "side"], ["aside", "deep"]),
    (["--prof-imports", "-p", "program.py"], ["Thing.m", "aside", "deep", "inside", "packed", "spare", "used"]),
    (["--prof-imports", "-p", "side"], ["aside", "deep"])])  # fmt: skip
def test_what_is_imported_is_profiled_when_the_program_imports_it(cairn, counting, options, found):
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    write_imports(cairn.folder)
    for kind in (["program.py"], ["-m", "program"]):
        ended = cairn("kernprof", "--python", counting.executable, "-l", "-v", *options, *kind).expect()
        early = [] if "--no-preimports" in options or options[-1] == "program.py" else \
            ["side"] if options[-1] == "side" else ["kit"] if "parts" in options[-1] else ["kit", "side"]
        assert ended.text.splitlines()[0] == f"{early} 1 None None None" and not ended.talk
        shown = re.findall(r"^Function: (\S+) ", ended.text, re.M)
        assert sorted(shown) == [counting.name(name) for name in found] or counting.version < (3, 11)
        assert len(shown) == len(found)
        hits = re.findall(r"^ +\d+ +(\d+) .*def used\(n\)", ended.text, re.M)
        assert hits == (["2"] if "used" in found else [])


STRANGE = {
    "odd.py": """import functools, sys, types
class Lazy:
    # As Django's: what it is to stand for is made when somebody asks.
    @property
    def __class__(self):
        raise RuntimeError("too early")
class Meta(type):
    @property
    def __module__(cls):
        raise RuntimeError("nowhere")
Named = Meta("Named", (), {})
lazy = Lazy()
asked = []
def __getattr__(name):
    asked.append(name)
    if name.startswith("__"):
        raise AttributeError(name)
    return made
def made(): return 1
def plain(): return 2
class Holds:
    lazy = lazy
    def m(self): return 3
""",
    "program.py": """from odd import asked, lazy, late, Named
import odd
def own(): pass
print(late(), odd.plain(), odd.Holds().m(), sum(name == "late" for name in asked))
""",
}

ODD = ["Holds.m", "Lazy.__class__", "__getattr__", "made", "plain"]


@pytest.mark.parametrize("options, found", [
    (["-p", "odd"], ODD),
    (["--no-preimports", "-p", "odd"], ODD),
    (["--no-preimports", "-p", "odd.late"], ["made"]),
    (["--no-preimports", "-p", "odd.lazy"], []),
    (["--prof-imports", "-p", "program.py"], [*ODD, "own"])])  # fmt: skip
def test_what_a_module_holds_is_not_asked_what_it_is(cairn, counting, options, found):
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    for name, text in STRANGE.items():
        (cairn.folder / name).write_text(text)
    ended = cairn("kernprof", "--python", counting.executable, "-l", "-v", *options, "program.py").expect()
    assert ended.text.splitlines()[0] == "1 2 3 1" and not ended.talk
    shown = re.findall(r"^Function: (\S+) ", ended.text, re.M)
    assert sorted(shown) == sorted(counting.name(name) for name in found)


HOT = """import time
def imports():
    import json
    from os.path import join
    from kit import tool, packed as other
    return 1
def timed(times):
    began = time.perf_counter()
    for _ in range(times):
        imports()
    return (time.perf_counter() - began) / times
timed(5)
print(min(timed(50) for _ in range(20)))
"""


@pytest.mark.parametrize("options", [["--prof-imports", "-p", "program.py"], ["--no-preimports", "-p", "json"]])
def test_an_import_that_was_heard_of_costs_no_more(cairn, counting, folder, options):
    """It was 400 us each: all of sys.modules was looked through, and its members added once more."""
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    write_imports(cairn.folder)
    (cairn.folder / "program.py").write_text(HOT)
    words = ["kernprof", "--python", counting.executable, "-l", *options, "program.py"]
    assert float(cairn(*words).expect().text.splitlines()[0]) < 50e-6


def test_a_program_whose_imports_cannot_be_heard_of_runs(cairn, counting):
    if counting.chroot:
        pytest.skip("the command cannot start a Python in another root folder")
    source = cairn.folder / "bare.py"
    source.write_text("import json\nprint(json.dumps(1))\n")
    make = f"import py_compile; py_compile.compile({str(source)!r}, {str(source) + 'c'!r})"
    harness.execute([counting.executable, "-c", make]).expect()
    source.unlink()
    words = ["kernprof", "--python", counting.executable, "-l", "--no-preimports", "-p", "json"]
    ended = cairn(*words, "-m", "bare").expect()
    assert ended.text.startswith("1\nWrote profile results")
    assert ended.talk.count("what bare imports is not profiled as it imports it: ") == 1
    assert len(ended.talk.splitlines()) == 1
    (cairn.folder / "long.py").write_text(f"import json\nx = {'+'.join(['1'] * 900)}\nprint(json.dumps(x))\n")
    ended = cairn(*words, "long.py").expect()
    assert ended.text.startswith("900\nWrote profile results") and len(ended.talk.splitlines()) < 2


ANNOTATED = """def before(): return 1
x: int = 1
class Box:
    side: int = 2
    def method(self): return self.side
    top: int = 3
y: int = before() + Box().method()
print(y)
"""


def test_annotations_are_no_functions(counting):
    """From 3.14 on the compiler makes code of them, which spans from the first to the last."""
    code = f"""import sys
sys.path.insert(0, sys.argv[1])
from cairn import line_profiler
lines = line_profiler.LineProfiler()
lines.add_functions_of(compile({ANNOTATED!r}, "program.py", "exec"))
print(sorted(key[2] for key in lines.get_stats().timings))"""
    inside = ["chroot", counting.chroot] if counting.chroot else []
    ended = harness.execute([*inside, counting.executable, "-c", code, counting.package()]).expect()
    assert ended.text == f"{sorted(counting.name(name) for name in ('Box.method', 'before'))}\n"


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
    words = ["--python", counting.executable, "--config", "some.toml", "-l", "-v"]
    ended = cairn("kernprof", *words, program.name).expect()
    assert ("never" in ended.text) == ("is not read" in ended.talk)
    assert counting.version < (3, 11) or "never" not in ended.text


def test_a_program_that_fails_shows_its_own_frames(cairn, python, program):
    program.write_text("@profile\ndef f():\n    raise KeyError\ndef g():\n    f()\ng()\n")
    ended = cairn("kernprof", "--python", python.executable, "-l", program.name)
    assert ended.status == 1
    assert "KeyError" in ended.talk and "kernprof" not in ended.talk
    assert "line 6, in <module>" in ended.talk and "line 5, in g" in ended.talk
    assert (cairn.folder / "program.py.lprof").exists()


def test_a_program_finds_no_descriptor_of_ours(cairn, python, program):
    """And may close what is not there, as a daemon does."""
    program.write_text("import os\nprint(os.dup(1), flush=True)\nos.closerange(3, 999)\n")
    plain = harness.execute([python.executable, program]).expect().text
    ended = cairn("kernprof", "--python", python.executable, "-l", program.name).expect()
    assert ended.text.startswith(plain) and ended.talk == ""


def test_an_old_profile_outlives_a_slip(cairn, python, program):
    (cairn.folder / "old").write_text("precious")
    for words in (["kernprof", "-l"], ["cprofile"]):
        ended = cairn(words[0], "--python", python.executable, *words[1:], "-o", "old", "typo.py")
        assert ended.status != 0 and "typo.py" in ended.talk
        assert (cairn.folder / "old").read_text() == "precious"


OF_A_CLASS = """
@profile
class K:
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def plain(): return 3
    def m(self): return 1
    class In:
        def q(self): return 2

k = K.make()
assert isinstance(k, K) and (k.m(), K.plain(), K.In().q()) == (1, 3, 2)
assert profile.wrap_callable(K) is K
"""


def test_a_class_that_is_decorated_stays_one(cairn, counting, folder):
    """With calls as with lines; each of what is defined in it counts."""
    if counting.chroot:
        pytest.skip("--python names a file of this system, not one in a chroot")
    (folder / "kc.py").write_text(OF_A_CLASS)
    calls = cairn("kernprof", "--python", counting.executable, "-b", "-v", "kc.py", cwd=folder).expect().text
    for name, line in [("make", 3), ("plain", 5), ("m", 7), ("q", 9)]:
        assert re.search(rf"^ +1 .*kc\.py:({line}|{line + 1})\({name}\)$", calls, re.M), calls
    lines = cairn("kernprof", "--python", counting.executable, "-l", "-v", "kc.py", cwd=folder).expect().text
    assert len(re.findall(r"^Function: (K\.)?(make|plain|m|(In\.)?q) at line", lines, re.M)) == 4, lines


def test_what_is_to_be_run_before_and_is_not_there(cairn, counting, folder):
    if counting.chroot:
        pytest.skip("--python names a file of this system, not one in a chroot")
    (folder / "kp.py").write_text("print(1)\n")
    (folder / "kp.py.lprof").write_text("old")
    (folder / "fails.py").write_text("1 / 0\n")
    for setup, said in [("nosuch.py", "Could not find script 'nosuch.py'"), ("fails.py", "ZeroDivisionError")]:
        ended = cairn("kernprof", "--python", counting.executable, "-l", "-s", setup, "kp.py", cwd=folder)
        assert said in ended.expect(1).talk
        assert (folder / "kp.py.lprof").read_text() == "old"


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


SCOPES = {
    "pack/__init__.py": "from . import one, two\nfrom .one import f\ndef top(): pass\n",
    "pack/one.py": "import json\nfrom functools import partial\n\ndef f(): pass\nclass Base:\n    def b(self): pass\n",
    "pack/two.py": "import pack\nfrom . import one\nfrom .one import Base, f\nfrom textwrap import dedent, TextWrapper\n"
                   "def g(): pass\ndef lent(self): pass\n"
                   "class Thing(Base):\n    lent = lent\n    of_another = f\n    other = Base\n    wrapper = TextWrapper\n"
                   "    def m(self): pass\n    half = property(m)\n    same = staticmethod(g)\n"
                   "    class Inner:\n        def i(self): pass\n        class Deep:\n            def d(self): pass\n"
                   "    later = Inner.Deep\nThing.Inner.Deep.back = Thing\n",
    "scopes.py": """
import json
import pack.two
from TOOL import LineProfiler
def added(of, what, policy):
    profiler = LineProfiler()
    count = getattr(profiler, of)(what, scoping_policy=policy)
    return [count, sorted({f.__qualname__ for f in profiler.functions})]
policies = ["exact", "children", "Descendants", "siblings", {"func": "none", "class": "exact", "module": "exact"},
            {"func": "exact", "class": "exact", "module": "siblings"}]
print(json.dumps([added(of, what, policy) for policy in policies for of, what in (
    ("add_module", pack if "siblings" not in str(policy) else pack.one), ("add_module", pack.one), ("add_module", pack.two), ("add_class", pack.two.Thing),
    ("add_class", pack.two.Thing.Inner))]))
for wrong in ("no such", {"func": "exact"}):
    try:
        LineProfiler().add_module(pack, scoping_policy=wrong)
    except (KeyError, ValueError) as failure:
        print(type(failure).__name__)
""",
}


def test_scoping_policies_mean_what_they_mean_to_the_real_one(folder):
    (folder / "pack").mkdir()
    said = []
    for tool in ("line_profiler", "cairn.line_profiler"):
        for name, text in SCOPES.items():
            (folder / name).write_text(text.replace("TOOL", tool))
        said.append(module(folder, "scopes").expect().text.splitlines())
    assert said[0][1:] == said[1][1:] == ["ValueError", "KeyError"]
    for real, ours in zip(*(json.loads(lines[0]) for lines in said)):
        assert ours == real
    assert len(json.loads(said[0][0])) == 30


AUTOPROFILE = {
    "helper.py": "def helps(n):\n    return n + 1\n\ndef idle():\n    pass\n",
    "other.py": "def others():\n    return 5\n",
    "script.py": """
import helper
from other import others

def work(n):
    for i in range(n):
        n = helper.helps(n)
    return n + others()

class Thing:
    def method(self):
        return given + work(2)

print(Thing().method())
""",
    "runs.py": """
import json, os, sys
from TOOL import LineProfiler
from TOOL.autoprofile import autoprofile
from TOOL.autoprofile.autoprofile import run
assert run is autoprofile.run
for targets, imports, as_module in (["script.py"], False, False), (["helper"], False, False), (
        ["other.others"], False, False), (["script.py"], True, False), (["script.py"], False, True):
    sys.modules.pop("helper", None)
    sys.modules.pop("other", None)
    profiler = LineProfiler()
    main = sys.modules["__main__"]
    run("script.py", {"prof": profiler, "profile": profiler, "given": 1}, targets, imports, as_module)
    assert sys.modules["__main__"] is main
    print(json.dumps(sorted(
        (os.path.basename(file), first, name, [(line, hits) for line, hits, _ in lines])
        for (file, first, name), lines in profiler.get_stats().timings.items())))
try:
    run("script.py", {"prof": LineProfiler()}, [])
except NameError as failure:
    print(failure)
""",
}


def test_a_script_is_run_as_autoprofile_runs_it(folder):
    said = []
    for tool in ("line_profiler", "cairn.line_profiler"):
        for name, text in AUTOPROFILE.items():
            (folder / name).write_text(text.replace("TOOL", tool))
        said.append(module(folder, "runs").expect().text.splitlines())
    assert len(said[0]) == 11 and said[1] == said[0]


def test_and_so_on_every_python(counting, folder):
    if counting.chroot:
        pytest.skip("the programs are written into a folder that is in no chroot")
    for name, text in AUTOPROFILE.items():
        (folder / name).write_text(text.replace("TOOL", "cairn.line_profiler"))
    environment = harness.Cairn(folder).environment(PYTHONPATH=counting.package())
    command = [counting.executable, "runs.py"]
    lines = harness.execute(command, cwd=folder, env=environment).expect().text.splitlines()
    work = ["script.py", 5, "work", [[6, 3], [7, 2], [8, 1]]]
    method = ["script.py", 11, "Thing.method" if counting.version >= (3, 11) else "method", [[12, 1]]]
    assert json.loads(lines[1]) == sorted([work, method])
    assert json.loads(lines[3]) == [["helper.py", 1, "helps", [[2, 2]]], ["helper.py", 4, "idle", []]]


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

"""cairn.profilehooks: the text is that of profilehooks, the numbers are those of the program."""
import re
import shutil
import sys
from pathlib import Path

import pytest

import harness

BODY = """
import sys, time
from {module} import {names}

{rest}
"""
FACTORIAL = """
def fact(n):
    '''n!'''
    if n < 2:
        return 1
    return n * fact(n - 1)
"""
PROFILED = {
    "plain": ("profile", "@profile(sort='stdname')" + FACTORIAL + "print(fact(5), fact(3))"),
    # By time: it sleeps for longer than the end of profiling takes, be that put off its processor.
    "bare": ("profile", "@profile\ndef f(): time.sleep(0.3)\nf()"),
    "skip": ("profile", "@profile(skip=1, sort='stdname')" + FACTORIAL + "print(fact(2), fact(4))"),
    "immediate": (
        "profile",
        "@profile(immediate=True, sort=['calls', 'stdname'], entries=1)\n"
        "def f(n):\n    return [len('ab') for _ in range(n)]\nprint(f(3)); print(f(2))",
    ),
    "nested": (
        "profile",
        "@profile(sort='stdname')\ndef inner():\n    return len('abc')\n"
        "@profile(sort='stdname')\ndef outer():\n    return inner() + inner()\n"
        "print(outer(), inner(), outer.__name__, outer.__wrapped__.__name__)",
    ),
    "methods": (
        "profile",
        "class A:\n    @profile(sort='stdname', dirs=True)\n    def f(self, x):\n"
        "        return sorted(x)\n"
        "print(A().f([2, 1]))",
    ),
    "quiet": ("profile", "@profile(stdout=False)" + FACTORIAL + "print(fact(3))"),
    "stream": ("profile", "@profile(stdout=sys.stderr, sort='stdname')" + FACTORIAL + "fact(3)"),
    "raises": (
        "profile",
        "@profile(sort='stdname')\ndef bad():\n    raise KeyError(1)\n"
        "try:\n    bad()\nexcept KeyError:\n    print('so')",
    ),
    "others within": (
        "profile, timecall, coverage",
        "@timecall(immediate=False)\ndef timed(): time.sleep(0.01)\n"
        "@coverage\ndef covered():\n    return 1\n"
        "@profile(skip=1, stdout=False)\ndef skipping(): pass\n"
        "@profile(sort='stdname')\ndef outer():\n    timed(); covered(); skipping()\n"
        "outer(); skipping()",
    ),
    "unknown": (
        "profile",
        "try:\n    profile(profiler='hotshot')(len)\nexcept ValueError as e:\n    print('refused')",
    ),
}
TIMED = {
    "each": ("timecall", "@timecall" + FACTORIAL + "fact(2)"),
    "summary": ("timecall", "@timecall(immediate=False)" + FACTORIAL + "fact(3)"),
    "timer": (
        "timecall",
        "ticks = iter(range(100))\n@timecall(timer=lambda: next(ticks))\ndef f(): pass\nf(); f()",
    ),
    "logged": (
        "timecall",
        "import logging\nlogging.basicConfig(level=10, format='%(name)s %(levelname)s %(message)s')\n"
        "@timecall(log_name='mine', log_level=20)\ndef f(): pass\nf()",
    ),
    "never": ("timecall", "@timecall(immediate=False)\ndef f(): pass"),
}
COVERED = {
    "lines": (
        "coverage",
        "@coverage\ndef f(n):\n    '''Text\n    of two lines.'''\n    for i in range(n):\n"
        "        if i > 100:\n            print('never')\n        else:\n            i += 1\n"
        "    try:\n        return n\n    finally:\n        n = 0\n"
        "f(3); f(4)",
    ),
    "recursion": ("coverage", "@coverage" + FACTORIAL + "fact(5)"),
    "not called": ("coverage", "@coverage" + FACTORIAL),
}


class Place:
    """A folder that an interpreter sees, and runs programs in."""

    def __init__(self, interpreter, folder):
        self.interpreter = interpreter
        self.seen = folder
        self.folder = Path(interpreter.chroot + str(folder))
        self.folder.mkdir(parents=True, exist_ok=True)

    def python(self, *words, path=""):
        chroot = ["chroot", self.interpreter.chroot] if self.interpreter.chroot else []
        environment = harness.Cairn(self.folder).environment(PYTHONPATH=str(path))
        command = [*chroot, "env", "-C", self.seen, self.interpreter.executable, *words]
        return harness.execute(command, env=environment).expect()

    def run(self, module, names, rest):
        """(stdout, stderr) of a program that takes `names` from the module."""
        (self.folder / "program.py").write_text(BODY.format(module=module, names=names, rest=rest))
        path = self.seen / "peer" if module == "profilehooks" else self.interpreter.package()
        ended = self.python("program.py", path=path)
        return masked(ended.text), masked(ended.talk)


@pytest.fixture
def place(interpreter, folder):
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    place = Place(interpreter, folder)
    # The real module is one file: so every interpreter has it.
    found = harness.execute(
        [sys.executable, "-c", "import profilehooks; print(profilehooks.__file__)"]).expect()
    (place.folder / "peer").mkdir()
    shutil.copy(found.text.strip(), place.folder / "peer")
    yield place
    if interpreter.chroot:
        shutil.rmtree(place.folder)


# What the decorators themselves call where one is within another's profile.
MACHINERY = [r"profilehooks\.py:\d+", r"trace\.py:\d+\(runfunc\)", r"method sys\.[gs]ettrace", "_lsprof",
             r"_thread\.RLock", r"cairn\._exact", r"method builtins\.len"]  # fmt: skip


def masked(text):
    """Without times, and without the wrappers: within a profiled call ours is one, theirs are two."""
    text = re.sub(r"\d+\.\d+ seconds", "T seconds", text)
    text = re.sub(r" +\d+\.\d\d\d(?= )", " T", text)
    if re.search(r"profilehooks\.py:\d+", text):
        text = re.sub(rf".*({'|'.join(MACHINERY)}).*\n", "", text)
        text = re.sub(r"\d+ function calls( \(\d+ primitive calls\))?", "N function calls", text)
    return text


@pytest.mark.parametrize("name", [*PROFILED, *TIMED, *COVERED])
def test_text_is_that_of_the_real_one(place, name):
    names, rest = {**PROFILED, **TIMED, **COVERED}[name]
    real = place.run("profilehooks", names, rest)
    ours = place.run("cairn.profilehooks", names, rest)
    assert ours == real


def test_the_file_is_one_that_pstats_reads(place):
    rest = "@profile(filename='out.prof', stdout=False)" + FACTORIAL + "fact(5)"
    place.run("cairn.profilehooks", "profile", rest)
    text = ("import pstats; print([v[:2] for k, v in pstats.Stats('out.prof').stats.items() "
            "if k[2] == 'fact'])")
    assert place.python("-c", text).text == "[(1, 5)]\n"


def test_a_function_in_two_threads_is_counted_in_both(place):
    """The real one leaves out calls that begin while another thread's runs."""
    rest = (
        "import threading\n"
        "inside, told = threading.Event(), threading.Event()\n"
        "def helper(): pass\n"
        "@profile(sort='stdname')\ndef work(first):\n"
        "    for _ in range(10): helper()\n"
        "    if first:\n        inside.set(); told.wait()\n    else:\n        told.set()\n"
        "thread = threading.Thread(target=work, args=(True,))\n"
        "thread.start(); inside.wait(); work(False); thread.join()"
    )
    real, _ = place.run("profilehooks", "profile", rest)
    ours, _ = place.run("cairn.profilehooks", "profile", rest)
    assert "function called 2 times" in real and "function called 2 times" in ours
    if place.interpreter.version < (3, 12):  # from then on its cProfile sees all threads
        assert re.search(r"^ +10 .*\(helper\)", real, re.M), "the peer's number, which is wrong"
    assert re.search(r"^ +20 .*\(helper\)", ours, re.M), ours
    assert re.search(r"^ +2 .*\(work\)", ours, re.M), ours


def test_the_body_of_a_generator_is_covered(place):
    """The real one traces the call, which only makes the generator."""
    rest = "@coverage\ndef f(n):\n    for i in range(n):\n        yield i\nprint(sum(f(4)))"
    real, _ = place.run("profilehooks", "coverage", rest)
    ours, _ = place.run("cairn.profilehooks", "coverage", rest)
    assert ">>>>>>         yield i" in real, "the peer's, which is wrong"
    assert "    4:         yield i" in ours and ">>>>>>" not in ours


def test_as_a_module(place):
    (place.folder / "asks.py").write_text("@profile\ndef f(): return 1\nprint(f())\n")
    path = f"{place.interpreter.package()}:{place.seen}"
    ended = place.python("-m", "cairn.profilehooks", "asks", path=path)
    assert "Injected `profilehooks`" in ended.text and "function called 1 times" in ended.text

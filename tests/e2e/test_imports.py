"""`cairn imports`: the modules are those of `python -X importtime`, the times those of programs that
know theirs, and the program is what it is without."""
import json
import re
import sys

import pytest

import harness
from harness import execute

MANY = "import decimal, xml.dom.minidom, concurrent.futures, email.message\n" \
       "try:\n    import no_such_module\nexcept ImportError:\n    pass\n"
# Each says how long the import of another took.
CLOCK = "import time\nbegin = time.perf_counter()\n"
SLEEPS = {
    "main.py": "import json, sys\n" + CLOCK + "import outer\nprint(json.dumps([time.perf_counter() - begin, outer.took]))\n"
                       "assert outer.inner.x == 1\nsys.exit(3)\n",
    "outer.py": "import time\ntime.sleep(0.05)\n" + CLOCK + "import inner\n"
                "took = time.perf_counter() - begin\ntime.sleep(0.05)\n",
    "inner.py": "import time\ntime.sleep(0.08)\nx = 1\n",
}
THREADS = {
    "main.py": "import json, threading, time\ntook = {}\n"
               "def load(name):\n    begin = time.perf_counter()\n    __import__(name)\n"
               "    took[name] = time.perf_counter() - begin\n"
               "threads = [threading.Thread(target=load, args=(n,)) for n in ('one', 'two')]\n"
               "for t in threads: t.start()\n"
               "for t in threads: t.join()\n"
               "import two\nprint(json.dumps([took['one'], took['two'] - 0.04, two.took]))\n",
    "one.py": "import time\ntime.sleep(0.1)\n",
    "two.py": "import time\ntime.sleep(0.06)\n" + CLOCK + "import three\ntook = time.perf_counter() - begin\n",
    "three.py": "import time\ntime.sleep(0.04)\n",
}
BROKEN = {
    "main.py": "import middle\n",
    "middle.py": "def f():\n    import broken\nf()\n",
    "broken.py": "1 / 0\n",
}


class Place:
    """A folder with modules in it, that an interpreter sees."""

    def __init__(self, interpreter, folder):
        self.interpreter = interpreter
        self.chroot = ["chroot", interpreter.chroot] if interpreter.chroot else []
        self.seen = folder
        self.folder = harness.Path(interpreter.chroot + str(folder))
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, files):
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def python(self, *words, **environment):
        command = [*self.chroot, "env", "-C", self.seen, self.interpreter.executable, *words]
        return execute(command, env=harness.Cairn(self.folder).environment(**environment))

    def imports(self, *words, status=0, **environment):
        """What `cairn imports --json` tells, and how it ended."""
        start = f"{self.interpreter.package()}/cairn/_start.py"
        ended = self.python(start, "imports", "--json", "-o", "told.json", *words, **environment)
        return json.loads((self.folder / "told.json").read_text()), ended.expect(status)


@pytest.fixture
def place(interpreter, folder):
    place = Place(interpreter, folder)
    yield place
    if interpreter.chroot:
        harness.shutil.rmtree(place.folder)


def named(rows):
    return {row["module"]: row for row in rows}


def imported(place, *words):
    """The modules of `-X importtime`, with how long each took in all, in seconds."""
    talk = place.python("-X", "importtime", *words).expect().talk
    found = re.findall(r"^import time: +\d+ \| +(\d+) \| +(\S+)$", talk, re.M)
    return {name: int(us) / 1e6 for us, name in found}


def test_modules_are_those_of_the_interpreter(place):
    place.write({"main.py": MANY, "none.py": "import atexit\n"})
    at_start = imported(place, "none.py")
    theirs = {name: s for name, s in imported(place, "main.py").items() if name not in at_start}
    told, _ = place.imports("main.py")
    rows = named(told["rows"])
    worked = [row["module"] for row in told["rows"] if not row["failed"]]
    assert len(worked) == len(set(worked)) and told["imports"] == len(told["rows"])
    assert rows.keys() == theirs.keys()
    assert rows["no_such_module"]["failed"] and not rows["decimal"]["failed"]
    assert rows["decimal"]["kind"] in ("source", "frozen") and rows["xml.dom"]["by"]
    assert abs(sum(row["self_s"] for row in told["rows"]) - told["total_s"]) < 1e-9
    for row in told["rows"]:
        assert 0 <= row["self_s"] <= row["total_s"]
        assert row["find_s"] + row["load_s"] + row["compile_s"] <= row["self_s"] + 1e-6


def test_times_are_those_of_the_modules(place):
    place.write(SLEEPS)
    told, ended = place.imports("main.py", status=3)
    rows = named(told["rows"])
    outer_s, inner_s = ended.last_json()
    assert 0.1 <= rows["outer"]["self_s"] <= outer_s - 0.08
    assert rows["outer"]["total_s"] <= outer_s
    assert 0.08 <= rows["inner"]["self_s"] <= inner_s
    assert abs(rows["outer"]["total_s"] - rows["outer"]["self_s"] - rows["inner"]["total_s"]) < 1e-6
    assert rows["inner"]["by"] == "outer" and rows["outer"]["by"] is None


def test_threads_are_told_apart(place):
    place.write(THREADS)
    told, ended = place.imports("main.py")
    rows = named(told["rows"])
    for name, self_s, most_s in zip(("one", "two", "three"), (0.1, 0.06, 0.04), ended.last_json()):
        assert self_s <= rows[name]["self_s"] <= most_s, (name, rows[name])
    assert rows["three"]["by"] == "two"


def test_what_is_compiled_is_told(place):
    lines = "\n".join(f"def f{i}(a, b):\n    return [a + {i} for x in b if x > {i}]" for i in range(2400))
    place.write({"main.py": "import large\n", "large.py": lines})
    begun, first = place.imports("main.py", PYTHONDONTWRITEBYTECODE="")
    again, _ = place.imports("main.py", PYTHONDONTWRITEBYTECODE="")
    never, ended = place.imports("main.py", PYTHONDONTWRITEBYTECODE="1")
    row = named(begun["rows"])["large"]
    assert row["cached"] is False and row["compile_s"] > 0.5 * row["self_s"] - first.taken_s
    assert row["parse_s"] > 0 and row["bytecode_s"] > 0
    assert abs(row["parse_s"] + row["bytecode_s"] - row["compile_s"]) < 1e-9
    row = named(again["rows"])["large"]
    assert row["cached"] is True and row["compile_s"] == 0 and row["parse_s"] is None
    assert begun["keeps_bytecode"] and not never["keeps_bytecode"]


def test_stages_are_told_apart_beside_much_garbage(place):
    """The trees that are looked at to tell them are garbage, and an import makes none."""
    lines = "\n".join(f"def f{i}(a, b):\n    return [a + {i} for x in b if x > {i}]" for i in range(1200))
    place.write({"large.py": lines, "main.py": (
        "import gc\ngc.set_threshold(100, 2, 2)\nheap = [[] for _ in range(100_000)]\nimport large\n")})
    row = named(place.imports("main.py")[0]["rows"])["large"]
    assert row["bytecode_s"] > 0.22 * row["compile_s"] and row["parse_s"] > 0.22 * row["compile_s"], row


def test_the_program_is_what_it_is_without(place):
    place.write(BROKEN)
    alone = place.python("main.py").expect(1)
    told, ended = place.imports("main.py", status=1)
    assert ended.talk == alone.talk and "ZeroDivisionError" in ended.talk
    # From 3.15 on to show a traceback takes imports, some of which fail.
    assert {row["module"] for row in told["rows"] if row["failed"]} >= {"middle", "broken"}
    place.write({"main.py": "import sys, no_such_module\n"})
    assert place.imports("main.py", status=1)[1].talk == place.python("main.py").talk
    place.write({"main.py": "import atexit, sys\nprint(sorted(m for m in sys.modules), sys.argv, "
                            "sys.path[1:], __name__, __file__, sys.path[0] == '', __spec__)\n"})
    alone = place.python("main.py", "a", "-b").expect().text
    with_us = place.imports("main.py", "a", "-b")[1].text
    assert with_us.replace(str(place.seen) + "/", "") == alone.replace(str(place.seen) + "/", "")


def test_a_module_and_a_forked_child(place):
    place.write({"data.json": "[1]"})
    told, ended = place.imports("-m", "json.tool", "data.json")
    assert ended.text.split() == ["[", "1", "]"] and "json" in named(told["rows"])
    place.write({"main.py": "import os, sys\nif os.fork() == 0:\n    import decimal\n    sys.exit()\n"
                            "os.wait()\nimport fractions\n"})
    told, ended = place.imports("main.py")
    assert "fractions" in named(told["rows"])


def test_what_is_there_is_not_imported(place):
    place.write({"main.py": "import importlib, sys\nfor i in range(50): importlib.import_module('os')\n"
                            "sys.modules['gone'] = None\n"
                            "try:\n    import gone\nexcept ImportError: pass\n"})
    told, _ = place.imports("main.py")
    assert not {"os", "gone"} & named(told["rows"]).keys()


def test_threads_that_want_the_same_module(place):
    place.write({"main.py": "import threading\nbegin = threading.Barrier(3)\n"
                            "def load():\n    begin.wait(); import slow\n"
                            "threads = [threading.Thread(target=load) for _ in range(3)]\n"
                            "for t in threads: t.start()\nfor t in threads: t.join()\n",
                 "slow.py": "import time\ntime.sleep(0.1)\n"})
    told, _ = place.imports("main.py")
    assert [row["module"] for row in told["rows"]].count("slow") == 1


def test_packages_that_import_their_own(place):
    (place.folder / "pkg").mkdir()
    place.write({"main.py": "import pkg.sub\n", "pkg/__init__.py": "from . import sub\n",
                 "pkg/sub.py": "import importlib.util\n"
                               "spec = importlib.util.spec_from_file_location('plugin', 'plugin.py')\n"
                               "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n",
                 "plugin.py": "\n".join(f"x{i} = {i}" for i in range(3000))})
    place.imports("main.py", PYTHONDONTWRITEBYTECODE="")
    told, _ = place.imports("main.py", PYTHONDONTWRITEBYTECODE="1")
    rows = [row for row in told["rows"] if row["module"] == "pkg.sub"]
    assert len(rows) == 1 and rows[0]["by"] == "pkg" and rows[0]["cached"] is True
    assert rows[0]["compile_s"] == 0, "what the plugin takes is the plugin's"


def test_archives_and_links(place):
    import zipfile

    with zipfile.ZipFile(place.folder / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", "import inside\nprint(inside.x)\n")
        archive.writestr("inside.py", "x = 5\n" * 500)
    told, ended = place.imports("app.pyz")
    row = named(told["rows"])["inside"]
    assert ended.text == "5\n" and row["cached"] is False and row["compile_s"] > 0
    (place.folder / "real").mkdir()
    place.write({"real/tool.py": "import helper\n", "real/helper.py": "print('helped')\n"})
    (place.folder / "link.py").symlink_to("real/tool.py")
    assert place.imports("link.py")[1].text == "helped\n"


def test_main_is_a_real_one(place):
    place.write({"main.py": "import atexit\nprint(type(__builtins__).__name__, type(__loader__).__name__, "
                            "sorted(n for n in dir() if n != '__annotate__'))\n"
                            "import sys\nmine = 3\n"
                            "atexit.register(lambda: print(sys.modules['__main__'].mine))\n"})
    alone = place.python("main.py").expect().text
    assert place.imports("main.py")[1].text == alone
    assert place.imports("-m", "main")[1].text.splitlines()[-1] == "3"
    missing = place.python(f"{place.interpreter.package()}/cairn/_start.py", "imports", "-m", "nosuch")
    assert missing.status == 1 and "No module named nosuch" in missing.talk


def test_streams_that_the_program_closed(place):
    start = f"{place.interpreter.package()}/cairn/_start.py"
    place.write({"main.py": "import sys, decimal\nprint('mine', end='')\nsys.stdout.flush()\n"
                            "sys.stdout.close()\nsys.stderr = None\n"})
    ended = place.python(start, "imports", "--json", "main.py").expect()
    assert ended.text.startswith("mine{") and "decimal" in ended.text


def test_the_command(cairn, python, folder):
    (folder / "main.py").write_text("import decimal, fractions\nprint('mine')\n")
    options = ["--python", python.executable]
    ended = cairn("imports", *options, "-n", "3", folder / "main.py").expect()
    assert ended.text == "mine\n"
    assert re.search(r"^\d+ imports in [\d.]+ ms; ", ended.talk) and "more: -n" in ended.talk
    told = json.loads(cairn("imports", *options, "--json", folder / "main.py").expect()
                      .text.partition("\n")[2])  # fmt: skip
    assert {"decimal", "fractions"} <= named(told["rows"]).keys()
    for words, why in (([], "which program"), (["--what"], "--what"), (["-n", "x", "a"], "'x'"),
                       (["-o"], "takes a value"),
                       (["--json", *options], "--python stands in front")):  # fmt: skip
        ended = cairn("imports", *options, *words).expect(2)
        assert why in ended.talk and "Traceback" not in ended.talk
    assert "no.py" in cairn("imports", *options, "no.py").expect(1).talk

"""`python -m cairn.kernprof`: a program with the lines of its @profile functions counted, or under
cairn.cprofile, with kernprof's command line.

The program is the real __main__; its exit status is kept, and its traceback shows frames of its own
alone.
"""
import atexit
import builtins
import contextlib
import importlib
import io
import os
import pkgutil
import runpy
import shutil
import sys
import threading
from argparse import REMAINDER, ArgumentParser

from cairn import _cprofile, _frames, cprofile, line_profiler

FAILED = 125
STDOUT = sys.stdout  # as it was at the start
VERSION = "5.0"  # of the kernprof whose words these are


def options():
    parser = ArgumentParser(prog="kernprof", description="Runs and profiles a Python program.")
    add = parser.add_argument
    add("-V", "--version", action="version", version=VERSION)
    add("-l", "--line-by-line", action="store_true", help="count lines, not calls; implies -b")
    add("-b", "--builtin", action="store_true", help="put `profile` among the builtins")
    add("-s", "--setup", metavar="FILE", help="a Python file to run first")
    add("-p", "--prof-mod", action="append", default=[], metavar="NAMES",
        help="with -l: profile these, separated by commas: the program's file, modules, "
             "module.function")
    add("--no-preimports", action="store_true", help="do not import what -p names beforehand")
    add("--prof-imports", action="store_true", help="accepted; name the modules with -p")
    add("-o", "--outfile", metavar="FILE", help="where the profile goes (PROGRAM.lprof or .prof)")
    add("-v", "--verbose", "--view", action="count", default=0, help="show the profile as well")
    add("-q", "--quiet", action="count", default=0, help="say less")
    add("-r", "--rich", action="store_true", help="accepted; the text is plain")
    add("-u", "--unit", type=float, default=1e-6, metavar="SECONDS",
        help="unit of the times that are shown (1e-6)")
    add("-z", "--skip-zero", action="store_true", help="leave out functions that were not called")
    add("--summarize", action="store_true", help="a line for each function")
    add("-i", "--output-interval", type=int, nargs="?", const=1, default=0, metavar="SECONDS",
        help="write the profile every so often")
    add("--no-config", action="store_true", help="accepted; no file is read")
    return parser


SWITCHES = {"line-by-line", "builtin", "rich", "skip-zero", "summarize", "preimports",
            "prof-imports", "config"}  # fmt: skip


def plain(word):
    """--switch=yes and --no-switch=no are --switch, the other way round --no-switch or nothing."""
    name, _, value = word.partition("=")
    negated = name.startswith("--no-")
    name = name[5:] if negated else name[2:]
    if not word.startswith("--") or name not in SWITCHES or not value:
        return [word]
    if value.lower() not in ("y", "yes", "t", "true", "on", "1"):
        negated = not negated
    if negated:
        return ["--no-" + name] if name in ("preimports", "config") else []
    return [] if name in ("preimports", "config") else ["--" + name]


def split(words):
    """kernprof's own words, how the program is named, the program, its words."""
    taking = {"-s", "--setup", "-p", "--prof-mod", "-o", "--outfile", "-u", "--unit"}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        if words[at] == "--":
            return words[:at], "", words[at + 1 :]
        maybe = words[at] in ("-i", "--output-interval") and words[at + 1 : at + 2]
        at += 2 if words[at] in taking or (maybe and maybe[0].isdigit()) else 1
    if words[at : at + 1] in (["-m"], ["-c"]):
        return words[:at], words[at], words[at + 1 :]
    return words[:at], "", words[at:]


# --- what is profiled without a decorator ---


def modules_of(name):
    """A module and, of a package, all that is in it."""
    module = importlib.import_module(name)
    yield module
    path = getattr(module, "__path__", ())
    for found in pkgutil.walk_packages(path, name + ".", onerror=lambda name: None):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except Exception as failure:  # of another system, or in want of something optional
            print(f"kernprof: {found.name} is left out: {failure!r}", file=sys.stderr)


def add_named(profiler, name):
    """A module, or something in one."""
    try:
        for module in modules_of(name):
            profiler.add_module(module)
        return
    except ImportError as failure:
        inside, _, last = name.rpartition(".")
        if not inside:
            raise
        thing = getattr(importlib.import_module(inside), last, None)
        if thing is None:
            raise failure
    profiler.add_function(thing)


def is_program(target, program):
    return os.path.exists(target) and os.path.exists(program) and os.path.samefile(target, program)


class Run:
    """A program under one of the two profilers."""

    def __init__(self, chosen, kind, program):
        self.chosen = chosen
        self.kind = kind
        self.program = program
        self.lines = chosen.line_by_line
        self.profiler = line_profiler.LineProfiler() if self.lines else ByCount()
        default = {"-c": "cairn"}.get(kind, os.path.basename(program))
        if self.from_stdin():
            default = "stdin"
        default += ".lprof" if self.lines else ".prof"
        self.said = chosen.outfile or default
        self.outfile = os.path.abspath(self.said)

    def from_stdin(self):
        return self.kind == "" and self.program == "-"

    def code(self):
        """What is to be run, the names that it finds, and the program's own code."""
        if self.from_stdin():
            code = compile(sys.stdin.read(), "<stdin>", "exec")
            return code, {"__name__": "__main__"}, code
        if self.kind == "-m":
            # As runpy.run_module() does, which keeps the code to itself.
            _, spec, code = runpy._get_module_details(self.program)
            names = {"run": runpy._run_module_code, "code": code, "spec": spec}
            return "run(code, None, '__main__', spec)", names, code
        if self.kind == "-c":
            code = compile(self.program, "<string>", "exec")
            return code, {"__name__": "__main__"}, code
        if not os.path.exists(self.program) and os.sep not in self.program:
            self.program = shutil.which(self.program) or self.program  # as a shell would find it
        if not os.path.isfile(self.program):
            sys.exit(f"Could not find script {self.program!r}")
        code, names = _cprofile.of_script(self.program)
        return code, names, code

    def choose(self, code):
        targets = [one for words in self.chosen.prof_mod for one in words.split(",") if one]
        absent = []
        for target in targets if self.lines else ():
            if target == self.program or is_program(target, self.program):
                self.profiler.add_functions_of(code)
            elif not self.chosen.no_preimports and not self.add(target):
                absent.append(target)
        if absent:
            many = "s" if len(absent) > 1 else ""
            print(f"kernprof: {len(absent)} profiling target{many} not found: {absent}", file=sys.stderr)

    def add(self, target):
        """False: there is nothing of that name."""
        if os.sep in target or target.endswith(".py"):
            return False  # of files, only the program's is taken
        try:
            add_named(self.profiler, target)
        except ModuleNotFoundError as failure:
            if failure.name is None or not f"{target}.".startswith(f"{failure.name}."):
                raise
            return False
        return True

    def setup(self):
        if self.chosen.line_by_line or self.chosen.builtin:
            builtins.__dict__["profile"] = self.profiler
        inside = self.chosen.line_by_line or self.chosen.builtin
        line_profiler.profile._profile = self.profiler if inside else None
        line_profiler.profile.enabled = inside
        if self.chosen.setup:
            with io.open_code(self.chosen.setup) as file:
                source = file.read()
            names = {"__file__": self.chosen.setup, "__name__": "__main__", "__builtins__": builtins}
            exec(compile(source, self.chosen.setup, "exec"), names, names)

    def run(self):
        whole = not self.lines and not self.chosen.builtin
        if self.chosen.output_interval > 0:
            self.write_now_and_then()
        try:
            code, names, own = self.code()  # a program that is not there leaves an older file
            try:
                self.setup()
                self.choose(own)
                with self.quiet():
                    if whole or (self.lines and self.chosen.prof_mod):
                        self.profiler.runctx(code, names, names)
                    else:
                        exec(code, names, names)
            finally:
                self.finish()
        except BaseException:
            _frames.hide_ours()
            raise
        return 0

    @contextlib.contextmanager
    def quiet(self):
        """-qq takes the program's own output away, -qqq what it says on stderr, too."""
        level = self.chosen.verbose - self.chosen.quiet
        with open(os.devnull, "w") as nowhere, contextlib.ExitStack() as stack:
            if level <= -2:
                stack.enter_context(contextlib.redirect_stdout(nowhere))
            if level <= -3:
                stack.enter_context(contextlib.redirect_stderr(nowhere))
            yield

    def write_now_and_then(self):
        def write():
            self.profiler.dump_while_it_runs(self.outfile)
            again()

        def again():
            self.timer = threading.Timer(max(1, self.chosen.output_interval), write)
            self.timer.daemon = True
            self.timer.start()

        again()
        atexit.register(lambda: self.timer.cancel())

    def finish(self):
        level = self.chosen.verbose - self.chosen.quiet
        self.profiler.dump_stats(self.outfile)
        # json.tool, for one, closes its output; others put something else there.
        with contextlib.redirect_stdout(sys.stderr if STDOUT.closed else STDOUT):
            if level >= 0:
                print(f"Wrote profile results to {self.said!r}")
            if level > 0 and self.lines:
                self.profiler.print_stats(
                    output_unit=self.chosen.unit, stripzeros=self.chosen.skip_zero,
                    summarize=self.chosen.summarize)  # fmt: skip
            elif level > 0:
                self.profiler.print_stats()
            elif level == 0:
                tool = "cairn.line_profiler" if self.lines else "pstats"
                print(f"Inspect results with:\n{sys.executable} -m {tool} {self.said}")


class ByCount(cprofile.Profile):
    """As kernprof's: also a decorator, and a block."""

    enable_count = 0

    def __enter__(self):
        self.enable_count += 1
        if self.enable_count == 1:
            self.enable()
        return self

    def __exit__(self, *exc_info):
        if self.enable_count > 0:
            self.enable_count -= 1
            if self.enable_count == 0:
                self.disable()

    enable_by_count = __enter__

    def dump_while_it_runs(self, file):
        self.snapshot_stats()
        self._write(file)

    def disable_by_count(self):
        self.__exit__()

    wrap_callable = line_profiler.LineProfiler.wrap_callable
    _wrapped = line_profiler.LineProfiler._wrapped

    def __call__(self, func):
        return self.wrap_callable(func)


def main():
    ours, kind, rest = split(sys.argv[1:])
    parser = options()
    parser.add_argument("words", nargs=REMAINDER)
    chosen = parser.parse_args([word for given in ours for word in plain(given)])
    if not rest:
        parser.error("name a program: SCRIPT.py, -m MODULE or -c CODE")
    sys.argv[:] = rest if kind != "-c" else ["-c", *rest[1:]]
    run = Run(chosen, kind, rest[0])
    try:
        return run.run()
    except BrokenPipeError as failure:
        sys.stdout = None  # nobody reads it: no complaint about that at the end
        return failure.errno

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
import shlex
import shutil
import sys
import tempfile
import textwrap
import threading

from cairn import _cprofile, _frames, _kernimports, _lpwords, cprofile, line_profiler

STDOUT = sys.stdout  # as it was at the start
DEFAULTS = {"line_by_line": False, "builtin": False, "rich": False, "skip_zero": False,
            "summarize": False, "preimports": True, "prof_imports": False, "verbose": 0,
            "outfile": "", "setup": "", "unit": 1e-6, "output_interval": 0,
            "prof_mod": ()}  # fmt: skip


def options():
    parser = _lpwords.Words(line_profiler.__version__, "--config", prog="kernprof",
                            usage="kernprof [OPTIONS] SCRIPT.py | -m MODULE | -c CODE | - [ARGS]",
                            description="Runs and profiles a Python program.")  # fmt: skip
    add, switch = parser.add_argument, parser.switch
    switch("-l", "--line-by-line", help="count lines, not calls; implies -b")
    switch("-b", "--builtin", help="put `profile` among the builtins")
    add("-s", "--setup", metavar="FILE", help="a Python file to run first")
    add("-p", "--prof-mod", action="append", metavar="NAMES",
        help="with -l: profile these, separated by commas: files, modules, module.function; an "
             "empty one takes back what was named before")  # fmt: skip
    switch("--preimports", help="import what -p names beforehand, not when the program does (so it is; "
           "--no-preimports)")
    switch("--prof-imports", help="what the program imports as well, where -p names it")
    add("-o", "--outfile", metavar="FILE", help="where the profile goes (PROGRAM.lprof or .prof)")
    add("-v", "--verbose", "--view", action="count", help="show the profile as well")
    add("-q", "--quiet", action="count", default=0, help="say less")
    switch("--summarize", help="a line for each function")
    add("-i", "--output-interval", type=int, nargs="?", const=1, metavar="SECONDS",
        help="write the profile every so often")  # fmt: skip
    return parser


def split(parser, words):
    """kernprof's own words, how the program is named, the program and its words."""
    ours, at = [], 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        if words[at] == "--":
            return ours, "", words[at + 1 :]
        taken, at = parser.one(words, at)
        ours += taken
    if words[at : at + 1] in (["-m"], ["-c"]):
        return ours, words[at], words[at + 1 :]
    return ours, "", words[at:]


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
    """A module, or something in one: module.Class.method. A package is taken with all that is in it,
    package.__init__ by itself. False: there is nothing of that name."""
    if name.endswith(".__init__"):
        profiler.add_module(importlib.import_module(name[: -len(".__init__")]))
        return True
    parts = name.split(".")
    for many in range(len(parts), 0, -1):
        module = ".".join(parts[:many])
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError as failure:
            if failure.name is None or not f"{module}.".startswith(f"{failure.name}."):
                raise  # it is there, and what it imports is not
            continue
        for part in parts[many:]:
            thing = getattr(thing, part, None)
        if thing is None:
            return False
        if many == len(parts):
            for found in modules_of(name):
                profiler.add_module(found)
        else:
            profiler.add_function(thing)
        return True
    return False


def module_of(file):
    """As what a file would be imported."""
    path = os.path.abspath(os.path.join(file, "__init__.py") if os.path.isdir(file) else file)
    folder, last = os.path.split(os.path.splitext(path)[0])
    parts = [last]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, last = os.path.split(folder)
        parts.insert(0, last)
    return ".".join(parts)


def targets_of(chunks):
    """What -p names: a file's name may hold commas; an empty one takes back what came before."""
    targets = {}
    for chunk in chunks:
        if not chunk:
            targets.clear()
            continue
        for target in [chunk] if os.path.isfile(chunk) else chunk.split(","):
            if target:
                targets[target] = None
    return list(targets)


def is_file(target):
    return os.path.exists(target) and (os.sep in target or target.endswith(".py"))


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
        self.source = None  # of -c and -, which is put into a file of its own
        if kind == "-c":
            self.source, self.program = program, "kernprof-command.py"
        elif kind == "" and program == "-":
            self.source, self.program = sys.stdin.read(), "kernprof-stdin.py"
        self.said = chosen.outfile or self.nobody_said()
        self.outfile = os.path.abspath(self.said)

    def nobody_said(self):
        """PROGRAM.lprof; what has no name of its own does not take the place of an older file."""
        extension = ".lprof" if self.lines else ".prof"
        if self.source is None:
            return os.path.basename(self.program) + extension
        prefix = os.path.splitext(self.program)[0] + "-"
        handle, path = tempfile.mkstemp(dir=os.curdir, prefix=prefix, suffix=extension)
        os.close(handle)
        return os.path.basename(path)

    def write_source(self):
        """So that text and tracebacks find its lines. It is there until the end of this process."""
        folder, owner = tempfile.mkdtemp(), os.getpid()

        def remove():
            if os.getpid() == owner:  # not of a forked child
                shutil.rmtree(folder, ignore_errors=True)

        atexit.register(remove)
        self.program = sys.argv[0] = os.path.join(folder, self.program)
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(self.source) + "\n")

    def code(self):
        """What is to be run, the names that it finds, and the program's own code."""
        if self.source is not None:
            self.write_source()
            here = sys.path[:]
            code, names = _cprofile.of_script(self.program)
            sys.path[:] = here  # nothing is to be imported from beside it
            code = self.hearing(code)
            return code, names, code
        if self.kind == "-m":
            # As runpy.run_module() does, which keeps the code to itself.
            _, spec, code = runpy._get_module_details(self.program)
            code = self.hearing(code, spec)
            names = {"run": runpy._run_module_code, "code": code, "spec": spec}
            return "run(code, None, '__main__', spec)", names, code
        if not os.path.exists(self.program) and os.sep not in self.program:
            self.program = shutil.which(self.program) or self.program  # as a shell would find it
        if not os.path.isfile(self.program):
            sys.exit(f"Could not find script {self.program!r}")
        code, names = _cprofile.of_script(self.program)
        code = self.hearing(code)
        return code, names, code

    def own(self):
        """Those words of -p that mean the program itself, and the others."""
        targets = targets_of(self.chosen.prof_mod) if self.lines else []
        own = [one for one in targets if one == self.program or is_program(one, self.program)
               or self.is_itself(one)]  # fmt: skip
        return own, [one for one in targets if one not in own]

    def hearing(self, code, spec=None):
        """The program's code, which tells what it imports where that is asked for."""
        own, others = self.own()
        every = self.lines and self.chosen.prof_imports and bool(own or self.source is not None)
        late = others if self.lines and not self.chosen.preimports else []
        if not every and not late:
            return code
        try:
            hearing = _kernimports.code_of(*self.text_of(code, spec))
        except Exception as failure:  # without its text, or nested deeper than `ast` goes
            print(f"kernprof: what {self.program} imports is not profiled as it imports it: {failure!r}",
                  file=sys.stderr)  # fmt: skip
            return code
        named = [module_of(one) if is_file(one) else one for one in late]
        _kernimports.listen(self.profiler, None if every else named)
        return hearing

    @staticmethod
    def text_of(code, spec):
        """A program's text, its file, and what it imports relative to."""
        if spec is None:
            with io.open_code(code.co_filename) as file:
                return file.read(), code.co_filename, ""
        source = spec.loader.get_source(spec.name)
        if source is None:
            raise ImportError(f"no source of {spec.name}")
        return source, code.co_filename, spec.parent

    def choose(self, code):
        """What -p names, and of -c and - all functions."""
        own, targets = self.own()
        absent = []
        for target in targets if self.chosen.preimports else ():
            if not self.add(target):
                absent.append(target)
        if self.lines and (own or self.source is not None):
            self.profiler.add_functions_of(code)
        if absent:
            many = "s" if len(absent) > 1 else ""
            print(f"kernprof: {len(absent)} profiling target{many} not found: {absent}", file=sys.stderr)

    def is_itself(self, target):
        """Of -m, also by the name of its file."""
        return self.kind == "-m" and os.path.isfile(target) and module_of(target) == self.program

    def add(self, target):
        """False: there is nothing of that name."""
        if is_file(target):
            target = module_of(target)
        elif not all(part.isidentifier() for part in target.split(".")):
            return False
        return add_named(self.profiler, target)

    def setup(self):
        if self.chosen.line_by_line or self.chosen.builtin:
            builtins.__dict__["profile"] = self.profiler
        inside = self.chosen.line_by_line or self.chosen.builtin
        line_profiler.profile._profile = self.profiler if inside else None
        line_profiler.profile.enabled = inside
        if self.chosen.setup:
            if not os.path.isfile(self.chosen.setup):
                sys.exit(f"Could not find script {self.chosen.setup!r}")
            with io.open_code(self.chosen.setup) as file:
                source = file.read()
            names = {"__file__": self.chosen.setup, "__name__": "__main__", "__builtins__": builtins}
            exec(compile(source, self.chosen.setup, "exec"), names, names)

    def run(self):
        whole = not self.lines and not self.chosen.builtin
        if self.chosen.output_interval > 0:
            self.write_now_and_then()
        try:
            # A program, or what is to be run before it, that is not there leaves an older file.
            code, names, own = self.code()
            self.setup()
            try:
                self.choose(own)
                with self.quiet():
                    if whole or (self.lines and (self.chosen.prof_mod or self.source is not None)):
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
        with contextlib.ExitStack() as stack:
            if level <= -2:
                nowhere = stack.enter_context(open(os.devnull, "w"))
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
        if self.lines and self.source is not None:
            self.profiler.dump_stats(self.outfile, without=self.program)  # nobody will find its lines
        else:
            self.profiler.dump_stats(self.outfile)
        # json.tool, for one, closes its output; others put something else there.
        with contextlib.redirect_stdout(sys.stderr if STDOUT.closed else STDOUT):
            if level >= 0:
                print(f"Wrote profile results to {self.said!r}")
            if level > 0 and self.lines:
                self.profiler.print_stats(
                    output_unit=self.chosen.unit, stripzeros=self.chosen.skip_zero,
                    summarize=self.chosen.summarize, config=self.chosen.config)  # fmt: skip
            elif level > 0:
                self.profiler.print_stats()
            elif level == 0:
                tool = "cairn.line_profiler -rmt" if self.lines else "pstats"
                words = f"{shlex.quote(sys.executable)} -m {tool} {shlex.quote(self.said)}"
                print(f"Inspect results with:\n{words}")


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
    _wrap_members = line_profiler.LineProfiler._wrap_members
    _wrap_all = line_profiler.LineProfiler._wrap_all

    def __call__(self, func):
        return self.wrap_callable(func)


def main():
    parser = options()
    ours, kind, rest = split(parser, sys.argv[1:])
    chosen = parser.parse_args(ours)
    parser.settle(chosen, "kernprof", DEFAULTS)
    if not rest:
        parser.error("name a program: SCRIPT.py, -m MODULE or -c CODE")
    sys.argv[:] = rest
    run = Run(chosen, kind, rest[0])
    try:
        return run.run()
    except BrokenPipeError as failure:
        sys.stdout = None  # nobody reads it: no complaint about that at the end
        return failure.errno

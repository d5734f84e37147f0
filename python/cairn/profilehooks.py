"""The decorators of profilehooks, on Cairn's own engine: profile, timecall and coverage.

    from cairn.profilehooks import profile, timecall, coverage

What they were asked for is printed when the program ends, or with immediate=True after each call.
Functions that run in several threads are counted in all of them, and the bodies of generators are
covered. `python -m cairn.profilehooks MODULE` runs a module that finds the three as builtins.
"""
import atexit
import functools
import inspect
import logging
import os
import re
import sys
import threading
import timeit
import types

__all__ = ["coverage", "profile", "timecall"]

PROFILERS = ("cProfile", "profile")
SORT = ("cumulative", "time", "calls")
EMPTY_FINALLY = re.compile(r"\s*finally:\s*(#.*)?$")

_lock = threading.RLock()


def _decorated(function, hook):
    """A plain function around a hook: as an object it would not become a method."""

    @functools.wraps(function)
    def hooked(*args, **kwargs):
        return hook(*args, **kwargs)

    return hooked


def _profiled(function, hook):
    """The same for a profile. What is called within one has rows in its table: nothing more is to
    be done, and nothing that would have a row as well."""

    @functools.wraps(function)
    def hooked(*args, **kwargs):
        if not _here.profiled:
            return hook(*args, **kwargs)
        hook.ncalls += 1
        if hook.skip > 0:
            hook.skip -= 1
            hook.skipped += 1
        return function(*args, **kwargs)

    return hooked


class _Here(threading.local):
    profiled = False  # this thread is in a call that is profiled


_here = _Here()


def _forget():
    """In a child that was forked: what other threads had begun is over."""
    global _lock
    _lock = threading.RLock()
    _Profiled.calls = min(_Profiled.calls, int(_here.profiled))
    if not _Profiled.calls:
        _Profiled.running = _Profiled.profile = None


os.register_at_fork(after_in_child=_forget)


def _place(function):
    """(name, file, first line) of what is at the bottom of decorators."""
    function = inspect.unwrap(function)
    code = function.__code__
    return function.__name__, code.co_filename, code.co_firstlineno


# --- profile ---


def profile(fn=None, skip=0, filename=None, immediate=False, dirs=False, sort=None, entries=40,
            profiler=PROFILERS, stdout=True):  # fmt: skip
    """Counts and times the calls that a function makes; a table is printed when the program ends.

    skip: so many calls go by first. filename: the statistics go there, too, for pstats.
    immediate: a table after each call. dirs: whole paths. sort: one of pstats' keys, or several.
    entries: the longest table. stdout: where to print, or whether to. profiler: a name that
    profilehooks has, or several; the engine is Cairn's whatever it is.
    """
    wanted = [profiler] if isinstance(profiler, str) else profiler
    if not any(name in PROFILERS for name in wanted):
        raise ValueError(f"only these profilers are available: {', '.join(PROFILERS)}")

    def decorate(function):
        return _profiled(function, _Profiled(function, skip, filename, immediate, dirs,
                                             sort or SORT, entries, stdout))  # fmt: skip

    return decorate if fn is None else decorate(fn)


class _Profiled:
    """A function whose calls are profiled, one profile from the first that begins until none runs:
    those of other threads are in it."""

    running = None  # the one that is
    profile = None
    calls = 0  # of it that are not over

    def __init__(self, function, skip, filename, immediate, dirs, sort, entries, stdout):
        self.function = function
        self.skip = skip
        self.filename = filename
        self.immediate = immediate
        self.dirs = dirs
        self.sort = (sort,) if isinstance(sort, str) else tuple(sort)
        self.entries = entries
        self.stdout = stdout
        self.reset()
        if not immediate:
            atexit.register(self.show)

    def reset(self):
        import pstats

        stream = self.stdout if hasattr(self.stdout, "write") else sys.stdout
        self.stats = pstats.Stats(stream=stream)
        # Tables of profilehooks have this row, of the profiler that it begins with.
        self.stats.stats["profile", 0, "profiler"] = (0, 0, 0, 0, {})
        self.ncalls = self.skipped = 0

    def __call__(self, *args, **kwargs):
        profile, first = self.begin()
        if profile is None:
            return self.function(*args, **kwargs)
        alone = True
        try:
            if first:
                profile.enable()
            alone = False
            return self.function(*args, **kwargs)
        finally:
            # Before anything is called that would have a row of its own. Another profiler that is
            # active refuses ours: then none runs.
            if not alone and _Profiled.calls == 1:
                alone = True
                profile.disable()
            self.end(profile, alone)

    def begin(self):
        """(the profile that this call is of, whether it is to begin); None: not of any."""
        from cairn import cprofile  # where it is first needed: a module without it can be imported

        with _lock:
            self.ncalls += 1
            if self.skip > 0:
                self.skip -= 1
                self.skipped += 1
                return None, False
            first = _Profiled.running is None
            if first:
                _Profiled.running = self
                _Profiled.profile = cprofile.Profile()
            elif _Profiled.running is not self:
                return None, False  # there is one profile at a time
            _here.profiled = True
            _Profiled.calls += 1
            return _Profiled.profile, first

    def end(self, profile, disabled):
        with _lock:
            _here.profiled = False
            _Profiled.calls -= 1
            if _Profiled.calls:
                if disabled:
                    profile.enable()  # another thread has just begun
                return
            profile.disable()
            _Profiled.running = _Profiled.profile = None
            self.stats.add(profile)
            if self.immediate:
                self.show()
                self.reset()

    def show(self):
        if self.filename:
            self.stats.dump_stats(self.filename)
        if not self.stdout:
            return
        name, file, line = _place(self.function)
        skipped = f" ({self.skipped} calls not profiled)" if self.skipped else ""
        stream = self.stdout if hasattr(self.stdout, "write") else None
        print(
            f"\n*** PROFILER RESULTS ***\n{name} ({file}:{line})\n"
            f"function called {self.ncalls} times{skipped}\n",
            file=stream,
        )
        if not self.dirs:
            self.stats.strip_dirs()
        self.stats.sort_stats(*self.sort)
        self.stats.print_stats(self.entries)


# --- timecall ---


def timecall(fn=None, immediate=True, timer=None, log_name=None, log_level=logging.DEBUG):
    """Says on stderr how long each call took, or with immediate=False on stdout, when the program
    ends, how long they took in all; with log_name a logger is told."""

    def decorate(function):
        return _decorated(
            function, _Timed(function, immediate, timer or timeit.default_timer, log_name, log_level)
        )

    return decorate if fn is None else decorate(fn)


class _Timed:
    def __init__(self, function, immediate, timer, log_name, log_level):
        self.function = function
        self.immediate = immediate
        self.timer = timer
        self.logger = logging.getLogger(log_name) if log_name else None
        self.log_level = log_level
        self.ncalls = self.spent_s = 0
        if not immediate:
            atexit.register(self.show)

    def __call__(self, *args, **kwargs):
        begun = self.timer()
        try:
            return self.function(*args, **kwargs)
        finally:
            spent_s = self.timer() - begun
            with _lock:
                self.ncalls += 1
                self.spent_s += spent_s
            if self.immediate:
                self.tell(spent_s)

    def tell(self, spent_s):
        name, file, line = _place(self.function)
        message = f"{name} ({file}:{line}):\n    {spent_s:.3f} seconds\n\n"
        if self.logger:
            self.logger.log(self.log_level, message)
        else:
            sys.stderr.write(f"\n  {message}")
            sys.stderr.flush()

    def show(self):
        if not self.ncalls:
            return
        name, file, line = _place(self.function)
        message = (
            f"\n  {name} ({file}:{line}):\n    {self.ncalls} calls, {self.spent_s:.3f} seconds "
            f"({self.spent_s / self.ncalls:.3f} seconds per call)\n"
        )
        if self.logger:
            self.logger.log(self.log_level, message)
        else:
            print(message)


# --- coverage ---


def coverage(fn):
    """Counts how often each line of a function ran; its source is printed beside that when the
    program ends."""
    return _decorated(fn, _Covered(fn))


def _codes_in(code):
    """The code of a function and of those that are written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


def _docstring_lines(file):
    """Lines of strings that stand where a docstring does."""
    import token
    import tokenize

    lines, before = set(), token.INDENT  # that of the module, too
    with tokenize.open(file) as text:
        for kind, _, begin, end, _ in tokenize.generate_tokens(text.readline):
            if kind == token.STRING and before == token.INDENT:
                lines.update(range(begin[0], end[0] + 1))
            before = kind
    return lines


class _Covered:
    def __init__(self, function):
        import cairn._exact as _exact

        self.function = function
        self.code = inspect.unwrap(function).__code__
        self.ncalls = 0
        self.counts = False
        self.lines = _exact.Lines()
        for code in _codes_in(self.code):
            self.lines.add(code)
        atexit.register(self.show)

    def __call__(self, *args, **kwargs):
        with _lock:
            self.ncalls += 1
            if not self.counts:
                self.counts = True
                self.lines.enable()  # and stays so: a generator's body runs after the call
        return self.function(*args, **kwargs)

    def hits(self, first):
        """{line: how often it ran}, 0 for those that can run and did not."""
        import dis

        outside = _docstring_lines(self.code.co_filename) | {first}
        hits = {line: 0 for _, line in dis.findlinestarts(self.code)
                if line is not None and line not in outside}  # fmt: skip
        for _, rows in self.lines.get():
            for line, count, *_ in rows:
                if count:
                    hits[line] = hits.get(line, 0) + count
        return hits

    def show(self):
        name, file, line = _place(self.function)
        print(
            f"\n*** COVERAGE RESULTS ***\n{name} ({file}:{line})\n"
            f"function called {self.ncalls} times\n"
        )
        try:
            source, first = inspect.getsourcelines(self.function)
            hits = self.hits(first)
        except (OSError, SyntaxError):
            print("cannot show coverage data since co_filename is None")
            return
        text, never = "", 0
        for number, written in enumerate(source, first):
            count = hits.get(number)
            if count:
                text += f"{count:5d}: {written}"
            elif count == 0 and not EMPTY_FINALLY.match(written):
                text += f">>>>>> {written}"
                never += 1
            else:
                text += f"       {written}"
        print(text)
        if never:
            print(f"{never} lines were not executed.")


def _main(args):
    import runpy

    names = {name: globals()[name] for name in __all__}
    banner = "********\nInjected `profilehooks`\n--------\n{}\n********\n".format("\n".join(names))
    if not args:
        import code

        code.interact(banner, local=names)
    else:
        print(banner)
        runpy.run_module(args[0], init_globals=names)


if __name__ == "__main__":
    from cairn import profilehooks

    profilehooks._main(sys.argv[1:])

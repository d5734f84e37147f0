"""line_profiler's class and functions, on Cairn's own engine.

    from cairn.line_profiler import LineProfiler, profile

Lines are told apart by the frame that they belong to, so recursion, threads and generators have the
numbers that they should; other code is not slowed down. What differs is in docs/compat.md.
"""
import atexit
import functools
import inspect
import linecache
import os
import sys
import time
import types
import warnings

import cairn._exact as _exact
from cairn import _lpconfig, _lprof, _scopes

__all__ = ["LineProfiler", "LineStats", "load_stats", "show_text", "profile"]

__path__ = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lp")]  # cairn.line_profiler.autoprofile
__version__ = "5.0.2"  # of the line_profiler whose names and words these are

UNIT = 1e-9  # of what is stored
WIDTHS = {"line": 6, "hits": 9, "time": 12, "perhit": 8, "percent": 8}
TITLES = ("Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents")


class LineStats:
    """timings: {(file, first line, function): [(line, hits, time)]}, times in `unit` seconds."""

    def __init__(self, timings, unit):
        self.timings = timings
        self.unit = unit

    def __repr__(self):
        return f"{type(self).__name__}({self.timings}, {self.unit:.2G})"

    def __eq__(self, other):
        try:
            return (self.timings, self.unit) == (other.timings, other.unit)
        except AttributeError:
            return NotImplemented

    __hash__ = None

    def __add__(self, other):
        return self.from_stats_objects(self, other)

    def __iadd__(self, other):
        summed = self + other
        self.timings, self.unit = summed.timings, summed.unit
        return self

    def print(self, stream=None, **options):
        show_text(self.timings, self.unit, stream=stream, **options)

    def to_file(self, filename):
        _lprof.write(filename, self.timings, self.unit)

    @classmethod
    def from_files(cls, file, *files):
        return cls.from_stats_objects(*(cls(*_lprof.read(name)) for name in (file, *files)))

    @classmethod
    def from_stats_objects(cls, stats, *more):
        everything = sorted((stats, *more), key=lambda one: one.unit)
        unit = everything[-1].unit
        sums = {}
        for one in everything:
            for key, rows in one.timings.items():
                lines = sums.setdefault(key, {})
                for line, hits, time in rows:
                    before = lines.get(line, (0, 0))
                    lines[line] = (before[0] + hits, before[1] + time * (one.unit / unit))
        timings = {
            key: [(line, hits, round(time)) for line, (hits, time) in sorted(lines.items())]
            for key, lines in sums.items()
        }
        return cls(timings, unit)


load_stats = LineStats.from_files


# --- text ---


def source_of(file, first):
    """The lines of a function; it is looked up anew, for the file may have changed."""
    if os.path.exists(file):
        linecache.checkcache(file)
    lines = linecache.getlines(file)[max(first - 1, 0) :]
    try:
        return inspect.getblock(lines)
    except (IndentationError, SyntaxError):
        return lines[:1]


def number(value, width):
    text = f"{value:5.1f}"
    return text if len(text) <= width else f"{value:5.3g}"


def cells_of(rows, scale, widths=WIDTHS):
    total = sum(time for _, _, time in rows)
    cells = {}
    for line, hits, time in rows:
        count = str(hits) if len(str(hits)) <= widths["hits"] else f"{hits:g}"
        per_hit = number(time * scale / hits, widths["perhit"]) if hits else ""
        share = f"{100 * time / total:5.1f}" if total else ""
        cells[line] = (count, number(time * scale, widths["time"]), per_hit, share)
    return cells


def show_func(filename, start_lineno, func_name, timings, unit, output_unit=None, stream=None,
              stripzeros=False, column_widths=None, **unused):  # fmt: skip
    """One function's lines, beside its source where there is one."""
    columns = {**WIDTHS, **(column_widths or {})}
    stream = sys.stdout if stream is None else stream
    if stripzeros and not any(hits for _, hits, _ in timings):
        return
    stream.write(f"Total time: {sum(time for _, _, time in timings) * unit:g} s\n")
    source = source_of(filename, start_lineno)
    if source or os.path.exists(filename):
        stream.write(f"File: {filename}\nFunction: {func_name} at line {start_lineno}\n")
    else:
        stream.write(
            f"\nCould not find file {filename}\n"
            "Are you sure you are running this program from the same directory\n"
            "that you ran the profiler from?\n"
            "Continuing without the function's contents.\n"
        )
        numbers = [line for line, _, _ in timings] or [start_lineno]
        source = [""] * (max(numbers) - min(min(numbers), start_lineno) + 1)
    cells = cells_of(timings, unit / (output_unit or unit), columns)
    widths = [columns["line"]] + [
        max([width, *(len(row[i]) for row in cells.values())])
        for i, width in enumerate([columns[name] for name in WIDTHS][1:])
    ]

    def put(numbers, text):
        padded = " ".join(str(cell).rjust(width) for cell, width in zip(numbers, widths))
        return f"{padded}  {text}"

    header = put(TITLES[:5], TITLES[5])
    stream.write(f"\n{header}\n{'=' * len(header)}\n")
    for line, text in enumerate(source, start_lineno):
        stream.write(put((line, *cells.get(line, ("",) * 4)), text.rstrip("\r\n")) + "\n")
    stream.write("\n")


def show_text(stats, unit, output_unit=None, stream=None, stripzeros=False, details=True,
              summarize=False, sort=False, rich=False, config=None, **unused):  # fmt: skip
    """All functions. `rich` is accepted, and changes nothing; widths of columns are those that
    `config` tells (_lpconfig)."""
    widths = _lpconfig.merged(WIDTHS, _lpconfig.load(config, "show").get("column_widths", {}))
    stream = sys.stdout if stream is None else stream
    stream.write(f"Timer unit: {unit if output_unit is None else output_unit:g} s\n\n")
    items = list(stats.items())
    if sort:
        items.sort(key=lambda item: sum(time for _, _, time in item[1]))
    for (file, first, name), rows in items if details else ():
        show_func(file, first, name, rows, unit, output_unit, stream, stripzeros, widths)
    for (file, first, name), rows in items if summarize else ():
        total = sum(time for _, _, time in rows) * unit
        if total or not stripzeros:
            stream.write(f"{total:6.2f} seconds - {file}:{first} - {name}\n")


# --- what is profiled ---


OF_C = (types.BuiltinFunctionType, types.ClassMethodDescriptorType, types.MethodDescriptorType,
        types.MethodWrapperType, types.WrapperDescriptorType)  # fmt: skip


def is_a(thing, kinds):
    """As isinstance() by the type alone: what stands for another object runs code to tell its class."""
    return issubclass(type(thing), kinds)


def functions_in(thing):
    """The Python functions that something stands for: wrapped, bound, of a class, of a property."""
    if is_a(thing, (staticmethod, classmethod, types.MethodType)):
        return functions_in(thing.__func__)
    if is_a(thing, (functools.partial, functools.partialmethod)):
        return functions_in(thing.func)
    if is_a(thing, functools.cached_property):
        return functions_in(thing.func)
    if is_a(thing, property):
        parts = (thing.fget, thing.fset, thing.fdel)
        return [function for part in parts if part for function in functions_in(part)]
    if is_a(thing, type):
        return [function for member in vars(thing).values() for part in parts_of(member, thing, _scopes.OWN)
                for function in functions_in(part)]  # fmt: skip
    if is_a(thing, types.FunctionType):
        inner = getattr(thing, "__wrapped__", None)
        return functions_in(inner) if inner is not None else [thing]
    return []


def parts_of(member, namespace, policies):
    """What of a member of a class or module counts as part of that: itself, if it is a class or module;
    else of its functions. Nothing of what fails to say where it comes from."""
    kinds = {"class": type, "module": types.ModuleType}
    kind = next((kind for kind, of in kinds.items() if is_a(member, of)), "func")
    try:
        things = functions_in(member) if kind == "func" else [member]
        return [one for one in things if _scopes.belongs(one, kind, namespace, policies)]
    except Exception:
        return []


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


class LineProfiler:
    """LineProfiler(*functions): counts their lines while it is enabled; also a decorator."""

    def __init__(self, *functions):
        self._lines = _exact.Lines()
        self.functions = []
        self.enable_count = 0
        for function in functions:
            self.add_function(function)

    def add_function(self, func):
        """Its lines are counted from now on; so are those of what it wraps."""
        added = 0
        for function in functions_in(func):
            if self._lines.add(function.__code__):
                self.functions.append(function)
                added += 1
        return added

    add_callable = add_function

    def add_class(self, cls, *, scoping_policy=None, wrap=False):
        """What is defined in it, or what the policy means; with `wrap` it is also counted while it runs.
        How many members that are."""
        return self._add_members(cls, _scopes.settled(scoping_policy), wrap, set())

    def add_module(self, mod, *, scoping_policy=None, wrap=False):
        """Functions and classes that are defined there, or what the policy means, and how many."""
        return self._add_members(mod, _scopes.settled(scoping_policy), wrap, set())

    def _add_members(self, namespace, policies, wrap, seen):
        added, to_wrap = 0, []
        for name, member in list(vars(namespace).items()):
            if id(member) in seen:
                continue
            parts = parts_of(member, namespace, policies)
            if parts:
                seen.add(id(member))
            if is_a(member, (type, types.ModuleType)):
                added += sum(bool(self._add_members(part, policies, wrap, seen)) for part in parts)
                continue
            for part in parts:
                self.add_function(part)
            if parts:
                added += 1
                to_wrap.append((name, member))
        if wrap:
            self._wrap_all(namespace, to_wrap)
        return added

    def add_functions_of(self, code):
        """The functions that are defined in a code object, and in those."""
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                # Bodies of classes are not optimised; lambdas and the like have no name, and what the
                # compiler makes of annotations has one that is no function's (3.14).
                named = not inner.co_name.startswith("<") and inner.co_name != "__annotate__"
                if inner.co_flags & inspect.CO_OPTIMIZED and named:
                    self._lines.add(inner)
                self.add_functions_of(inner)

    # --- when ---

    def enable(self):
        self._lines.enable()

    def disable(self):
        self._lines.disable()

    def enable_by_count(self):
        self.enable_count += 1
        if self.enable_count == 1:
            self.enable()

    def disable_by_count(self):
        if self.enable_count > 0:
            self.enable_count -= 1
            if self.enable_count == 0:
                self.disable()

    def __enter__(self):
        self.enable_by_count()
        return self

    def __exit__(self, *exc_info):
        self.disable_by_count()

    def __call__(self, func):
        if isinstance(func, type):
            return self._wrap_members(func, self.add_function)
        self.add_function(func)
        return self.wrap_callable(func)

    def _wrap_members(self, cls, add=None):
        """Those that were defined in it. Returns the class, which stays one."""
        own = []
        for name, member in list(vars(cls).items()):
            if is_a(member, type):
                if _scopes.in_class(member, "class", cls, "descendants"):
                    self._wrap_members(member, add)
                continue
            functions = functions_in(member)
            if functions and all(_scopes.in_class(one, "func", cls, "descendants") for one in functions):
                if add:
                    add(member)
                own.append((name, member))
        self._wrap_all(cls, own)
        return cls

    def _wrap_all(self, namespace, members):
        refused = {}
        for name, member in members:
            try:
                setattr(namespace, name, self.wrap_callable(member))
            except (AttributeError, TypeError):
                refused[name] = member
        if refused:
            what = f"cannot wrap {len(refused)} attribute(s) of {namespace!r} (`{{attr: value}}`): {refused!r}"
            warnings.warn(what, stacklevel=4)

    def wrap_callable(self, func):
        """The same, that is counted while it runs; what is written in C stays as it is."""
        if isinstance(func, OF_C) or getattr(func, "_cairn_wrapped_for", None) is self:
            return func
        if isinstance(func, (staticmethod, classmethod)):
            return type(func)(self.wrap_callable(func.__func__))
        if isinstance(func, property):
            parts = (func.fget, func.fset, func.fdel)
            return property(*(part and self.wrap_callable(part) for part in parts), func.__doc__)
        if isinstance(func, functools.cached_property):
            func.func = self.wrap_callable(func.func)
            return func
        if isinstance(func, (functools.partial, functools.partialmethod)):
            return type(func)(self.wrap_callable(func.func), *func.args, **func.keywords)
        if isinstance(func, type):
            return self._wrap_members(func)
        if isinstance(func, types.MethodType):
            return types.MethodType(self.wrap_callable(func.__func__), func.__self__)
        if not callable(func):
            raise TypeError(f"cannot profile {func!r}: it is not callable")
        return self._wrapped(func)

    def _wrapped(self, func):
        if inspect.iscoroutinefunction(func):

            @functools.wraps(func)
            async def wrapper(*args, **kwargs):
                with self:
                    return await func(*args, **kwargs)
        elif inspect.isasyncgenfunction(func):

            @functools.wraps(func)
            async def wrapper(*args, **kwargs):
                made = func(*args, **kwargs)
                step, given = made.asend, None
                try:
                    while True:
                        with self:
                            item = await step(given)
                        try:
                            step, given = made.asend, (yield item)
                        except GeneratorExit:
                            raise
                        except BaseException as thrown:
                            step, given = made.athrow, thrown
                except StopAsyncIteration:
                    pass
                finally:
                    with self:
                        await made.aclose()
        elif inspect.isgeneratorfunction(func):

            @functools.wraps(func)
            def wrapper(*args, **kwargs):
                made = func(*args, **kwargs)
                step, given = made.send, None
                try:
                    while True:
                        with self:  # while it is suspended, nothing of it runs
                            item = step(given)
                        try:
                            step, given = made.send, (yield item)
                        except GeneratorExit:
                            raise
                        except BaseException as thrown:
                            step, given = made.throw, thrown
                except StopIteration as over:
                    return over.value
                finally:
                    with self:
                        made.close()
        else:

            @functools.wraps(func)
            def wrapper(*args, **kwargs):
                with self:
                    return func(*args, **kwargs)

        wrapper._cairn_wrapped_for = self
        return wrapper

    def runctx(self, cmd, globals, locals):
        with self:
            exec(cmd, globals, locals)
        return self

    def run(self, cmd):
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runcall(self, func, /, *args, **kw):
        with self:
            return func(*args, **kw)

    # --- what came of it ---

    @property
    def timer_unit(self):
        """Seconds that a time in the stats stands for."""
        return UNIT

    def get_stats(self):
        scale = self._lines.unit() / UNIT
        sums = {}
        for code, rows in self._lines.get():
            key = (code.co_filename, code.co_firstlineno, name_of(code))
            lines = sums.setdefault(key, {})
            for line, hits, time, _ in rows:
                before = lines.get(line, (0, 0))
                lines[line] = (before[0] + hits, before[1] + time)
        return LineStats(
            {
                key: [(line, hits, round(time * scale)) for line, (hits, time) in sorted(lines.items())]
                for key, lines in sums.items()
            },
            UNIT,
        )

    def dump_stats(self, filename, *, without=None):
        """`without` what is defined in that file."""
        stats = self.get_stats()
        stats.timings = {key: rows for key, rows in stats.timings.items() if key[0] != without}
        stats.to_file(filename)

    dump_while_it_runs = dump_stats

    def print_stats(self, stream=None, output_unit=None, **options):
        self.get_stats().print(stream=stream, output_unit=output_unit, **options)


def load_ipython_extension(shell):
    """`%load_ext cairn.line_profiler`: %lprun alone."""
    from cairn import _ipython

    shell.register_magic_function(_ipython.CairnMagics(shell).lprun, "line", "lprun")


# --- @profile in a program ---

OFF = {"", "0", "off", "false", "f", "no", "n"}


def is_of_multiprocessing():
    """Whether another process had this one import its program."""
    process = sys.modules.get("multiprocessing.process")
    program = getattr(sys.modules["__main__"], "__name__", "")
    return program == "__mp_main__" or (
        process is not None and process.parent_process() is not None
    )


SETUP = {"environ_flags": ["LINE_PROFILE"], "cli_flags": ["--line-profile", "--line_profile"]}
WRITE = {"output_prefix": "profile_output", "lprof": True, "text": True, "timestamped_text": True,
         "stdout": True}  # fmt: skip
SHOW = {"sort": True, "stripzeros": True, "rich": True, "details": False, "summarize": True}


class GlobalProfiler:
    """`profile`: a decorator that does nothing unless LINE_PROFILE=1, --line-profile is among the
    program's words, or enable() was called."""

    def __init__(self, config=None):
        self._config = config
        self.setup_config = _lpconfig.merged(SETUP, _lpconfig.load(config, "setup"))
        self.write_config = _lpconfig.merged(WRITE, _lpconfig.load(config, "write"))
        self.show_config = _lpconfig.merged(SHOW, _lpconfig.load(config, "show"))
        self.output_prefix = self.write_config.pop("output_prefix")
        self._profile = None
        self._pid = 0
        self.enabled = None

    def __bool__(self):
        return self.enabled is not False

    def _decide(self):
        flags = self.setup_config["environ_flags"]
        asked = any(os.environ.get(flag, "").lower() not in OFF for flag in flags)
        if asked or any(flag in sys.argv for flag in self.setup_config["cli_flags"]):
            self.enable()
        else:
            self.enabled = False

    def enable(self, output_prefix=None):
        if self._profile is None:
            atexit.register(self.show)
            self._profile = LineProfiler()
            self._pid = os.getpid()
        self.enabled = True
        if output_prefix is not None:
            self.output_prefix = output_prefix

    def disable(self):
        self.enabled = False

    def __call__(self, func):
        if self.enabled is None:
            self._decide()
        return self._profile(func) if self.enabled else func

    def show(self):
        """Prints the summary, and writes PREFIX.txt, the same with the time in its name, and
        PREFIX.lprof; not in children."""
        if os.getpid() != self._pid or is_of_multiprocessing():
            return
        stats = self._profile.get_stats()
        if self.write_config["stdout"]:
            stats.print(sys.stdout, config=self._config, **self.show_config)
        written = [name for name, wanted in (
            (f"{self.output_prefix}.txt", self.write_config["text"]),
            (time.strftime(f"{self.output_prefix}_%Y-%m-%dT%H%M%S.txt"), self.write_config["timestamped_text"]),
        ) if wanted]  # fmt: skip
        for name in written:
            with open(name, "w", encoding="utf-8") as file:
                stats.print(file, config=self._config, **{**self.show_config, "details": True})
            print(f"Wrote profile results to {name}")
        if self.write_config["lprof"]:
            name = f"{self.output_prefix}.lprof"
            stats.to_file(name)
            print(f"Wrote profile results to {name}\nTo view details run:")
            print(f"{sys.executable} -m cairn.line_profiler -rtmz {name}")


profile = GlobalProfiler()


if __name__ == "__main__":
    from cairn import _line_profiler

    sys.exit(_line_profiler.main())

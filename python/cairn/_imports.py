"""`cairn imports`: a program with each of its imports timed, and what of it was compiled.

The import system's own functions are wrapped before the program begins, so modules that the
interpreter starts with have no rows. Nothing but atexit, which is built in, is imported here that a
program might import itself: it would find that ready.
"""
import atexit
import os
import sys
from time import perf_counter as clock
from time import thread_time as cpu_clock

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
from _thread import get_ident

from cairn import _frames

USAGE = (
    "usage: cairn imports [--python PATH] [--json] [-o FILE] [-n ROWS] SCRIPT.py ARGS | -m MODULE ARGS"
)
ROWS = 25
SPLIT_S = 2.0  # for compiling once more what was compiled, to tell its stages apart
SPLIT_TIMES = 3
ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
HIDDEN = "_call_with_frames_removed"  # frames of this name are left out of tracebacks


class Row:
    """One import of one module."""

    __slots__ = ("module", "by", "thread", "begun_s", "total_s", "inner_s", "find_s", "load_s",
                 "compile_s", "busy", "unpacked", "sources", "failed", "kind", "file", "stages")  # fmt: skip

    def __init__(self, module, by, thread):
        self.module, self.by, self.thread = module, by, thread
        self.total_s = self.inner_s = self.find_s = self.load_s = self.compile_s = 0.0
        self.busy = self.unpacked = self.failed = False
        self.sources = []  # [(source, path)] of what was compiled
        self.stages = None  # (parse_s, bytecode_s)
        self.kind = self.file = None
        self.begun_s = clock()

    def facts(self):
        parse_s, bytecode_s = self.stages or (None, None)
        return {
            "module": self.module,
            "by": self.by and self.by.module,
            "kind": self.kind,
            "file": self.file,
            "self_s": self.total_s - self.inner_s,
            "total_s": self.total_s,
            "find_s": self.find_s,
            "load_s": self.load_s,
            "cached": not self.sources if self.sources or self.unpacked else None,
            "compile_s": self.compile_s,
            "parse_s": parse_s,
            "bytecode_s": bytecode_s,
            "failed": self.failed,
        }


class Recorder:
    def __init__(self):
        self.rows = []
        self.under_way = {}  # thread: its rows that are not over, outermost first
        self.names = {}  # module: the thread that imports it

    def current(self):
        stack = self.under_way.get(get_ident())
        return stack[-1] if stack else None

    def begin(self, name):
        thread = get_ident()
        stack = self.under_way.setdefault(thread, [])
        row = Row(name, stack[-1] if stack else None, thread)
        stack.append(row)
        self.rows.append(row)
        self.names[name] = thread
        return row

    def end(self, row):
        row.total_s = clock() - row.begun_s
        self.under_way[row.thread].remove(row)
        if not any(other.module == row.module for other in self.under_way[row.thread]):
            self.names.pop(row.module, None)
        if row.by is not None:
            row.by.inner_s += row.total_s
        row.kind, row.file = kind_of(sys.modules.get(row.module))
        row.failed = sys.modules.get(row.module) is None
        if not row.find_s and not row.failed:
            self.drop(row)

    def drop(self, row):
        """It was never looked for: its package imported it before it was its turn."""
        self.rows.remove(row)
        for other in self.rows:
            if other.by is row:
                other.by = row.by

    def is_new(self, name):
        """Whether an import is one: not of what is there, nor of what another thread imports."""
        return name not in sys.modules and self.names.get(name, get_ident()) == get_ident()

    def install(self):
        hide(bootstrap, "_find_and_load", self.import_around)
        hide(bootstrap, "_find_spec", self.spend("find_s", lambda name, *rest: name))
        for loader in (external.SourceLoader, external.SourcelessFileLoader):
            hide(loader, "get_code", self.spend("load_s", lambda loader, name: name))
        hide(external.SourceLoader, "source_to_code", self.compile_around)
        hide(external, "_compile_bytecode", self.unpack_around)
        zipimport = sys.modules.get("zipimport")
        if hasattr(zipimport, "_compile_source"):
            hide(zipimport, "_compile_source", self.zipped_around)
            hide(zipimport, "_unmarshal_code", self.unpack_around)

    # Each gets what it is around, and returns what takes its place. Within `inner` nothing may be
    # called that can fail: it is left out of tracebacks.

    def import_around(self, original):
        def inner(name, import_):
            if not self.is_new(name):
                return original(name, import_)
            row = self.begin(name)
            try:
                return original(name, import_)
            finally:
                self.end(row)

        return inner

    def spend(self, member, name_of):
        """Time goes to the module that is being imported, if it is spent on that one, without that
        of what it imports."""

        def around(original):
            def inner(*args, **kwargs):
                row, begun_s = self.current(), clock()
                if row is None or row.busy or name_of(*args) != row.module:
                    return original(*args, **kwargs)
                before_s = row.inner_s + row.compile_s
                row.busy = True
                try:
                    return original(*args, **kwargs)
                finally:
                    row.busy = False
                    others_s = row.inner_s + row.compile_s - before_s
                    spent_s = clock() - begun_s - others_s
                    setattr(row, member, getattr(row, member) + spent_s)

            return inner

        return around

    def compile_around(self, original):
        def inner(loader, data, path, *args, **kwargs):
            row, begun_s = self.current(), clock()
            try:
                return original(loader, data, path, *args, **kwargs)
            finally:
                if row and getattr(loader, "name", row.module) == row.module:
                    row.compile_s += clock() - begun_s
                    row.sources.append((data, path))

        return inner

    def zipped_around(self, original):
        def inner(path, source, *rest):
            row, begun_s = self.current(), clock()
            try:
                return original(path, source, *rest)
            finally:
                if row:
                    row.compile_s += clock() - begun_s
                    row.sources.append((source, path))

        return inner

    def unpack_around(self, original):
        def inner(*args, **kwargs):
            row = self.current()
            if row and row.busy:  # within its get_code()
                row.unpacked = True
            return original(*args, **kwargs)

        return inner


def hide(owner, name, around):
    """Puts a wrapper in the place of a function; tracebacks show neither, as they do with the
    import system's own frames."""
    original = getattr(owner, name)
    wrapper = around(original)
    wrapper.__code__ = wrapper.__code__.replace(
        co_filename=bootstrap._find_and_load.__code__.co_filename, co_name=HIDDEN
    )
    setattr(owner, name, wrapper)


KINDS = {"BuiltinImporter": "built-in", "FrozenImporter": "frozen",
         "SourceFileLoader": "source", "SourcelessFileLoader": "bytecode",
         "ExtensionFileLoader": "extension", "NamespaceLoader": "namespace",
         "_NamespaceLoader": "namespace"}  # fmt: skip


def kind_of(module):
    """(what it is made of, its file), without asking the module for what it may have to make."""
    try:
        spec = object.__getattribute__(module, "__dict__").get("__spec__")
        loader, file = spec.loader, spec.origin if spec.has_location else None
    except Exception:
        return None, None
    if loader is None:
        return "namespace", None
    name = (loader if isinstance(loader, type) else type(loader)).__name__
    return KINDS.get(name, "other"), file


# --- the program ---


def new_main():
    """The names of a new __main__, which stays."""
    main = sys.modules["__main__"] = type(sys)("__main__")
    main.__builtins__ = sys.modules["builtins"]
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    return main.__dict__


def run_script(path):
    import _io

    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    if sys.version_info >= (3, 9):
        path = os.path.abspath(path)  # as the interpreter has it from then on
    try:
        with _io.open_code(path) as file:
            source = file.read()
    except OSError as failure:
        sys.exit(f"cairn: {path}: {failure.strerror}")
    names = new_main()
    names.update(__file__=path, __loader__=external.SourceFileLoader("__main__", path))
    if sys.version_info < (3, 15):
        names["__cached__"] = None
    more = {"module": "__main__"} if sys.version_info >= (3, 15) else {}
    exec(compile(source, path, "exec", dont_inherit=True, **more), names)


def run_module(name):
    import runpy

    new_main()
    runpy._run_module_as_main(name)  # as the interpreter does


def run_archive(path):
    import runpy

    runpy.run_path(path, run_name="__main__")


# --- what is told ---


def least_s(works):
    """How long each takes where nothing comes between: in turns, so that a slower moment is no one's."""
    least = [float("inf")] * len(works)
    for _ in range(SPLIT_TIMES):
        for i, work in enumerate(works):
            begun_s = cpu_clock()
            work()
            least[i] = min(least[i], cpu_clock() - begun_s)
    return least


def stages(source, path):
    """(parse_s, bytecode_s) by compiling once more: the parser, which makes the tree as it reads; and
    from the tree to bytecode. What it takes to show the tree to Python, which an import does not do,
    is in both ways through it, and taken off. None: the three do not go together."""
    tree = compile(source, path, "exec", ONLY_AST, dont_inherit=True)
    whole_s, tree_s, code_s = least_s((
        lambda: compile(source, path, "exec", dont_inherit=True),
        lambda: compile(source, path, "exec", ONLY_AST, dont_inherit=True),
        lambda: compile(tree, path, "exec", dont_inherit=True)))  # fmt: skip
    shown_s = max(tree_s + code_s - whole_s, 0) / 2
    return (tree_s - shown_s, code_s - shown_s) if shown_s < min(tree_s, code_s) else None


def split(rows):
    until_s = clock() + SPLIT_S
    for row in sorted(rows, key=lambda row: -row.compile_s):
        if clock() > until_s:
            return
        try:
            parts = [stages(source, path) for source, path in row.sources]
        except Exception:
            continue  # it did not compile the first time either
        if None in parts:
            continue
        parse_s, bytecode_s = sum(part[0] for part in parts), sum(part[1] for part in parts)
        share = parse_s / (parse_s + bytecode_s)
        row.stages = (row.compile_s * share, row.compile_s * (1 - share))


def split_undisturbed(rows):
    """Without the garbage collection that the trees would cause, of which an import makes none."""
    import gc
    import warnings

    collects = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            split(rows)
    finally:
        if collects:
            gc.enable()


def summary(facts, rows):
    compiled = [row for row in rows if row["cached"] is False]
    return {
        "schema": 1,
        "rows": rows,
        "imports": len(rows),
        "total_s": sum(row["self_s"] for row in rows),
        "compiled": len(compiled),
        "compile_s": sum(row["compile_s"] for row in rows),
        **facts,
    }


def as_text(told, limit):
    ms = "{:9.2f}".format
    lines = [
        f"{told['imports']} imports in {told['total_s'] * 1e3:.1f} ms; {told['compiled']} compiled, "
        f"{told['compile_s'] * 1e3:.1f} ms of that"
    ]
    split_rows = [row for row in told["rows"] if row["parse_s"] is not None]
    if split_rows:
        parse_s = sum(row["parse_s"] for row in split_rows)
        whole_s = sum(row["compile_s"] for row in split_rows)
        lines.append(
            f"compiling: {100 * parse_s / whole_s:.0f} % parser, {100 - 100 * parse_s / whole_s:.0f} % "
            "from the tree to bytecode (estimated by compiling once more)"
        )
    if told["compiled"] and told["keeps_bytecode"] is False:
        lines.append("bytecode is not kept: PYTHONDONTWRITEBYTECODE or -B is set")
    lines += ["times in ms; self is without what the module imports",
              "     self     total      find   compile  cached  module"]  # fmt: skip
    rows = sorted(told["rows"], key=lambda row: -row["self_s"])
    for row in rows[:limit]:
        cached = {True: "yes", False: "no", None: "-"}[row["cached"]]
        note = " (failed)" if row["failed"] else f" ({row['kind']})" * (row["cached"] is None)
        lines.append(
            f"{ms(row['self_s'] * 1e3)} {ms(row['total_s'] * 1e3)} {ms(row['find_s'] * 1e3)} "
            f"{ms(row['compile_s'] * 1e3)}  {cached:6}  {row['module']}{note}"
        )
    if len(rows) > limit:
        rest_s = sum(row["self_s"] for row in rows[limit:])
        lines.append(f"{ms(rest_s * 1e3)} in {len(rows) - limit} more: -n {len(rows)}, or --json")
    return "\n".join(lines) + "\n"


def tell(recorder, options):
    """To stderr, which is not the program's output; JSON to stdout."""
    rows, recorder.rows = recorder.rows, []  # what is imported from here on is ours
    for row in rows:
        if row in recorder.under_way[row.thread]:
            row.total_s, row.failed = clock() - row.begun_s, True  # the program ended within it
    split_undisturbed([row for row in rows if row.sources])
    import json

    facts = {"python": sys.version.split()[0], "keeps_bytecode": not sys.dont_write_bytecode}
    told = summary(facts, [row.facts() for row in rows])
    text = json.dumps(told, indent=1) + "\n" if options["json"] else as_text(told, options["rows"])
    for stream in (sys.stdout, sys.stderr):  # what the program printed comes first
        try:
            stream.flush()
        except Exception:
            pass  # it may have put anything there, or closed it
    out = options["out"] or (1 if options["json"] else 2)
    try:
        with open(out, "w", encoding="utf-8", closefd=out not in (1, 2)) as file:
            file.write(text)
    except OSError as failure:
        os.write(2, f"cairn: {options['out'] or 'output'}: {failure.strerror}\n".encode())


def usage(why):
    print(f"cairn: {why}\n       {USAGE}", file=sys.stderr)
    return 2


def read_options(words):
    """The options, and the program's words; a text instead: why not."""
    options = {"json": False, "out": None, "rows": ROWS, "module": False}
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        name, given, value = word.partition("=")
        if word == "--json":
            options["json"] = True
        elif word in ("-m", "-o", "-n") or name in ("--out", "--output", "--limit"):
            if not given and not words:
                return f"{word} takes a value"
            value = value if given else words.pop(0)
            if word == "-m":
                options["module"] = True
                return options, [value, *words]
            if name in ("-o", "--out", "--output"):
                options["out"] = os.path.abspath(value)
            elif not value.isdigit():
                return f"{name} takes a number, not {value!r}"
            else:
                options["rows"] = int(value)
        elif word == "--":
            break
        elif name == "--python":
            # The command has read it already where it stands first: it says who reads the others.
            return "--python stands in front of the other options"
        else:
            return f"no option {word} of `cairn imports`"
    return (options, words) if words else "which program?"


def main():
    words = sys.argv[1:]
    if words in (["-h"], ["--help"]):
        print(f"{USAGE}\n\n{__doc__}")
        return 0
    read = read_options(words)
    if isinstance(read, str):
        return usage(read)
    options, words = read
    sys.argv[:] = words
    recorder, pid = Recorder(), os.getpid()
    atexit.register(lambda: os.getpid() == pid and tell(recorder, options))
    for name in [name for name in sys.modules if name.partition(".")[0] == "cairn"]:
        del sys.modules[name]
    recorder.install()
    try:
        if options["module"]:
            run_module(words[0])
        elif os.path.isdir(words[0]) or words[0].endswith((".pyz", ".zip")):
            run_archive(words[0])
        else:
            run_script(words[0])
    except BaseException:
        _frames.hide_ours()
        raise
    return 0

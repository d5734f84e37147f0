"""`%load_ext cairn` in IPython and Jupyter: %prun, %lprun and %%cairn.

%prun and %lprun take the words that those of IPython and line_profiler take, and show the same
text; %%cairn samples a cell and shows the report, and in a notebook the page of it.
"""
import ast
import builtins
import contextlib
import html
import io
import os
import subprocess
import sys
import tempfile

from IPython.core import page
from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
)
from IPython.display import display

CELL_OPTIONS = "o:r:t"
PRUN_OPTIONS = "D:l:rs:T:q"
LPRUN_OPTIONS = "rszT:D:f:m:u:"

# The page runs its own script and gives files to save; it is of no origin, so it reaches nothing of
# the notebook.
FRAME = (
    '<iframe title="Cairn" sandbox="allow-scripts allow-downloads" srcdoc="{}" '
    'style="width: 100%; height: 720px; border: 1px solid #8884"></iframe>'
)


def limit(text):
    """As pstats takes it: so many rows, a share of them, or a pattern."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@magics_class
class CairnMagics(Magics):
    @no_var_expand
    @line_cell_magic
    def prun(self, line, cell=None):
        """%prun [-l LIMIT] [-s KEY] [-T FILE] [-D FILE] [-q] [-r] STATEMENT

        Counts and times the calls that a statement, or with %%prun a cell, makes.

        -l  so many rows, a share of them, or those whose name has this in it; repeatable
        -s  what pstats is to sort by (time); repeatable
        -T  the text goes into this file, too
        -D  the statistics go into this file, for pstats
        -q  nothing is shown
        -r  the pstats.Stats is the magic's value
        """
        import pstats

        from cairn import cprofile

        options, code = self.parse_options(line, PRUN_OPTIONS, list_all=True, posix=False)
        if cell is not None:
            code += "\n" + cell
        profile, ended = cprofile.Profile(), ""
        try:
            profile.runctx(
                self.shell.transform_cell(code), self.shell.user_ns, self.shell.user_ns
            )
        except SystemExit:
            ended = "*** SystemExit exception caught in code being profiled."
        text = io.StringIO()
        stats = pstats.Stats(profile, stream=text).strip_dirs()
        stats.sort_stats(*options.get("s", ["time"]))
        stats.print_stats(*map(limit, options.get("l", [])))
        stats.stream = sys.stdout  # for who gets it
        shown = text.getvalue().rstrip()
        if "q" not in options:
            page.page(shown)
        print(ended, end=" ")
        for file in options.get("D", [])[:1]:
            profile.dump_stats(file)
            print(f"\n*** Profile stats marshalled to file {file!r}.{ended}")
        for file in options.get("T", [])[:1]:
            with open(file, "w", encoding="utf-8") as out:
                out.write(shown)
            print(f"\n*** Profile printout saved to text file {file!r}.{ended}")
        return stats if "r" in options else None

    def _functions(self, options):
        """What -f and -m name."""
        for expression in options.get("f", []):
            try:
                yield eval(expression, self.shell.user_global_ns, self.shell.user_ns)
            except Exception as failure:
                raise UsageError(
                    f"Could not find function {expression}.\n{type(failure).__name__}: {failure}"
                ) from None

    def _profiler(self, options):
        import importlib

        from cairn.line_profiler import LineProfiler

        profiler = LineProfiler(*self._functions(options))
        for name in options.get("m", []):
            try:
                profiler.add_module(importlib.import_module(name))
            except Exception as failure:
                raise UsageError(
                    f"Could not find module {name}.\n{type(failure).__name__}: {failure}"
                ) from None
        return profiler

    @line_magic
    def lprun(self, line):
        """%lprun [-f FUNCTION] [-m MODULE] [-u SECONDS] [-z] [-T FILE] [-D FILE] [-r] STATEMENT

        Counts and times the lines of functions, while a statement runs.

        -f  a function, method or class, as an expression without blanks; repeatable
        -m  all functions of a module; repeatable
        -u  seconds in the unit that times are shown in
        -z, -s  functions that did not run are left out
        -T  the text goes into this file, too
        -D  the statistics go into this file, for `cairn line_profiler`
        -r  the LineProfiler is the magic's value
        """
        quoted = line.replace('"', r"\"").replace("'", r"\"")
        options, code = self.parse_options(quoted, LPRUN_OPTIONS, list_all=True)
        try:
            unit = float(options["u"][0]) if "u" in options else None
        except ValueError:
            raise TypeError("Timer unit setting must be a float.") from None
        profiler, ended = self._profiler(options), None
        with decorator(profiler):
            try:
                profiler.runctx(code, self.shell.user_global_ns, self.shell.user_ns)
            except (SystemExit, KeyboardInterrupt) as failure:
                ended = f"{type(failure).__name__} exception caught in code being profiled."
        text = io.StringIO()
        profiler.print_stats(text, output_unit=unit, stripzeros="z" in options or "s" in options)
        shown = text.getvalue().rstrip()
        page.page(shown)
        for file in options.get("D", [])[:1]:
            profiler.dump_stats(file)
            print(f"\n*** Profile stats pickled to file {file!r}.")
        for file in options.get("T", [])[:1]:
            with open(file, "w", encoding="utf-8") as out:
                print(shown, file=out)
            print(f"\n*** Profile printout saved to text file {file!r}.")
        if ended:
            print(f"\n*** {ended}")
        return profiler if "r" in options else None

    @no_var_expand
    @line_cell_magic
    def cairn(self, line, cell=None):
        """%%cairn [-o FILE] [-r RATE] [-t], and a cell; or %cairn … STATEMENT

        Samples this process while the cell runs, and shows where its time went: as text, and in a
        notebook as a page.

        -o  the recording stays, in this file
        -r  so often: 1khz, 10khz, 100hz
        -t  the text alone
        """
        import cairn

        options, code = self.parse_options(line, CELL_OPTIONS, posix=False)
        if cell is not None:
            code += "\n" + cell
        with contextlib.ExitStack() as stack:
            out = options.get("o")
            if out is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cairn-"))
                out = os.path.join(folder, "cell.cairn")
            profile = cairn.profile(out=out, rate=options.get("r"))
            stack.callback(self._report, profile, "t" not in options)  # of a cell that fails, too
            with profile:
                return self._run(code)

    def _run(self, code):
        """The value of the last expression, which IPython shows."""
        code = self.shell.transform_cell(code)
        name = self.shell.compile.cache(code)
        tree = self.shell.compile.ast_parse(code, name)
        spaces = self.shell.user_global_ns, self.shell.user_ns
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), *spaces)
        if last is not None:
            return eval(compile(ast.Expression(last.value), name, "eval"), *spaces)

    def _report(self, profile, page_too):
        import cairn

        if profile.path is None:
            return  # it was said why
        command = cairn.find_command()
        ended = subprocess.run(
            [command, "report", profile.path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        print(ended.stdout.decode(errors="replace"))
        if page_too and hasattr(self.shell, "kernel"):
            show_page(command, profile.path)


def show_page(command, recording):
    """The page of a recording, in a frame of its own; what went wrong with it is said."""
    with tempfile.TemporaryDirectory(prefix="cairn-") as folder:
        file = os.path.join(folder, "page.html")
        ended = subprocess.run(
            [command, "html", "-o", file, recording], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        if ended.returncode:
            print(ended.stderr.decode(errors="replace"))
            return
        with open(file, encoding="utf-8") as written:
            text = FRAME.format(html.escape(written.read()))
    shown = {"text/html": text, "text/plain": "the page of the recording"}
    display(shown, raw=True)


@contextlib.contextmanager
def decorator(profiler):
    """@profile in the statement is the profiler's."""
    before = vars(builtins).get("profile", contextlib)
    builtins.profile = profiler
    try:
        yield
    finally:
        if before is contextlib:
            del builtins.profile
        else:
            builtins.profile = before


def load(shell):
    shell.register_magics(CairnMagics)

"""`python -m cairn.cprofile`: a program under the profiler, with cProfile's command line.

The program is the real __main__; its exit status is kept, and its traceback shows frames of its
own alone.
"""
import importlib.machinery
import importlib.util
import io
import os
import pstats
import runpy
import sys
from optparse import OptionParser

from cairn import _frames, cprofile

USAGE = "cProfile.py [-o output_file_path] [-s sort] [-m module | scriptfile] [arg] ..."
SORT = -1 if sys.version_info < (3, 11) else 2  # as that version's own has it


def options():
    parser = OptionParser(usage=USAGE, prog="cProfile.py")
    parser.allow_interspersed_args = False
    parser.add_option("-o", "--outfile", dest="outfile", help="Save stats to <outfile>")
    parser.add_option(
        "-s", "--sort", dest="sort", default=SORT,
        help="Sort order when printing to stdout, based on pstats.Stats class",
        choices=sorted(pstats.Stats.sort_arg_dict_default),
    )  # fmt: skip
    parser.add_option(
        "-m", dest="module", action="store_true", help="Profile a library module", default=False
    )
    return parser


def of_script(path):
    """A script's code, and the names it is to find: those of a new __main__."""
    sys.path.insert(0, os.path.dirname(path))
    with io.open_code(path) as file:
        source = file.read()
    if sys.version_info >= (3, 15):
        code = compile(source, path, "exec", module="__main__")
    else:
        code = compile(source, path, "exec")
    spec = importlib.machinery.ModuleSpec(name="__main__", loader=None, origin=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["__main__"] = module
    names = module.__dict__
    names.update(__spec__=None, __file__=path, __name__="__main__", __package__=None, __cached__=None)
    del names["__loader__"]  # cProfile has none; linecache asks it, where there is one, until 3.9
    return code, names


def of_module(name):
    code = "run_module(modname, run_name='__main__', alter_sys=True)"
    return code, {"run_module": runpy.run_module, "modname": name}


def profiled(make, word, outfile, sort):
    profile = cprofile.Profile()
    try:
        code, names = make(word)  # a program that is not there leaves an older file as it is
        try:
            profile.runctx(code, names, None)
        finally:
            cprofile.show(profile, outfile, sort)
    except BaseException:
        _frames.hide_ours()
        raise
    return 0


def main():
    parser = options()
    if not sys.argv[1:]:
        parser.print_usage()
        return 2
    chosen, words = parser.parse_args()
    sys.argv[:] = words
    # The program may change the folder it is in.
    outfile = None if chosen.outfile is None else os.path.abspath(chosen.outfile)
    if not words:
        parser.print_usage()
        return 2
    make = of_module if chosen.module else of_script
    try:
        return profiled(make, words[0], outfile, chosen.sort)
    except BrokenPipeError as failure:
        sys.stdout = None  # nobody reads it: no complaint about that at the end
        return failure.errno

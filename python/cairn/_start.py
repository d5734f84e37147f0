"""Starts a tool of this package in an interpreter that need not know where the package is.

`cairn NAME …` runs `PYTHON …/_start.py NAME …`: the program that is to run finds sys.path and
sys.argv as `python -m NAME …` would have set them, and nothing is put into the environment.
"""
import os
import sys
from _frozen_importlib_external import PathFinder  # which is there, and importlib need not be

NOT_SUPPORTED = 124


def begin():
    name = sys.argv.pop(1)
    safe = getattr(sys.flags, "safe_path", False)  # then no folder of a program comes first
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[: 0 if safe else 1] = [package]
    try:
        tool = __import__("cairn._" + name, fromlist=["main"])
    except ImportError as failure:
        if failure.name != "cairn._exact":
            raise
        python = f"{sys.executable} (Python {sys.version.split()[0]})"
        if "t" in getattr(sys, "abiflags", ""):
            print(f"cairn: {python} is a free-threaded build, which is not supported yet", file=sys.stderr)
            return NOT_SUPPORTED
        print(
            f"cairn: there is no engine for {python}\n"
            "       It is built for each CPython 3.8 to 3.15 whose headers are there: install "
            "those,\n       and run `make build` again.",
            file=sys.stderr,
        )
        return NOT_SUPPORTED
    try:
        sys.path[:1] = [] if safe else [os.getcwd()]
    except OSError:
        sys.path[0] = ""
    if name == "cprofile" and not safe:
        PathFinder.find_spec(name, sys.path[:1])  # -m has looked there: imports cost the same calls
    return tool.main()


sys.exit(begin())

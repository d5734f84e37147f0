#!/usr/bin/env python3
"""Writes inputs for fuzz_prof into tests/corpus/prof, by the Python that runs it.

usage: make_prof_corpus.py

One file for each version of marshal that this Python writes, with references and without, one as
the pure-Python profiler leaves it with the code of its script, and one with the mark of samples.
"""
import marshal
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "corpus" / "prof"


def stats():
    main = ("/srv/app/main.py", 3, "main")
    work = ("/srv/app/lib/work.py", 10, "größe")
    built = ("~", 0, "<built-in method builtins.len>")
    return {
        main: (1, 1, 0.25, 2.0, {}),
        work: (3, 8, 1.5, 1.75, {main: (3, 3, 0.5, 1.75), work: (5, 0, 1.0, 1.0)}),
        built: (2**40, 2**40, 0.25, 0.25, {work: (2**40, 2**40, 0.25, 0.25)}),
        ("/srv/app/other/work.py", 10, "größe"): (1, 1, 0, 0, {main: (1, 1, 0.0, 0.0)}),
    }


def plain():
    code = compile("def f(n):\n    return n and f(n - 1)\nf(3)\n", "script.py", "exec")
    main, inner = ("profile", 0, code), ("script.py", 1, "f")
    return {
        ("profile", 0, "profiler"): (0, 0, 0, 0, {}),
        main: (1, 1, 0.1, 0.3, {("profile", 0, "profiler"): 1}),
        inner: (1, 4, 0.2, 0.2, {main: 1, inner: 3}),
    }


def main():
    FOLDER.mkdir(exist_ok=True)
    name = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for version in range(2, marshal.version + 1):
        (FOLDER / f"{name}-{version}").write_bytes(marshal.dumps(stats(), version))
    (FOLDER / f"{name}-code").write_bytes(marshal.dumps(plain()))
    (FOLDER / f"{name}-sampled").write_bytes(marshal.dumps({("__sampled__",): True, **stats()}))


main()

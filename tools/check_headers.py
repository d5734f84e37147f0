#!/usr/bin/env python3
"""Compiles each header of src/ alone, and twice in one file.

usage: check_headers.py SOURCE_ROOT CC FOLDER:ALLOWED,ALLOWED...
"""
import os
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc", "-"]


def main() -> int:
    root, compiler, rules = pathlib.Path(sys.argv[1]), shlex.split(sys.argv[2]), sys.argv[3:]

    def compile_alone(job):
        folders, header = job
        dirs = [f"-I{root / 'src' / folder}" for folder in folders]
        text = f'#include "{header.name}"\n#include "{header.name}"\n'
        done = subprocess.run(compiler + dirs + FLAGS, input=text, text=True, timeout=60,
                              stderr=subprocess.PIPE)
        return header, done.returncode, done.stderr

    jobs = []
    for rule in rules:
        folder, _, below = rule.partition(":")
        folders = [folder, *filter(None, below.split(","))]
        jobs += [(folders, header) for header in sorted((root / "src" / folder).glob("*.h"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compile_alone, jobs))
    bad = [result for result in results if result[1]]
    for header, _, errors in bad:
        print(f"{header}: does not compile alone\n{errors}")
    print(f"{len(results)} headers, {len(bad)} faults")
    return 1 if bad or not results else 0


sys.exit(main())

#!/usr/bin/env python3
"""Compiles every source of src/ for aarch64, and prints TAP.

usage: check_aarch64.py SOURCE_ROOT BUILD_ROOT FOLDER:ALLOWED,ALLOWED...

The libraries we link are not there for aarch64, but their headers are the same on both, so all of
the C can be compiled, if not linked: that finds what was written for one processor only.
"""
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

COMPILER = "aarch64-linux-gnu-gcc"
# -idirafter: the cross compiler's own C library comes first, this machine's headers last.
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", '-DCAIRN_VERSION="0"', "-O1", "-Wall", "-Wextra", "-Wno-psabi", "-c",
         "-o", "/dev/null", "-idirafter", "/usr/include", "-idirafter",
         "/usr/include/x86_64-linux-gnu"]


def main() -> int:
    root, build, rules = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    if not shutil.which(COMPILER):
        print(f"1..0 # SKIP {COMPILER} is not there: make deps installs it")
        return 0

    def compile_one(job):
        folders, source = job
        # Generated headers lie in the build folder, under the same folder's name.
        dirs = [f"-I{base / 'src' / folder}" for folder in folders for base in (root, build)]
        done = subprocess.run([COMPILER, *dirs, *FLAGS, str(source)], text=True, timeout=120,
                              stderr=subprocess.PIPE)
        return source.relative_to(root), done.returncode, done.stderr

    jobs = []
    for rule in rules:
        folder, _, below = rule.partition(":")
        folders = [folder, *filter(None, below.split(","))]
        jobs += [(folders, source) for source in sorted((root / "src" / folder).glob("*.c"))]
    print(f"1..{len(jobs)}")
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (source, code, errors) in enumerate(pool.map(compile_one, jobs), 1):
            bad = code != 0 or "warning:" in errors
            failed += bad
            print("\n".join(f"# {line}" for line in errors.splitlines()) if bad else "", end="")
            print("\n" if bad else "", f"{'not ok' if bad else 'ok'} {number} - {source}", sep="")
    return 1 if failed or not jobs else 0


sys.exit(main())

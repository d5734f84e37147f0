#!/usr/bin/env python3
"""Holds the C of src/ and tests/ against .clang-format; --fix rewrites what differs.

usage: check_format.py SOURCE_ROOT [--fix]
"""
import pathlib
import shutil
import subprocess
import sys


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not tool:
        print("clang-format is not there: make deps installs it")
        return 1
    files = sorted(p for folder in ("src", "tests/unit", "tests/fuzz")
                   for p in (root / folder).rglob("*") if p.suffix in (".c", ".h"))
    bad = []
    for path in files:
        text = path.read_bytes()
        want = subprocess.run([tool, "--style=file", f"--assume-filename={path}"], input=text,
                              stdout=subprocess.PIPE, check=True, timeout=60).stdout
        if want == text:
            continue
        bad.append(path)
        if "--fix" in sys.argv:
            path.write_bytes(want)
        else:
            rows = zip(text.splitlines(), want.splitlines())
            line = next((n for n, (a, b) in enumerate(rows, 1) if a != b), 1)
            print(f"{path}:{line}: not as .clang-format has it")
    if bad:
        print(f"fixed {len(bad)}" if "--fix" in sys.argv else "tools/check_format.py . --fix")
    print(f"{len(files)} files, {len(bad)} faults")
    return 1 if (bad and "--fix" not in sys.argv) or not files else 0


sys.exit(main())

#!/usr/bin/env python3
"""No source and no test may lie in the tree without being built and run.

usage: check_listed.py SOURCE_ROOT BUILD_ROOT

Every .c of src/ must be compiled into something, every tests/unit/test_*.c and
tests/fuzz/fuzz_*.c must be a test. Sizes are held to the house rules: a file of more than 600
lines or a header of more than 200 must say why, in a line with "long because".
"""
import json
import pathlib
import subprocess
import sys


def main() -> int:
    root, build = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    told = subprocess.run(["meson", "introspect", "--targets", build], check=True, text=True,
                          stdout=subprocess.PIPE, timeout=60).stdout
    built = {pathlib.Path(name).resolve() for target in json.loads(told)
             for group in target["target_sources"] for name in group["sources"]}
    told = subprocess.run(["meson", "introspect", "--tests", build], check=True, text=True,
                          stdout=subprocess.PIPE, timeout=60).stdout
    tests = {test["name"] for test in json.loads(told)}
    faults = []
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in (".c", ".h"))
    for path in files:
        if path.suffix == ".c" and path.resolve() not in built:
            faults.append(f"{path}: not in its folder's meson.build")
        lines, most = path.read_text().splitlines(), 600 if path.suffix == ".c" else 200
        if len(lines) > most and not any("long because" in line for line in lines):
            faults.append(f"{path}: {len(lines)} lines, and no word why it is more than {most}")
    for path in sorted((root / "tests/unit").glob("test_*.c")):
        if path.stem.removeprefix("test_") not in tests:
            faults.append(f"{path}: not in tests/unit/meson.build")
    for path in sorted((root / "tests/fuzz").glob("fuzz_*.c")):
        if f"corpus_{path.stem.removeprefix('fuzz_')}" not in tests:
            faults.append(f"{path}: not in tests/fuzz/meson.build")
    print("\n".join(faults))
    print(f"{len(files)} files, {len(tests)} tests, {len(faults)} faults")
    return 1 if faults or not files else 0


sys.exit(main())

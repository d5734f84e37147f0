#!/usr/bin/env python3
"""Holds every #include of src/ against the rules of src/meson.build, which passes them.

usage: check_floors.py SOURCE_ROOT FOLDER:ALLOWED,ALLOWED...

A project header is included by its bare name and lives in the same folder or in one that the
folder may include. A file name is used once in the tree, so that a bare name means one file.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def main() -> int:
    src = pathlib.Path(sys.argv[1]) / "src"
    allowed = {}
    for rule in sys.argv[2:]:
        folder, _, below = rule.partition(":")
        allowed[folder] = {folder, *filter(None, below.split(","))}
    faults = []
    homes = {}
    files = sorted(p for p in src.rglob("*") if p.suffix in (".c", ".h", ".def"))
    for path in files:
        folder = path.relative_to(src).parts[0]
        if folder not in allowed:
            faults.append(f"{path}: a folder that src/meson.build has no floor for")
        if path.name in homes:
            faults.append(f"{path}: {homes[path.name]}/ has a file of that name, too")
        homes[path.name] = folder
    includes = 0
    for path in files:
        folder = path.relative_to(src).parts[0]
        for match in INCLUDE.finditer(path.read_text()):
            quoted, angled = match.groups()
            line = path.read_text().count("\n", 0, match.start()) + 1
            includes += 1
            name = quoted or angled
            if quoted and "/" in name:
                faults.append(f"{path}:{line}: {name}: include by bare name")
            elif angled and name in homes:
                faults.append(f"{path}:{line}: {name}: a header of ours, in angle brackets")
            elif quoted and name in homes and homes[name] not in allowed.get(folder, ()):
                faults.append(f"{path}:{line}: {folder} may not include {homes[name]}/{name}")
    print("\n".join(faults))
    print(f"{len(files)} files, {includes} includes, {len(faults)} faults")
    return 1 if faults or not includes else 0


sys.exit(main())

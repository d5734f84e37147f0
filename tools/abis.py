#!/usr/bin/env python3
"""Lists the CPythons that extension modules are built for, one line an ABI, tab separated:

    .cpython-312-x86_64-linux-gnu.so  HEADERS  HEADERS-OF-LAST-RESORT  3.12.1

usage: abis.py BUILD_ROOT [--changed]

Found are pyenv's versions, the system's, and those that tools/interpreters.sh has unpacked into
build/interp; with $CAIRN_PYTHONS only those that it names, with colons between. What has no headers is said on stderr and left out. The list is also kept in
BUILD_ROOT/abis; with --changed it is not printed, and the status is 0 when it is another one than
that.
"""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUPPORTED = range(8, 16)
ASK = """
import json, sys, sysconfig
print(json.dumps([sys.implementation.name, sys.version_info[:3],
                  sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_paths()["include"],
                  bool(sysconfig.get_config_var("Py_GIL_DISABLED"))]))
"""


def candidates():
    if "CAIRN_PYTHONS" in os.environ:
        return [pathlib.Path(path) for path in os.environ["CAIRN_PYTHONS"].split(":")]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob("*/bin/python3"))
    return found + [pathlib.Path(f"/usr/bin/python3.{minor}") for minor in SUPPORTED]


def installed():
    for path in candidates():
        if not path.exists():
            continue
        try:
            told = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True,
                                  timeout=60, check=True).stdout
            name, version, suffix, headers, free = json.loads(told)
        except (OSError, subprocess.SubprocessError, ValueError):
            print(f"abis: {path} does not answer", file=sys.stderr)
            continue
        if name == "cpython" and version[1] in SUPPORTED:
            yield str(path), version, suffix, headers, "", free


def unpacked():
    listing = ROOT / "build" / "interp" / "list"
    asked = listing.exists() and "CAIRN_PYTHONS" not in os.environ
    for line in listing.read_text().splitlines() if asked else ():
        version, folder, name = line.split()
        minor = re.match(r"python3\.(\d+)(.*)", name)
        suffix = f".cpython-3{minor[1]}{minor[2]}-{platform.machine()}-linux-gnu.so"
        # Debian keeps a part of them in a folder of the architecture, named from the top.
        yield (f"{folder}: {name}", version.split("."), suffix, f"{folder}/usr/include/{name}",
               f"{folder}/usr/include", "t" in minor[2])


def main():
    kept = pathlib.Path(sys.argv[1]) / "abis"
    lines = {}
    for name, version, suffix, headers, last, free in [*installed(), *unpacked()]:
        shown = ".".join(map(str, version))
        if free:
            print(f"abis: {name}: without a GIL, which is not supported yet", file=sys.stderr)
        elif not (pathlib.Path(headers) / "Python.h").exists():
            print(f"abis: {name}: no module for it, because {headers}/Python.h is not there",
                  file=sys.stderr)
        else:
            lines.setdefault(suffix, "\t".join([suffix, headers, last, shown]) + "\n")
    text = "".join(lines.values())
    if "--changed" in sys.argv:
        return 0 if not kept.exists() or kept.read_text() != text else 1
    kept.write_text(text)
    print(text, end="")
    return 0


sys.exit(main())

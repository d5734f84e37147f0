#!/usr/bin/env python3
"""Looks at the program as linked: hardened, and needing only what docs/dependencies.md names.

usage: check_elf.py PROGRAM
"""
import re
import subprocess
import sys

ALLOWED = {"libc", "libm", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64", "libzstd",
           "libxxhash", "libz", "libprotobuf-c", "libpcre2-8"}
# Parsers of foreign ELF and DWARF: what the collector reads as root it reads by its own bounded
# code (SECURITY.md). They may come back in a child that has no rights.
UNCAGED = {"libelf", "libdw"}
SANITIZERS = {"libasan", "libubsan", "libtsan", "libgcc_s", "libstdc++", "libdl", "librt",
              "libresolv"}


def main() -> int:
    told = subprocess.run(["readelf", "-hdlW", sys.argv[1]], check=True, text=True, timeout=60,
                          stdout=subprocess.PIPE).stdout
    needed = {re.match(r"[^.]*", name)[0]
              for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told)}
    faults = [f"it needs {name}, which is not in docs/dependencies.md"
              for name in sorted(needed - ALLOWED - UNCAGED - SANITIZERS)]
    faults += [f"it parses foreign files by {name} in the process that has the rights"
               for name in sorted(needed & UNCAGED)]
    wanted = {
        "position independent": r"^\s*Type:\s+DYN",
        "bound at start (now)": r"\(FLAGS(_1)?\).*NOW",
        "relocations read-only (relro)": r"^\s*GNU_RELRO",
        "without an executable stack": r"^\s*GNU_STACK\s.*\sRW\s",
    }
    faults += [f"it is not {what}" for what, pattern in wanted.items()
               if not re.search(pattern, told, re.MULTILINE)]
    print(*faults, f"needs {' '.join(sorted(needed))}; {len(faults)} faults", sep="\n")
    return 1 if faults or not needed else 0


sys.exit(main())

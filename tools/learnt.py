#!/usr/bin/env python3
"""What the fuzzing targets learnt: an archive a target, in tests/corpus/learnt.

    learnt.py pack FOLDER ARCHIVE       keeps the inputs of FOLDER, the same bytes for the same inputs
    learnt.py unpack ARCHIVE FOLDER     adds them to FOLDER
    learnt.py replay ARCHIVE PROGRAM    gives them to PROGRAM (tests/fuzz/replay.c): one test, TAP

Seeds and inputs that once found a fault lie in tests/corpus/<target> as files of their own, and are
a test each; these are thousands that nobody has looked at.
"""
import lzma
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def pack(folder: Path, archive: Path) -> int:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(archive, "wb", preset=9 | lzma.PRESET_EXTREME) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for path in sorted(folder.iterdir()):
                entry = tarfile.TarInfo(path.name)
                entry.size = path.stat().st_size
                with path.open("rb") as data:
                    tar.addfile(entry, data)
    print(f"{archive}: {len(list(folder.iterdir()))} inputs, {archive.stat().st_size} bytes")
    return 0


def unpack(archive: Path, folder: Path) -> list:
    """The names of the inputs. No archive holds a folder, and no name leads out of this one."""
    names = []
    with tarfile.open(archive, "r:xz") as tar:
        for entry in tar:
            if not entry.isfile() or entry.name != os.path.basename(entry.name):
                raise SystemExit(f"{archive}: {entry.name!r} is no input")
            (folder / entry.name).write_bytes(tar.extractfile(entry).read())
            names.append(entry.name)
    return names


def replay(archive: Path, program: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        names = unpack(archive, Path(folder))
        command = shlex.split(os.environ.get("CAIRN_TEST_WRAP", "")) + [program, folder]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="backslashreplace")
    lines = ended.stdout.splitlines()
    passed = sum(line.startswith("ok ") for line in lines)
    failed = ended.returncode != 0 or passed != len(names) or not names
    print("1..1")
    if failed:  # the last one that was named is the one that it ended with
        print(f"# status {ended.returncode}, {passed} of {len(names)} inputs passed")
        print("\n".join([line for line in lines if not line.startswith("ok ")][-3:]))
    print(f"{'not ok' if failed else 'ok'} 1 - {archive.name}: {len(names)} inputs")
    return int(failed)


def main() -> int:
    what, first, second = sys.argv[1:]
    if what == "pack":
        return pack(Path(first), Path(second))
    if what == "replay":
        return replay(Path(first), second)
    Path(second).mkdir(parents=True, exist_ok=True)
    unpack(Path(first), Path(second))
    return 0


sys.exit(main())

#!/usr/bin/env python3
"""Writes a C header that holds a text file as a string; with --sha256 also the base64 of its hash,
as a Content-Security-Policy names it.

usage: embed.py NAME INPUT OUTPUT [--sha256]
"""
import base64
import hashlib
import pathlib
import sys

PIECE = 80  # bytes a line; a character of several bytes may be split


def main() -> None:
    name, source, target = sys.argv[1:4]
    data = pathlib.Path(source).read_bytes()
    lines = [f"/* {pathlib.Path(source).name}, as written by tools/embed.py */",
             f"static const char {name}[] ="]
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        lines.append('    "' + "".join(map(quoted, piece)) + '"')
    lines[-1] += ";"
    if "--sha256" in sys.argv[4:]:
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        lines.append(f'static const char {name}_sha256[] = "{digest}";')
    pathlib.Path(target).write_text("\n".join(lines) + "\n")


def quoted(byte: int) -> str:
    if byte in b'"\\' or byte < 32 or byte > 126 or byte == ord("?"):
        return f"\\{byte:03o}"  # of fixed length: what follows cannot be taken for a part of it
    return chr(byte)


main()

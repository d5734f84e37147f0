#!/usr/bin/env python3
"""Writes a C header that holds a text file as a string.

usage: embed.py NAME INPUT OUTPUT
"""
import pathlib
import sys

PIECE = 80  # bytes a line; a character of several bytes may be split


def main() -> None:
    name, source, target = sys.argv[1:]
    data = pathlib.Path(source).read_bytes()
    lines = [f"/* {pathlib.Path(source).name}, as written by tools/embed.py */",
             f"static const char {name}[] ="]
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        lines.append('    "' + "".join(map(quoted, piece)) + '"')
    pathlib.Path(target).write_text("\n".join(lines) + ";\n")


def quoted(byte: int) -> str:
    if byte in b'"\\' or byte < 32 or byte > 126 or byte == ord("?"):
        return f"\\{byte:03o}"  # of fixed length: what follows cannot be taken for a part of it
    return chr(byte)


main()

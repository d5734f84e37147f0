#!/usr/bin/env python3
"""Writes src/base/width.def, the columns of characters on a terminal, from Python's own copy of
the Unicode data:  python3.14 tools/make_width.py > src/base/width.def

Newer Pythons know newer Unicode; run it with the newest at hand.
"""
import sys
import unicodedata

SOFT_HYPHEN = 0xAD  # a format character, but terminals show it
JAMO_VOWELS_AND_TAILS = range(0x1160, 0x1200)  # they join the wide syllable before them
# In these blocks what is not assigned yet will be wide (UAX #11).
WIDE_WHEN_ASSIGNED = [range(0x20000, 0x2FFFE), range(0x30000, 0x3FFFE)]


def width(point):
    char = chr(point)
    category = unicodedata.category(char)
    if point == SOFT_HYPHEN:
        return 1
    if category in ("Cc", "Cf", "Me", "Mn", "Zl", "Zp") or point in JAMO_VOWELS_AND_TAILS:
        return 0
    if any(point in block for block in WIDE_WHEN_ASSIGNED):
        return 2
    if category == "Cn":
        return 1
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def ranges():
    first, current = 0, width(0)
    for point in range(1, sys.maxunicode + 2):
        here = width(point) if point <= sys.maxunicode else None
        if here != current:
            if current != 1:
                yield first, point - 1, current
            first, current = point, here


def main():
    version = unicodedata.unidata_version
    print(f"/* width.def: X(first, last, columns), every character that is not one column wide.")
    print(f" * Unicode {version}; written by tools/make_width.py. */")
    print("/* clang-format off */")
    line = ""
    for first, last, columns in ranges():
        item = f"X(0x{first:x}, 0x{last:x}, {columns})"
        if len(line) + 1 + len(item) > 100:
            print(line)
            line = ""
        line = f"{line} {item}".lstrip()
    print(line)
    print("/* clang-format on */")


if __name__ == "__main__":
    main()

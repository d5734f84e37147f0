"""What CPython itself says about its line tables: run by test_linetable_oracle with each interpreter.

Compiles the modules of this interpreter's standard library and writes, for every code object in
them, the raw table and the place of every instruction. Little-endian:
    u8 kind (enum cairn_linetable_kind), u32 first line, u32 bytes of the table, the table,
    u32 instructions, then for each: u32 offset, line, end line, column, end column
0xffffffff stands for none. usage: linetable_oracle.py [MODULES]
"""
import dis
import glob
import os
import struct
import sys
import types
import warnings

NONE = 0xFFFFFFFF


def places_lnotab(code):
    """3.8, 3.9: dis.findlinestarts() is CPython's own reading of the table."""
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        yield offset, line, NONE, NONE, NONE


def places_lines(code):
    """3.10: co_lines()."""
    for start, end, line in code.co_lines():
        for offset in range(start, end, 2):
            yield offset, line or 0, NONE, NONE, NONE


def places_positions(code):
    """3.11 on: co_positions(), one for each code unit."""
    for unit, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        yield (2 * unit, line or 0, end_line or 0,
               NONE if column is None else column,
               NONE if end_column is None else end_column)


if sys.version_info >= (3, 11):
    KIND, table_of, places_of = 3, lambda code: code.co_linetable, places_positions
elif sys.version_info >= (3, 10):
    KIND, table_of, places_of = 2, lambda code: code.co_linetable, places_lines
else:
    KIND, table_of, places_of = 1, lambda code: code.co_lnotab, places_lnotab


def codes_below(code):
    waiting = [code]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]


def codes_of_stdlib(modules):
    folder = os.path.dirname(os.__file__)
    paths = sorted(glob.glob(os.path.join(folder, "*.py")))
    paths += sorted(glob.glob(os.path.join(folder, "[a-hj-s]*", "*.py")))
    for path in paths[:modules]:
        try:
            with open(path, "rb") as source, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield from codes_below(compile(source.read(), path, "exec"))
        except (SyntaxError, ValueError):
            pass  # files that are there to be refused


def main():
    out = sys.stdout.buffer
    for code in codes_of_stdlib(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        table = table_of(code)
        places = list(places_of(code))
        out.write(struct.pack("<BII", KIND, code.co_firstlineno, len(table)))
        out.write(table)
        out.write(struct.pack("<I", len(places)))
        out.write(b"".join(struct.pack("<5I", *place) for place in places))


main()

"""Writes seeds for fuzz_linetable into tests/corpus/linetable: tables of this interpreter.

usage: make_linetable_corpus.py FOLDER; run it with interpreters of each kind (3.9, 3.10, 3.12).
"""
import os
import struct
import sys
import types

SOURCE = '''
def short(): return 1
def spread(a,
           b=(1, 2)):
    try:
        for x in [a, b, (a if b else
                         c(a))]:
            yield x.y.z(
                *a,
                **b)
    except Error as error:
        raise Other from error
    finally:
        with a as f, b: pass
''' + "\n" * 300 + "far = lambda: (\n" + "\n" * 200 + "1)\n"

KIND = 3 if sys.version_info >= (3, 11) else 2 if sys.version_info >= (3, 10) else 1


def main():
    waiting = [compile(SOURCE, "seed", "exec")]
    while waiting:
        code = waiting.pop()
        table = code.co_lnotab if KIND == 1 else code.co_linetable
        name = "%d.%d-%s" % (sys.version_info[0], sys.version_info[1], code.co_name.strip("<>"))
        with open(os.path.join(sys.argv[1], name), "wb") as seed:
            seed.write(struct.pack("<BI", KIND, code.co_firstlineno) + table)
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]


main()

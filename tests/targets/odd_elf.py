"""Maps an ELF file that was made to keep a reader of it busy, and then works like any program.

    odd_elf.py FILE

4,095 symbol tables, each of a million symbols whose names lie far apart; sparse on the disk.
Prints {"ready": PID} and works until its stdin ends.
"""
import ctypes
import json
import mmap
import os
import select
import struct
import sys

SECTIONS, SYMBOLS = 4096, 1 << 20
TABLE, NAMES = 1 << 20, 1 << 30  # where in the file they lie
PAGE = 4096
LOW = 0x10000  # the lowest address there may be: files are looked into in their order


libc_mmap = ctypes.CDLL(None).mmap
libc_mmap.restype = ctypes.c_void_p
libc_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def write(path):
    with open(path, "wb") as file:
        ident = b"\x7fELF\x02\x01\x01" + bytes(9)
        # type DYN, x86-64, 1; entry, program headers at 64, section headers at 128
        head = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 128, 0, 64, 56, 1, 64, SECTIONS, 0)
        segment = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, PAGE, PAGE, PAGE)
        names = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, NAMES, 1 << 31, 0, 0, 1, 0)
        table = struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, TABLE, SYMBOLS * 24, 0, 1, 8, 24)
        file.write(ident + head + segment + bytes(8) + names + table * (SECTIONS - 1))
        file.seek(TABLE)
        for i in range(SYMBOLS):  # name, info, other, section 1, value 1, size
            file.write(struct.pack("<IBBHQQ", i * 524287 % (1 << 31), 17, 0, 1, 1, 8))
        file.truncate(NAMES + (1 << 31))


def main():
    write(sys.argv[1])
    with open(sys.argv[1], "r+b") as file:
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE
        where = libc_mmap(LOW, PAGE, protection, flags, file.fileno(), 0)
    assert where == LOW, where
    print(json.dumps({"ready": os.getpid()}), flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        sum(range(1000))


if __name__ == "__main__":
    main()

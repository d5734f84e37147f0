"""Runs a command whose system calls of the given names answer EPERM, as a container's filter does.

    refuse.py perf_event_open|process_vm_readv|seccomp[,...] COMMAND ARG...

x86-64 and aarch64; the filter stays with everything the command starts.
"""
import ctypes
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"perf_event_open": 298, "process_vm_readv": 310, "seccomp": 317},
    "aarch64": {"perf_event_open": 241, "process_vm_readv": 270, "seccomp": 277},
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER = (0x20, 0, 0, 0)  # the system call's number is the first word of the data
ALLOW, REFUSE = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | 1)  # EPERM


def main():
    numbers = [NUMBERS[platform.machine()][name] for name in sys.argv[1].split(",")]
    rules = [LOAD_NUMBER]
    for number in numbers:
        rules += [(0x15, 0, 1, number), REFUSE]
    rules.append(ALLOW)
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(program), 0, 0
    ):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[2], sys.argv[2:])


main()

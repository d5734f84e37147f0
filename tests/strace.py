"""Lets system calls of Cairn fail, one kind after the other, by Debian's strace.

strace traces the command it starts and no child of it: what Cairn runs or looks at is never touched.
"""
import re
import select
import shutil
import time
from collections import Counter

import pytest

import harness

CALL = re.compile(r"^(\w+)\(")
# The first call of Cairn's own; what is before it is the loader's, who has messages of its own.
BEGIN = "fcntl(0, F_GETFD)"
# Not failed: those that do not come back; brk, which answers with the old end and no error; close,
# which closes all the same, while strace leaves it out altogether.
NEVER_FAIL = {"exit_group", "execve", "rt_sigreturn", "brk", "close"}
USUAL = ["EPERM", "EIO", "ENOMEM"]
# What there may be too little of later on fails from the middle on, too.
RUN_OUT = {"mmap", "openat", "process_vm_readv", "write"}
ERRORS = {
    "clock_nanosleep": ["EINTR", "EINVAL", "EPERM"],
    "clone": ["EAGAIN", "ENOMEM", "EPERM"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP", "EINTR"],
    "ftruncate": ["EIO", "EINTR", "EPERM"],
    "getdents64": ["ENOENT", "EIO", "ESRCH"],
    "getrandom": ["ENOSYS", "EINTR", "EPERM"],
    "kill": ["ESRCH", "EPERM"],
    "mmap": ["ENOMEM", "EPERM"],
    "openat": ["EMFILE", "EACCES", "ENOENT", "EIO", "EINTR", "ENOSPC", "ESRCH"],
    "perf_event_open": ["EMFILE", "EACCES", "ENOSYS", "ESRCH", "EINTR", "EPERM"],
    "poll": ["EINTR", "ENOMEM"],
    "pread64": ["ESRCH", "EIO", "EINTR", "EPERM"],
    "process_vm_readv": ["EFAULT", "ESRCH", "EPERM", "ENOMEM", "EINTR"],
    "read": ["EIO", "ESRCH", "EINTR", "EPERM"],
    "wait4": ["ECHILD", "EINTR", "EPERM"],
    "write": ["ENOSPC", "EIO", "EINTR", "EPIPE", "EFBIG"],
}


def traced(folder, options, command, **more):
    """Runs the command; its calls are in folder/calls, its output and status are its own."""
    log = folder / "calls"
    log.unlink(missing_ok=True)
    return harness.execute(["strace", "-qq", "-o", log, *options, *command], **more)


def traced_until(cairn, options, command, enough):
    """The same of `command`, which goes on until its stdin ends: as soon as `enough()`. How much of it
    is seen in a given time is the machine's to say, where each call waits for strace's turn."""
    watch = ["strace", "-qq", "-o", cairn.folder / "calls", *options]
    process = harness.spawn([*watch, *command], **cairn.options({}))
    until = time.monotonic() + harness.DEADLINE_S
    try:
        while process.poll() is None and not enough() and time.monotonic() < until:
            select.select([process.stdout], [], [], 0.1)
    except BaseException:
        harness.end_group(process)
        raise
    return harness.finish(process)


def require():
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: run `make deps`")
    if harness.execute(["strace", "-qq", "-o", "/dev/null", "true"]).status != 0:
        pytest.skip("this machine does not let strace trace a child")


def counts(folder):
    """How often each call is made by the loader, and how often by Cairn."""
    loader, own = Counter(), Counter()
    at = loader
    for line in (folder / "calls").read_text(errors="replace").splitlines():
        if line.startswith(BEGIN):
            at = own
        match = CALL.match(line)
        if match:
            at[match[1]] += 1
    assert own, "Cairn made no call"
    return loader, own


def steps(folder, name, count):
    """(error, which, option) for `count` calls of this kind, spread over all that folder/calls tells
    of; the errors take turns."""
    loader, own = counts(folder)
    errors = ERRORS.get(name, USUAL)
    for i, at in enumerate(sorted({own[name] * k // count for k in range(count)})):
        error = errors[i % len(errors)]
        yield error, at, f"inject={name}:error={error}:when={loader[name] + at + 1}"


def plan(folder, every_error):
    """(call, error, which, option) for every kind of call that folder/calls tells of: at all of
    them, once at the first, once in the middle; of some at all from the middle on."""
    loader, own = counts(folder)
    for name in sorted(own.keys() - NEVER_FAIL):
        first, middle = loader[name] + 1, loader[name] + 1 + own[name] // 2
        whens = {"all": f"{first}+"}
        if own[name] > 1:
            whens.update(first=f"{first}", middle=f"{middle}")
        if own[name] > 1 and name in RUN_OUT:
            whens["rest"] = f"{middle}+"
        errors = ERRORS.get(name, USUAL)
        for i, (which, when) in enumerate(whens.items()):
            for error in errors if every_error else [errors[i % len(errors)]]:
                # What is interrupted is done again: for ever, if it always were.
                when = when + "2" if error == "EINTR" and when.endswith("+") else when
                yield name, error, which, f"inject={name}:error={error}:when={when}"

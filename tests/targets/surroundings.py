"""Tells what a program can see of how it was started; the same with and without a profiler."""
import __main__
import json
import os
import signal
import sys


def descriptors():
    """Number and kind of every open file but the one that lists them."""
    kinds = {}
    for number in sorted(map(int, os.listdir("/proc/self/fd"))):
        try:
            kinds[number] = os.readlink(f"/proc/self/fd/{number}").split(":")[0]
        except FileNotFoundError:
            pass
    return kinds


def signal_state():
    with open("/proc/self/status") as status:
        wanted = ("SigBlk", "SigIgn", "ShdPnd")
        return {line.split()[0]: line.split()[1] for line in status if line.startswith(wanted)}


print(
    json.dumps(
        {
            "argv": sys.argv,
            "orig_argv": getattr(sys, "orig_argv", None),  # from 3.10 on
            "path0": sys.path[0],
            "main": sorted(vars(__main__)),
            "file": __file__,
            "executable": sys.executable,
            "flags": repr(sys.flags),
            "environment": dict(os.environ),
            "descriptors": descriptors(),
            "signals": signal_state(),
            "int_handler": repr(signal.getsignal(signal.SIGINT)).split(" at ")[0],
            "umask": os.umask(0o022),
            "cwd": os.getcwd(),
            "nice": os.nice(0),
            "cpus": sorted(os.sched_getaffinity(0)),
        },
        indent=1,
        sort_keys=True,
    )
)

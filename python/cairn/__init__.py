"""Cairn, a profiler: the importable part, which finds and starts the `cairn` command.

`with cairn.profile(): …` and `@cairn.profile` sample the program that they stand in. In one that
`cairn run --exact`, --lines or --opcodes started, `cairn.stop()` ends the counting, and
`cairn.start()` goes on with it. `with cairn.region("load"): …`, `@cairn.timed` and
`cairn.mark(frame=17)` say what the program is at, to whoever records it.

Only the standard library, and only what every Python from 3.8 on understands: this runs inside
the interpreter that somebody wants to profile.
"""
import os
import sys

__all__ = ["find_command", "mark", "profile", "region", "start", "stop", "timed"]


def find_command():
    """The path of the `cairn` command that belongs to this package, or None.

    $CAIRN_BIN; else where a build folder has it, or an installation (PREFIX/bin beside
    PREFIX/share/cairn/python/cairn); else in this Python's own bin folder; else in PATH.
    """
    named = os.environ.get("CAIRN_BIN")
    if named:
        return named
    package = os.path.dirname(os.path.abspath(__file__))
    build = os.path.join(package, "..", "..")
    installed = os.path.join(package, "..", "..", "..", "..", "bin")
    for folder in (build, installed, os.path.join(sys.prefix, "bin")):
        path = os.path.normpath(os.path.join(folder, "cairn"))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    import shutil  # brings much along that a program may not have wanted

    return shutil.which("cairn")


def profile(function=None, *, out=None, rate=None):
    """Samples this process, from outside, while a block or a function runs.

        with cairn.profile() as profile: …       # profile.path is the recording
        @cairn.profile
        @cairn.profile(out="x.cairn", rate="10khz")

    Where no `out` is given the recording is a new file in .cairn/ here; an existing file is never
    written over. All threads are sampled, and what the process starts, where the system lets that be
    looked at. Each call of a decorated function makes a recording, but those that begin inside
    another block, which are part of it until that ends. When it cannot be sampled, stderr gets one
    message and the program goes on.
    """
    from cairn import _profile  # most of those who import the package do not need it

    return _profile.of(function, out, rate)


def start():
    """Counts calls, lines and instructions from now on, in all threads, where `cairn run` was asked
    to (with --toggle-signal nothing is counted before). Returns whether it was."""
    return _count(True)


def stop():
    """Counts nothing from now on. Returns as start() does."""
    return _count(False)


def _count(on):
    try:
        from cairn import _exact
    except ImportError:
        return False  # there is no such engine for this Python: then nothing is counted here
    return _exact.count(on)


def __getattr__(name):
    """region, timed and mark: those who ask for none need no extension module."""
    if name not in ("region", "timed", "mark"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cairn import _regions

    names = globals()
    names.update(region=_regions.region, timed=_regions.timed, mark=_regions.mark)
    if sys.version_info >= (3, 11):  # a name of a module with a __getattr__ takes 20 ns more
        names.pop("__getattr__", None)
    return names[name]


def load_ipython_extension(shell):
    """`%load_ext cairn`: %prun, %lprun and %%cairn."""
    from cairn import _ipython

    _ipython.load(shell)

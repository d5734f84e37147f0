"""cProfile's functions and class, on Cairn's own engine.

    import cairn.cprofile as cProfile

Each thread has a stack of its own, whoever started it and when; other profilers go on beside it.
What differs from the interpreter's own is in docs/compat.md.
"""
import sys

import cairn._exact as _exact

__all__ = ["run", "runctx", "Profile"]

# Every Python reads it, whichever wrote it: later ones have references that earlier do not know.
MARSHAL_VERSION = 2


def run(statement, filename=None, sort=-1):
    """Runs `statement` in __main__; the profile goes into a file, or is printed, sorted by `sort`."""
    import __main__

    runctx(statement, __main__.__dict__, __main__.__dict__, filename, sort)


def runctx(statement, globals, locals, filename=None, sort=-1):
    """The same, with the names that `statement` is to find."""
    profile = Profile()
    try:
        profile.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        show(profile, filename, sort)


def show(profile, filename, sort):
    if filename is None:
        profile.print_stats(sort)
    else:
        profile.dump_stats(filename)


class Profile(_exact.Profiler):
    """Profile(timer=None, timeunit=None, subcalls=True, builtins=True, *, types=False)

    `timer` tells seconds, or whole numbers of `timeunit` seconds. Without `subcalls` callers are
    not told apart, without `builtins` functions written in C are not counted; with `types` calls
    of classes have rows (from Python 3.12 on).
    """

    def print_stats(self, sort=-1):
        import pstats

        keys = sort if isinstance(sort, tuple) else (sort,)
        pstats.Stats(self).strip_dirs().sort_stats(*keys).print_stats()

    def dump_stats(self, file):
        self.create_stats()
        self._write(file)

    def _write(self, file):
        import marshal

        with open(file, "wb") as out:
            marshal.dump(self.stats, out, MARSHAL_VERSION)

    def create_stats(self):
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self):
        """What pstats reads: {(file, line, name): (primitive calls, calls, self, total, callers)}"""
        self.stats = {}
        entries = self.getstats()
        for entry in entries:
            key, sums = label(entry.code), sums_of(entry)
            before = self.stats.get(key)
            # Functions of one name may begin on one line: two lambdas, say.
            callers = before[4] if before else {}
            self.stats[key] = (*(added(before, sums) if before else sums), callers)
        for entry in entries:
            caller = label(entry.code)
            for callee in entry.calls or ():
                known = self.stats.get(label(callee.code))
                if known is None:
                    continue  # it is being called for the first time
                primitive, calls, own, total = sums_of(callee)
                sums = (calls, primitive, own, total)  # the other way round than above
                callers = known[4]
                callers[caller] = added(callers[caller], sums) if caller in callers else sums

    def run(self, cmd):
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func, /, *args, **kw):
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()

    def __enter__(self):
        self.enable()
        return self

    def __exit__(self, *exc_info):
        self.disable()


def sums_of(entry):
    calls = entry.callcount
    return calls - entry.reccallcount, calls, entry.inlinetime, entry.totaltime


def added(one, other):
    return tuple(a + b for a, b in zip(one, other))


def label(code):
    """How pstats calls what was called; functions of C sort to the end."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


if __name__ == "__main__":
    from cairn import _cprofile

    sys.exit(_cprofile.main())

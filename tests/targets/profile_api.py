"""What cairn.cprofile promises beyond numbers, each a function here; ends badly at the first fault.

usage: profile_api.py PACKAGE
"""
import gc
import io
import os
import pstats
import resource
import signal
import subprocess
import sys
import threading

sys.path.insert(0, sys.argv[1])

import cProfile  # noqa: E402

from cairn import cprofile  # noqa: E402

MONITORS = sys.version_info >= (3, 12)


def called():
    return len(())


def outer():
    return called()


def stats_of(profile):
    profile.create_stats()
    return {key[2]: value for key, value in profile.stats.items()}


def second_profile_is_refused():
    first, second = cprofile.Profile(), cprofile.Profile()
    first.enable()
    try:
        second.enable()
    except ValueError as refusal:
        assert "already active" in str(refusal)
    else:
        raise AssertionError("two profiles are enabled")
    finally:
        called()
        first.disable()
    second.enable()
    called()
    second.disable()
    assert stats_of(first)["called"][1] == stats_of(second)["called"][1] == 1


def again_and_again_adds_up():
    profile = cprofile.Profile()
    for _ in range(3):
        with profile as entered:
            assert entered is profile
            called()
    profile.disable()
    assert stats_of(profile)["called"][1] == 3
    profile.clear()
    assert stats_of(profile) == {}
    assert profile.runcall(outer) == 0
    assert stats_of(profile)["called"][4].keys() == {
        key for key in profile.stats if key[2] == "outer"
    }


def flags_are_honoured():
    for options in ({"builtins": False}, {"subcalls": False}):
        made, enabled = cprofile.Profile(**options), cprofile.Profile()
        made.enable()
        outer()
        made.disable()
        enabled.enable(**options)
        outer()
        enabled.disable()
        for stats in (stats_of(made), stats_of(enabled)):
            assert stats["outer"][1] == 1
            assert ("<built-in method builtins.len>" in stats) == ("builtins" not in options)
            assert bool(stats["called"][4]) == ("subcalls" not in options)


def deep_recursion_ends_well():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    depth = 6000 if sys.version_info < (3, 11) else 60000  # before, Python recurses in C itself
    sys.setrecursionlimit(depth + 1000)
    for builtins in (True, False):
        profile = cprofile.Profile(builtins=builtins)
        with profile:
            assert down(depth) == depth
        assert stats_of(profile)["down"][:2] == (1, depth + 1)
        tally = profile.tally()
        assert tally["lost"] == tally["healed"] == 0, tally
    sys.setrecursionlimit(1000)


def enabling_again_changes_the_flags():
    profile = cprofile.Profile()
    profile.enable(builtins=False)
    called()
    if MONITORS:  # as it is there
        try:
            profile.enable()
        except ValueError:
            pass
        else:
            raise AssertionError("it is enabled twice")
    else:
        profile.enable(builtins=True)
        called()
        profile.enable(builtins=False)
        called()
    profile.disable()
    stats = stats_of(profile)
    assert stats["called"][:2] == ((1, 1) if MONITORS else (3, 3)), stats
    assert "<built-in method builtins.len>" not in stats or stats[
        "<built-in method builtins.len>"
    ][:2] == (1, 1)


def types_have_rows_when_asked():
    if not MONITORS:
        try:
            cprofile.Profile(types=True)
        except ValueError:
            return
        raise AssertionError("calls of types cannot be seen here")
    for asked in (False, True):
        profile = cprofile.Profile(types=asked)
        with profile:
            for text in ("1", "2"):
                int(text)
            dict()
        stats = stats_of(profile)
        assert ("<class 'int'>" in stats) == ("<class 'dict'>" in stats) == asked
        assert not asked or stats["<class 'int'>"][:2] == (2, 2)


def unfinished_calls_are_ended():
    profile = cprofile.Profile()

    def begins():
        profile.enable()
        ends()

    def ends():
        called()
        assert "ends" not in {entry.code for entry in profile.getstats()}
        profile.disable()

    begins()
    stats = stats_of(profile)
    assert stats["ends"][:2] == (1, 1) and "begins" not in stats


def bad_timers_are_told():
    heard = []
    sys.unraisablehook, before = (lambda told: heard.append(told.exc_type)), sys.unraisablehook
    try:
        for timer, kind in (
            (lambda: "late", TypeError), (lambda: 1 / 0, ZeroDivisionError),
            (lambda: float("nan"), OverflowError), (7, TypeError),
        ):  # fmt: skip
            del heard[:]
            profile = cprofile.Profile(timer)
            profile.enable()
            outer()
            profile.disable()
            assert set(heard) == {kind}, (timer, heard)
            assert stats_of(profile)["called"][:2] == (1, 1)
        del heard[:]
        evil = cprofile.Profile(lambda: evil.disable())
        evil.enable()
        outer()
        evil.disable()
        assert set(heard) == {RuntimeError}
    finally:
        sys.unraisablehook = before


def exceptions_are_left_alone():
    def fails():
        raise KeyError("this one")

    for timer in (None, lambda: 1 / 0):
        sys.unraisablehook, before = (lambda told: None), sys.unraisablehook
        profile = cprofile.Profile(timer)
        profile.enable()
        try:
            fails()
        except KeyError as failure:
            seen = failure
        try:
            {}.pop("nothing")
        except KeyError as failure:
            assert failure.args == ("nothing",)
        finally:
            profile.disable()
            sys.unraisablehook = before
        assert seen.args == ("this one",) and seen.__context__ is None


def subclasses_work():
    class Own(cprofile.Profile):
        def __init__(self, name):
            super().__init__(subcalls=False)
            self.name = name

        def enable(self, *args, **named):
            self.seen = True
            return super().enable(*args, **named)

    profile = Own("mine")
    profile.run("pass")
    assert profile.seen and profile.name == "mine"
    assert stats_of(profile)["<module>"][1] == 1


def functions_of_one_name_add_up():
    one, other = (lambda: called()), (lambda: called())  # the same line, the same name
    profile = cprofile.Profile()
    with profile:
        one()
        other()
        other()
    stats = stats_of(profile)
    assert stats["<lambda>"][:2] == (3, 3)
    assert next(iter(stats["called"][4].values()))[:2] == (3, 3)


def pstats_reads_it():
    told = io.StringIO()
    profile = cprofile.Profile()
    profile.runctx("outer()", globals(), {})
    stats = pstats.Stats(profile, stream=told).sort_stats("cumulative")
    stats.print_stats()
    stats.print_callers()
    assert "{built-in method builtins.len}" in told.getvalue()
    assert "{method 'disable' of '_lsprof.Profiler' objects}" in told.getvalue()


def a_fork_goes_on_by_itself():
    profile = cprofile.Profile()
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    profile.enable()
    other.start()
    called()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        called()
        thread = threading.Thread(target=called)
        thread.start()
        thread.join()
        profile.disable()
        os._exit(stats_of(profile)["called"][1] - 3)
    release.set()
    other.join()
    _, status = os.waitpid(child, 0)
    profile.disable()
    assert status == 0, status
    assert stats_of(profile)["called"][1] == 1


def an_own_profiler_goes_on_beside_it():
    """Each with its own right numbers: from 3.12 on they have different tools."""
    if not MONITORS:
        return
    theirs, ours = cProfile.Profile(), cprofile.Profile()
    theirs.enable()
    ours.enable()
    for _ in range(5):
        outer()
    ours.disable()
    outer()
    theirs.disable()
    theirs.create_stats()
    assert stats_of(ours)["called"][1] == 5
    assert {key[2]: value for key, value in theirs.stats.items()}["called"][1] == 6


def a_hostile_tool_takes_nothing():
    if not MONITORS:
        return
    monitoring = sys.monitoring
    monitoring.use_tool_id(5, "hostile")
    for name in ("PY_START", "PY_RETURN", "CALL"):
        event = getattr(monitoring.events, name)
        monitoring.register_callback(5, event, lambda *args: monitoring.DISABLE)
    profile = cprofile.Profile()
    with profile:
        monitoring.set_events(5, monitoring.events.CALL | monitoring.events.PY_START)
        for _ in range(3):
            outer()
            monitoring.restart_events()
        monitoring.set_events(5, 0)
        outer()
    monitoring.free_tool_id(5)
    stats = stats_of(profile)
    assert stats["called"][1] == stats["outer"][1] == 4
    assert stats["<built-in method builtins.len>"][1] == 4


def a_program_may_end_with_it():
    """Nobody turns it off: what still runs while Python ends is no reason to crash."""
    code = """
import atexit, sys, threading
sys.path.insert(0, sys.argv[1])
from cairn import cprofile

class Late:
    def __del__(self):
        self.helper()
    def helper(self):
        return len("x")

late, kept = Late(), cprofile.Profile(builtins=sys.argv[2] == "all")
sys.modules["late"] = Late()
atexit.register(lambda: Late())
kept.enable()
threading.Thread(target=Late).start()
if sys.argv[3] == "forget":
    del kept
print("end")
"""
    for which in ("all", "python"):
        for last in ("keep", "forget"):
            words = [sys.executable, "-c", code, sys.argv[1], which, last]
            ended = subprocess.run(words, capture_output=True, timeout=60)
            assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"end\n", b""), ended


def nothing_is_kept():
    """References and memory over many events: none is left behind."""

    def make():
        names = {}
        exec("def temporary():\n    return len(())\n", names)
        return names["temporary"]

    def round_of(count):
        profile = cprofile.Profile()
        function = make()
        code = function.__code__
        with profile:
            for _ in range(count):
                function()
        assert profile.getstats()
        during = sys.getrefcount(code)
        profile.clear()
        assert sys.getrefcount(code) == during - 1

    round_of(1000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        round_of(25000)
    gc.collect()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2048, f"{grown} KiB more after a million events"


for check in [value for value in list(globals().values()) if callable(value)]:
    if getattr(check, "__module__", None) == __name__ and check not in (called, outer, stats_of):
        check()
        print(check.__name__)

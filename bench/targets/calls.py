"""What it costs to count calls: CPU ns added to each by cProfile and by cairn.cprofile.

    calls.py PACKAGE REPEATS [FOLDER OF bare.c] [FOLDER OF VIZTRACER]

The two, on 3.15 cairn with --text-hook as well, "bare" where it was built, and a run without any take
turns; the least of each is taken, since whatever comes between adds. "bare" is what Cairn is told by,
with nothing behind it but, where calls are timed, a look at the clock. Prints {what: {tool: ns}}; "python" is a call and return of a Python function where
calls of C are not asked for, "c" a call of a builtin, "resume" a generator's resume and yield.
"timeline" is "python and c" with the time of each call kept, beside VizTracer where it is there;
"counted" is "python" where Cairn reads no clock and asks for no end of a call.
"""
import json
import shutil
import sys
import tempfile
import time

sys.path[:0] = [word for word in (sys.argv[1], *sys.argv[3:]) if word]

import cProfile  # noqa: E402

import cairn._exact  # noqa: E402
import cairn.cprofile  # noqa: E402

try:
    import _bare
except ImportError:
    _bare = None
try:
    from viztracer import VizTracer
except ImportError:
    VizTracer = None

COUNT = 50000
TOOLS = {"none": None, "cProfile": cProfile.Profile, "cairn": cairn.cprofile.Profile}
ROOM_BYTES = 16 << 20  # for all calls of a run
clock = time.process_time


def empty():
    pass


def python():
    numbers = range(COUNT)
    begun = clock()
    for _ in numbers:
        empty()
    return clock() - begun


def c():
    numbers, function, nothing = range(COUNT), len, ()
    begun = clock()
    for _ in numbers:
        function(nothing)
    return clock() - begun


def counting():
    for i in range(COUNT):
        yield i


def resume():
    begun = clock()
    for _ in counting():
        pass
    return clock() - begun


class Timeline:
    """What `cairn run --timeline` does to a program."""

    def enable(self, builtins):
        self.folder = tempfile.mkdtemp()
        self.profiler = cairn._exact.Profiler(builtins=builtins, apart=True)
        self.profiler.record(self.folder, [], True, ROOM_BYTES)

    def disable(self):
        self.profiler.end()
        shutil.rmtree(self.folder)


class Viz:
    def enable(self, builtins):
        self.tracer = VizTracer(tracer_entries=3 * COUNT, ignore_c_function=not builtins, verbose=0)
        self.tracer.start()

    def disable(self):
        self.tracer.stop()
        self.tracer.clear()


class Bare:
    """The events that cairn.cprofile asks for, and nobody who looks at them."""

    CALLS = ("PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND")
    BUILTINS = ("CALL", "C_RETURN", "C_RAISE")

    def __init__(self, events=CALLS, clock=True):
        self.events = events
        _bare.clock(clock)

    def enable(self, builtins=True):
        if sys.version_info >= (3, 12):
            self.listen(_bare.nothing, self.events + (self.BUILTINS if builtins else ()))
        elif builtins:
            _bare.profile(True)
        else:
            _bare.evaluate(True)

    def listen(self, callback, names):
        told = sys.monitoring
        events = [getattr(told.events, name) for name in names]
        if callback:
            told.use_tool_id(told.PROFILER_ID, "bare")
        for event in events:
            told.register_callback(told.PROFILER_ID, event, callback)
        asked = [event for event in events if event not in (told.events.C_RETURN, told.events.C_RAISE)]
        told.set_events(told.PROFILER_ID, sum(asked) if callback else 0)
        if not callback:
            told.free_tool_id(told.PROFILER_ID)

    def disable(self):
        if sys.version_info >= (3, 12):
            self.listen(None, self.CALLS + self.BUILTINS)
        else:
            _bare.profile(False)
            _bare.evaluate(False)


def hooked():
    """As with `cairn run --text-hook`."""
    profile = cairn.cprofile.Profile()
    profile.hook()
    return profile


def counting_alone():
    """As with `cairn run --max-overhead` a function whose times were let go."""
    profile = cairn.cprofile.Profile()
    profile.count(empty.__code__ if sys.version_info >= (3, 12) else None)
    return profile


COUNTS = {**TOOLS, "cairn": counting_alone}
if _bare:
    TOOLS["bare"] = Bare
    COUNTS["bare"] = lambda: Bare(("PY_START",), clock=False)
if cairn._exact.Profiler().hook() is None:  # 3.15, and nothing speaks against it
    TOOLS["cairn, text hook"] = hooked
TIMELINES = {"none": None, "cairn": Timeline}
if VizTracer:
    TIMELINES["viztracer"] = Viz


def cost(work, tool, options):
    if tool is None:
        return work()
    profile = tool()
    profile.enable(**options)
    try:
        return work()
    finally:
        profile.disable()


def measured(work, options, repeats, tools=TOOLS):
    least = dict.fromkeys(tools, float("inf"))
    for _ in range(repeats):
        for name, tool in tools.items():
            least[name] = min(least[name], cost(work, tool, options))
    alone = least.pop("none")
    return {name: (time - alone) / COUNT * 1e9 for name, time in least.items()}


repeats = int(sys.argv[2])
print(json.dumps({
    "python": measured(python, {"builtins": False}, repeats),
    "counted": measured(python, {"builtins": False}, repeats, COUNTS),
    "python and c": measured(python, {}, repeats),
    "c": measured(c, {}, repeats),
    "resume": measured(resume, {"builtins": False}, repeats),
    "timeline": measured(python, {"builtins": True}, repeats, TIMELINES),
}))  # fmt: skip

"""Programs in which others have to do with what tells of calls, for `cairn run --exact --text-hook`.

usage: hooked_work.py CASE [PACKAGE]

Each prints as JSON what it knows itself. PACKAGE: the folder that has `cairn`.
"""
import json
import os
import signal
import sys
import threading


def leaf():
    return len("leaf")


def steps(n):
    for i in range(n):
        yield i


def deep(n):
    return deep(n - 1) if n else leaf()


def fails(n):
    if n == 0:
        raise ValueError("as asked")
    fails(n - 1)


def some(n):
    """Of everything, n times."""
    for _ in range(n):
        leaf()
        deep(3)
        for _ in steps(2):
            [].append(int())
        try:
            fails(2)
        except ValueError:
            pass


def jump():
    """The first byte of each function that may have a jump; none where they are not known."""
    import ctypes

    names = ("_Py_call_instrumentation", "_Py_call_instrumentation_arg", "_Py_call_instrumentation_2args")
    try:
        places = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in names]
    except AttributeError:
        return []
    return [ctypes.string_at(place, 1)[0] for place in places]


def tool():
    """Another tool of sys.monitoring, in the middle; and one that ends events of ours."""
    told = {"PY_START": 0, "PY_RETURN": 0, "CALL": 0}
    some(10)
    if hasattr(sys, "monitoring"):
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(2, "another")
        for name in told:
            def note(code, *rest, name=name):
                told[name] += code is leaf.__code__
            sys.monitoring.register_callback(2, getattr(events, name), note)
        sys.monitoring.set_events(2, events.PY_START | events.PY_RETURN | events.CALL)
        some(7)
        sys.monitoring.set_events(2, 0)
        sys.monitoring.set_local_events(2, leaf.__code__, events.PY_START)
        some(5)
        sys.monitoring.register_callback(2, events.PY_START, lambda *_: sys.monitoring.DISABLE)
        some(4)
        sys.monitoring.restart_events()
        sys.monitoring.free_tool_id(2)
    some(20)
    print(json.dumps(told))


def profile():
    """A profile function, and a trace function, in the middle."""
    told = []

    def note(frame, event, arg):
        if frame.f_code is leaf.__code__:
            told.append(event)
        return note

    some(10)
    sys.setprofile(note)
    some(7)
    sys.setprofile(None)
    some(20)
    sys.settrace(note)
    some(3)
    sys.settrace(None)
    some(1)
    print(json.dumps([told.count(event) for event in ("call", "return", "c_call", "line")]))


# A tool of their own, with the number that Cairn has in the first interpreter, if it has not taken it here.
INSIDE = """
import sys
def one(): return len("one")
told = []
tools, start = sys.monitoring, sys.monitoring.events.PY_START
tool = next(tool for tool in (4, 3, 5) if tools.get_tool(tool) is None)
tools.use_tool_id(tool, "theirs")
tools.register_callback(tool, start, lambda code, place: told.append(code.co_name))
tools.set_events(tool, start)
for _ in range(3000): one()
tools.set_events(tool, 0)
tools.free_tool_id(tool)
assert told.count("one") == 3000, told.count("one")
"""


def interpreters():
    """Others, each with a GIL of its own, that are made and gone while this one counts."""
    made = 0
    try:
        import _interpreters
    except ImportError:
        _interpreters = None

    def run(one):
        nonlocal made
        failed = _interpreters.exec(one, INSIDE)
        made += failed is None

    for _ in range(3 if _interpreters else 0):
        ids = [_interpreters.create("isolated") for _ in range(2)]
        threads = [threading.Thread(target=run, args=(one,)) for one in ids]
        for thread in threads:
            thread.start()
        some(300)
        for thread in threads:
            thread.join()
        for one in ids:
            _interpreters.destroy(one)
    some(20)
    print(json.dumps(made))


def interpreters_alone():
    """The same, where nothing counts in them."""
    sys.path.insert(0, sys.argv[2])
    from cairn._exact import Profiler

    profiler = Profiler(apart=True, types=sys.version_info >= (3, 12))
    refused = profiler.hook()
    profiler.enable()
    interpreters()
    still = jump()
    profiler.disable()
    rows = {getattr(row.code, "co_name", row.code): row.callcount for row in profiler.getstats()}
    print(json.dumps({"refused": refused, "still": still, "gone": jump(), "leaf": rows["leaf"]}))


def toggled():
    """Counts 20 times 3, by a signal; before, between and behind it does not."""
    seen = []
    for n in (1, 20, 1, 20, 1, 20, 1):
        some(n)
        seen.append(jump())
        os.kill(os.getpid(), signal.SIGUSR2)
    some(0)
    print(json.dumps(seen))


def forks():
    some(5)
    children = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            some(10)
            thread = threading.Thread(target=some, args=(4,))
            thread.start()
            thread.join()
            if os.fork() == 0:
                some(2)
                os._exit(0)
            os.wait()
            os._exit(0)
        children.append(pid)
    ends = [os.waitpid(pid, 0)[1] for pid in children]
    some(5)
    print(json.dumps(ends))


def profilers():
    """Several, one after the other, and each twice: what each counted; and the jumps meanwhile."""
    sys.path.insert(0, sys.argv[2])
    from cairn._exact import Profiler

    counted, seen, refused = [], [], []
    for hooked in (False, True, True, False, True):
        profiler = Profiler(apart=True, types=sys.version_info >= (3, 12))
        refused.append(profiler.hook() if hooked else None)
        for _ in range(2):
            profiler.enable()
            some(5)
            seen.append([hooked, jump()])
            profiler.disable()
            seen.append([False, jump()])
            some(3)
        rows = {getattr(row.code, "co_name", row.code): row for row in profiler.getstats()}
        counted.append({name: [rows[name].callcount, rows[name].reccallcount]
                        for name in ("leaf", "deep", "steps", "fails", "some")})  # fmt: skip
    print(json.dumps({"counted": counted, "seen": seen, "refused": refused}))


def gates():
    """Code that is let go, and code whose calls are not timed."""
    sys.path.insert(0, sys.argv[2])
    from cairn._exact import Profiler

    told = []
    for hooked in (False, True):
        for prepare in (lambda it: it.only(["deep"]), lambda it: it.count(leaf.__code__)):
            if hasattr(sys, "monitoring"):
                sys.monitoring.restart_events()
            profiler = Profiler(apart=True, types=sys.version_info >= (3, 12))
            if hooked:
                profiler.hook()
            prepare(profiler)
            profiler.enable()
            some(20)
            on = jump()
            profiler.disable()
            rows = {getattr(row.code, "co_name", row.code): [row.callcount, row.reccallcount]
                    for row in profiler.getstats()}  # fmt: skip
            told.append({"rows": rows, "on": on, "hooked": hooked})
    print(json.dumps(told))


def write(name, change):
    """Changes the first bytes of what the interpreter exports under that name."""
    import ctypes

    place = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))
    libc, page = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p(place & -4096)
    assert libc.mprotect(page, 4096, 7) == 0  # all three
    ctypes.memmove(place, change(ctypes.string_at(place, 8)), 8)
    assert libc.mprotect(page, 4096, 5) == 0  # to be read, and run


def doubts():
    """What a profiler says of an interpreter that is not as it should be."""
    import builtins

    sys.path.insert(0, sys.argv[2])
    from cairn._exact import Profiler

    if sys.argv[3] == "version":
        write("Py_Version", lambda was: (int.from_bytes(was, "little") + (9 << 8)).to_bytes(8, "little"))
    elif sys.argv[3] == "breakpoint":
        write("_Py_call_instrumentation_arg", lambda was: b"\xcc" + was[1:])
    elif sys.argv[3] == "trial":
        length = len
        builtins.len = lambda many: length(many)
    profiler = Profiler(apart=True)
    print(json.dumps([profiler.hook(), jump()[:1] + jump()[2:], profiler.hook()]))
    if sys.argv[3] == "trial":
        profiler.enable()
        some(2)
        profiler.disable()


def beside():
    """What is there when counting begins keeps the jumps away."""
    sys.path.insert(0, sys.argv[2])
    from cairn._exact import Profiler

    profiler, seen = Profiler(), []
    refused = profiler.hook()

    def look():
        profiler.enable()
        seen.append(jump())
        profiler.disable()

    look()
    sys.monitoring.use_tool_id(3, "another")
    look()
    sys.monitoring.free_tool_id(3)
    sys.setprofile(lambda *_: None)
    look()
    sys.setprofile(None)
    try:
        import _interpreters
        one = _interpreters.create("isolated")
        look()
        _interpreters.destroy(one)
    except ImportError:
        seen.append(None)
    look()
    print(json.dumps({"refused": refused, "seen": seen}))


if __name__ == "__main__":
    globals()[sys.argv[1]]()

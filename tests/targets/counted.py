"""Calls that are counted: under cProfile, under cairn.cprofile, and under a slow tracer in Python.

usage: counted.py PACKAGE CASE: prints what the case found, as JSON; ends badly when a case that
judges itself finds a fault.
"""
import functools
import json
import sys
import threading
from contextlib import contextmanager

package, case = sys.argv[1:3]
sys.path.insert(0, package)

import cProfile  # noqa: E402

import cairn.cprofile  # noqa: E402

HERE = __file__
clock = 0  # in ms, turned by the program alone


def now():
    return clock


def spend(ms):
    global clock
    clock += ms


# --- what is called ---


def factorial(n):
    spend(2)
    result = n * factorial(n - 1) if n else 1
    spend(1)
    return result


def even(n):
    spend(3)
    return True if n == 0 else odd(n - 1)


def odd(n):
    spend(5)
    return False if n == 0 else even(n - 1)


def numbers(count):
    for i in range(count):
        spend(7)
        yield i


def delegates():
    spend(1)
    got = yield from numbers(3)
    spend(1)
    return got


def forgiving():
    for i in range(5):
        try:
            spend(2)
            yield i
        except KeyError:
            spend(11)
            yield "caught"


def tidy():
    try:
        spend(1)
        yield 1
        yield 2
    finally:
        spend(13)
        cleaned()


def cleaned():
    spend(1)


def fails(depth):
    spend(1)
    if depth == 0:
        raise ValueError("on purpose")
    fails(depth - 1)


def key_of(value):
    spend(4)
    return -value


def nested_key(value):
    spend(1)
    return sorted([value, 2, 1], key=key_of)[0] if value > 1 else value


@functools.lru_cache(maxsize=None)
def cached(n):
    spend(1)
    return n if n < 2 else cached(n - 1) + cached(n - 2)


@contextmanager
def within():
    spend(1)
    yield
    spend(1)


class Thing:
    def __init__(self, value):
        spend(1)
        self.value = value

    @property
    def twice(self):
        spend(2)
        return self.value * 2

    def __getattr__(self, name):
        spend(3)
        raise AttributeError(name)

    def __del__(self):
        spend(1)


class Wait:
    def __await__(self):
        spend(1)
        yield "waiting"
        spend(1)


async def awaits(depth):
    spend(2)
    if depth:
        await awaits(depth - 1)
    await Wait()
    spend(3)


async def generates():
    for i in range(3):
        spend(1)
        await Wait()
        yield i


async def consumes():
    async for _ in generates():
        spend(1)


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def plain():
    factorial(6)
    even(9)
    sorted([3, 1, 2], key=key_of)
    list(map(key_of, [1, 2]))
    functools.reduce(lambda a, b: a + b, [1, 2, 3])
    nested_key(3)
    cached(7)
    thing = Thing(4)
    len([thing.twice])
    hasattr(thing, "nothing")
    try:
        fails(4)
    except ValueError:
        spend(1)
    try:
        int("none")
    except ValueError:
        pass
    [].append(thing.value)
    "".join(str(n) for n in (1, 2))
    for _ in numbers(3):
        spend(1)
    list(delegates())
    max([1, 2], key=key_of)


def generators():
    for _ in numbers(4):
        spend(1)
    stopped = numbers(4)
    next(stopped)
    stopped.close()
    half = forgiving()
    next(half)
    half.throw(KeyError("caught"))
    try:
        half.throw(ValueError("not caught"))
    except ValueError:
        spend(1)
    numbers(4).close()
    try:
        numbers(4).throw(ValueError("before it began"))
    except ValueError:
        spend(1)
    closed = tidy()
    next(closed)
    closed.close()
    cleaned()
    any(n == 1 for n in numbers(4))
    try:
        next(numbers(0))
    except StopIteration:
        pass
    with within():
        spend(1)
    list(delegates())


def finalizers():
    """Generators that are ended by being forgotten: until 3.10 sys.setprofile is not told."""
    dropped = tidy()
    next(dropped)
    del dropped
    cleaned()
    left = awaits(2)
    left.send(None)
    del left
    cleaned()


def coroutines():
    drive(awaits(5))
    drive(consumes())
    left = awaits(2)
    left.send(None)
    left.close()
    cleaned()
    try:
        thrown = awaits(1)
        thrown.send(None)
        thrown.throw(ValueError("on purpose"))
    except ValueError:
        cleaned()


def deep():
    for n in (3, 300):
        try:
            fails(n)
        except ValueError:
            factorial(n)


# --- profiles as data ---


def rows(stats):
    """{function: [primitive calls, calls, self, total, {caller: ...}]}, with names as text."""

    def name(key):
        file, line, function = key
        return f"{'' if file == '~' else 'here' if file == HERE else file}:{line}:{function}"

    def rounded(values):
        return [round(value, 6) for value in values]

    return {
        name(key): [*rounded(value[:4]), {name(k): rounded(v) for k, v in value[4].items()}]
        for key, value in stats.items()
    }


def profiled(kind, work, **options):
    global clock
    clock = 0
    cached.cache_clear()
    profile = kind(now, 0.001)
    profile.enable(**options)
    work()
    profile.disable()
    profile.create_stats()
    return rows(profile.stats)


class Reference:
    """Levels for each function and pair, kept by sys.setprofile: the definition, slow and plain."""

    def __init__(self):
        self.stack, self.rows, self.pairs, self.c_calls = [], {}, {}, 0
        self.levels = {}

    def enter(self, frame, key):
        frames = [entry[0] for entry in self.stack]
        caller = frame.f_back
        if caller in frames:  # one whose end no event told of ended before
            while self.stack[-1][0] is not caller:
                self.leave()
        pair = (self.stack[-1][1] if self.stack else None, key)
        for what in (key, pair):
            self.levels[what] = self.levels.get(what, 0) + 1
        self.stack.append([frame, key, pair, clock, 0])

    def leave(self):
        _, key, pair, begun, inside = self.stack.pop()
        total = clock - begun
        if self.stack:
            self.stack[-1][4] += total
        for what, sums in ((key, self.rows), (pair, self.pairs)):
            self.levels[what] -= 1
            outermost = self.levels[what] == 0
            row = sums.setdefault(what, [0, 0, 0, 0])
            row[0] += outermost
            row[1] += 1
            row[2] += total - inside
            row[3] += total if outermost else 0

    def event(self, frame, what, arg):
        if what == "call":
            self.enter(frame, frame.f_code)
        elif what == "return" and any(entry[0] is frame for entry in self.stack):
            while self.stack[-1][0] is not frame:
                self.leave()
            self.leave()
        elif what == "c_call":
            self.c_calls += 1

    def run(self, work):
        global clock
        clock = 0
        cached.cache_clear()
        sys.setprofile(self.event)
        work()
        sys.setprofile(None)
        while self.stack:
            self.leave()
        return self

    def told(self):
        """As rows() has it, of the functions of this file; C's functions are in nobody's self time
        here, for they spend none."""
        own = {}
        for code, sums in self.rows.items():
            key = f"here:{code.co_firstlineno}:{code.co_name}"
            assert key not in own and code.co_filename == HERE or code.co_filename != HERE, key
            if code.co_filename == HERE:
                own[key] = [*sums[:2], sums[2] / 1000, sums[3] / 1000]
        return own


def against_reference(work):
    wanted = Reference().run(work)
    got = profiled(cairn.cprofile.Profile, work)
    own = {key: value[:4] for key, value in got.items() if key.startswith("here:")}
    c_calls = sum(value[1] for key, value in got.items() if key.startswith(":0:"))
    assert own == wanted.told(), (work.__name__, own, wanted.told())
    assert c_calls == wanted.c_calls, (work.__name__, c_calls, wanted.c_calls, got)
    return len(own)


# --- cases ---


def clocked():
    works = [(work, {}) for work in (plain, generators, coroutines, finalizers, deep)]
    works += [(plain, {"builtins": False}), (plain, {"subcalls": False})]
    return [
        {
            "what": f"{work.__name__} {options}",
            "cProfile": profiled(cProfile.Profile, work, **options),
            "cairn": profiled(cairn.cprofile.Profile, work, **options),
        }
        for work, options in works
    ]


CALLS = 20000


def empty():
    pass


def thread_counts(kind):
    """Two threads that call at the same time, one that ran before, one made without threading; at one
    moment all four are within the function."""
    import _thread

    ready, go, done = threading.Event(), threading.Event(), threading.Semaphore(0)
    together = threading.Barrier(4)

    def calls_empty():
        for i in range(CALLS):
            if i == CALLS // 2:
                together.wait()
            empty()

    def early():
        ready.set()
        go.wait()
        calls_empty()

    def raw():
        calls_empty()
        done.release()

    sys.setswitchinterval(1e-5)
    before = threading.Thread(target=early)
    before.start()
    ready.wait()
    profile = kind()
    profile.enable()
    try:
        threads = [threading.Thread(target=calls_empty) for _ in range(2)]
        for thread in threads:
            thread.start()
        _thread.start_new_thread(raw, ())
        go.set()
        for thread in [before, *threads]:
            thread.join()
        done.acquire()
    finally:
        profile.disable()
    profile.create_stats()
    found = {key[2]: value[:2] for key, value in profile.stats.items() if key[0] == HERE}
    return {"empty": found.get("empty"), "calls_empty": found.get("calls_empty")}


def threads():
    return {
        "wanted": 4 * CALLS,
        "cProfile": thread_counts(cProfile.Profile),
        "cairn": thread_counts(cairn.cprofile.Profile),
    }


def reference():
    works = [plain, generators, coroutines, deep]
    if sys.version_info >= (3, 11):
        works.append(finalizers)
    return [against_reference(work) for work in works]


cases = {
    "clock": clocked,
    "threads": threads,
    "reference": reference,
}

if __name__ == "__main__":
    print(json.dumps(cases[case]()))

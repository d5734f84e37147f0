"""Ways in which Python comes to run a function; each function spins for a known time.

    ways.py [SECONDS]

Prints the seconds spent below each of the functions.
"""
import asyncio
import bisect
import contextlib
import copy
import ctypes
import functools
import gc
import heapq
import json
import os
import pickle
import random
import re
import signal
import sys
import threading
import time
import weakref

clock = time.perf_counter
spent = {}
ways = []
now = None


def way(function):
    ways.append(function)
    return function


def spin():
    start = clock()
    until = start + random.uniform(50e-6, 250e-6)
    while clock() < until:
        pass
    spent[now] = spent.get(now, 0.0) + clock() - start
    return 1


class Thing:
    held = 0

    def __init__(self, value=0):
        self.value = value

    def __lt__(self, other):
        spin()
        return self.value < other.value

    @property
    def plain(self):
        return spin()

    @functools.cached_property
    def cached(self):
        return spin()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return spin()

    def __call__(self):
        return spin()


class Number:
    def __index__(self):
        return spin()

    def __add__(self, other):
        return spin()

    def __radd__(self, other):
        return spin()

    def __bool__(self):
        spin()
        return True

    def __eq__(self, other):
        spin()
        return True

    def __hash__(self):
        return spin()

    def __format__(self, how):
        spin()
        return "x"

    def __contains__(self, other):
        spin()
        return True

    def __getitem__(self, at):
        return spin()

    def __setitem__(self, at, value):
        spin()

    def __len__(self):
        return spin()


class Steps:
    def __init__(self):
        self.left = 2

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return spin()


class Manager:
    def __enter__(self):
        spin()
        return self

    def __exit__(self, *args):
        spin()
        return True


class Dies:
    def __del__(self):
        spin()


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        spin()


@way
def by_property():
    return Thing().plain


@way
def by_cached_property():
    return Thing().cached


@way
def by_getattr():
    return Thing().anything


@way
def by_instance():
    return Thing()()


@way
def by_index():
    return [1, 2][Number()]


@way
def by_add():
    return Number() + 1


@way
def by_sum():
    return sum([Number()])


@way
def by_bool():
    if Number():
        pass


@way
def by_equal():
    return [Number()].index(5)


@way
def by_hash():
    return {Number(): 1}


@way
def by_format():
    return f"{Number()}"


@way
def by_contains():
    return 1 in Number()


@way
def by_getitem():
    return Number()[1]


@way
def by_setitem():
    Number()[1] = 2


@way
def by_len():
    return len(Number())


@way
def by_next():
    for _ in Steps():
        pass


@way
def by_unpacking():
    a, b = Steps()
    return a, b


@way
def by_list():
    return list(Steps())


@way
def by_sort():
    return [Thing(2), Thing(1)].sort()


@way
def by_bisect():
    return bisect.bisect([Thing(1), Thing(2)], Thing(1))


@way
def by_heap():
    return heapq.heappush([Thing(1)], Thing(0))


@way
def by_map():
    return list(map(lambda x: spin(), [1, 2]))


@way
def by_key():
    return max([1, 2], key=lambda x: spin())


@way
def by_partial():
    return functools.partial(spin)()


@functools.lru_cache(maxsize=None)
def remembered(x):
    return spin()


@way
def by_cache():
    remembered.cache_clear()
    return remembered(1)


@way
def by_sub():
    return re.sub("a", lambda match: str(spin()), "a")


@way
def by_json():
    return json.dumps([object()], default=lambda x: spin())


@way
def by_exec():
    exec("spin()", globals())


@way
def by_eval():
    return eval("spin()")


@way
def by_class_body():
    class Body:
        x = spin()

    return Body


class Meta(type):
    def __call__(cls):
        spin()
        return super().__call__()


class OfMeta(metaclass=Meta):
    pass


@way
def by_metaclass():
    return OfMeta()


class Base:
    def __init_subclass__(cls):
        spin()


@way
def by_subclass():
    class Sub(Base):
        pass

    return Sub


class Made:
    def __new__(cls):
        spin()
        return super().__new__(cls)

    def __init__(self):
        spin()


@way
def by_making():
    return Made()


class Child(Made):
    def __init__(self):
        super().__init__()


@way
def by_super():
    return Child()


def numbers():
    yield spin()
    yield spin()


@way
def by_generator():
    for _ in numbers():
        pass


@way
def by_expression():
    return sum(spin() for _ in range(2))


@way
def by_comprehension():
    return [spin() for _ in range(2)]


def passed_on():
    yield from numbers()


@way
def by_yield_from():
    return list(passed_on())


def closing():
    try:
        yield 1
    finally:
        spin()


@way
def by_close():
    generator = closing()
    next(generator)
    generator.close()


@way
def by_throw():
    generator = closing()
    next(generator)
    try:
        generator.throw(ValueError)
    except ValueError:
        pass


def leaves_open():
    generator = closing()
    next(generator)
    return 1


@way
def by_leaving_open():
    return leaves_open()


@way
def by_with():
    with Manager():
        pass


@way
def by_with_that_fails():
    with Manager():
        raise ValueError


@contextlib.contextmanager
def managed():
    spin()
    yield
    spin()


@way
def by_contextlib():
    with managed():
        pass


@way
def by_exit_stack():
    with contextlib.ExitStack() as stack:
        stack.callback(spin)


@way
def by_del():
    thing = Dies()
    del thing


@way
def by_clearing():
    things = [Dies(), Dies()]
    things.clear()


def returns_with():
    thing = Dies()
    return 1 if thing else 0


@way
def by_returning():
    return returns_with()


def fails_with():
    thing = Dies()
    raise ValueError(id(thing))


@way
def by_failing():
    try:
        fails_with()
    except ValueError:
        pass


@way
def by_gc():
    Cycle()
    gc.collect(0)


@way
def by_weakref():
    thing = Number.__new__(Steps)
    reference = weakref.ref(thing, lambda r: spin())
    del thing
    return reference


@way
def by_signal():
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(20):
        pass


def traced():
    return 1


def tracer(frame, event, arg):
    if event == "call":
        spin()


@way
def by_trace():
    sys.settrace(tracer)
    traced()
    sys.settrace(None)


def profiler(frame, event, arg):
    if event == "return" and frame.f_code is traced.__code__:
        spin()


@way
def by_profile():
    sys.setprofile(profiler)
    traced()
    sys.setprofile(None)


@way
def by_ctypes():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    array = (ctypes.c_int * 2)(2, 1)

    def compare(a, b):
        return spin()

    ctypes.CDLL(None).qsort(array, 2, 4, kind(compare))


class Copied:
    def __deepcopy__(self, memo):
        spin()
        return self

    def __reduce__(self):
        spin()
        return (int, ())


@way
def by_deepcopy():
    return copy.deepcopy([Copied()])


@way
def by_pickle():
    return pickle.dumps(Copied())


@way
def by_iter_call():
    return list(iter(lambda: spin() + random.getrandbits(1), 1))


class Missing(dict):
    def __missing__(self, key):
        return spin()


@way
def by_missing():
    return Missing()[1]


async def waited():
    return spin()


async def waits():
    return await waited()


@way
def by_await():
    try:
        waits().send(None)
    except StopIteration:
        pass


async def steps():
    yield spin()
    yield spin()


async def goes_through():
    async for _ in steps():
        pass


@way
def by_async_for():
    try:
        goes_through().send(None)
    except StopIteration:
        pass


loop = None


@way
def by_callback():
    loop.call_soon(spin)
    loop.call_soon(loop.stop)
    loop.run_forever()


@way
def by_task():
    loop.run_until_complete(waits())


def wrapped(function):
    @functools.wraps(function)
    def inner(*args, **keywords):
        return function(*args, **keywords)

    return inner


@wrapped
def decorated(x):
    return spin()


@way
def by_decorator():
    return decorated(x=1)


@functools.singledispatch
def dispatched(x):
    return spin()


@way
def by_dispatch():
    return dispatched(1)


def deep(n):
    return deep(n - 1) if n else spin()


@way
def by_recursion():
    return deep(40)


@way
def by_finally():
    try:
        return 1
    finally:
        spin()


@way
def by_except():
    try:
        raise ValueError
    except ValueError:
        spin()


@way
def by_default_factory():
    return __import__("collections").defaultdict(spin)[1]


@way
def by_reduce():
    return functools.reduce(lambda a, b: spin(), [1, 2])


def main():
    global now, loop
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    loop = asyncio.new_event_loop()
    signal.signal(signal.SIGUSR1, lambda number, frame: spin())
    gc.disable()
    start = clock()
    while clock() - start < seconds:
        for function in ways:
            now = function.__name__
            function()
    print(json.dumps({"spent_s": spent}))


if __name__ == "__main__":
    main()

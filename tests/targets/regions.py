"""Regions and marks, of which the program knows how many there are and how long they take.

    regions.py CASE

Prints its own clock's figures: {"regions": {name: [seconds, ...]}, "marks": how many}. In "most" stands
of some how long they took at most, between the moments before and behind them.
"""
import asyncio
import contextlib
import functools
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import types

import cairn

taken, most, marks = {}, {}, 0


def note(name, begin, where=taken):
    where.setdefault(name, []).append(time.monotonic() - begin)


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def nested():
    for i in range(20):
        before = time.monotonic()
        with cairn.region("outer"):
            begin = time.monotonic()
            for k in range(3):
                before_inner = time.monotonic()
                with cairn.region("inner"):
                    inner = time.monotonic()
                    spin(0.001 + (i == 7) * 0.02)
                    if i == 10 and k == 1:
                        cairn.mark("half")
                        spin(0.001)
                    note("inner", inner)
                note("inner", before_inner, most)
            note("outer", begin)
        note("outer", before, most)


def threads():
    def work():
        for _ in range(30):
            before = time.monotonic()
            with cairn.region("work"):
                begin = time.monotonic()
                time.sleep(0.001)
                note("work", begin)
            note("work", before, most)

    made = [threading.Thread(target=work) for _ in range(3)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


async def wait(seconds):
    before = time.monotonic()
    with cairn.region("task"):
        begin = time.monotonic()
        await asyncio.sleep(seconds)
        note("task", begin)
    note("task", before, most)


def tasks():
    """Who begins first ends last, and the other way round: as objects of one thread."""

    async def run():
        await asyncio.gather(*(wait(seconds) for seconds in (0.2, 0.05, 0.1, 0.15)))

    asyncio.run(run())


@cairn.timed
def plain(value, *, more=1):
    """Says what it is."""
    spin(0.001)
    return value + more


class Thing:
    @cairn.timed
    def method(self, value):
        return self, value

    @cairn.timed("static")
    def named(self):
        raise KeyError("out of it")


@cairn.timed
async def waits():
    await asyncio.sleep(0.01)
    return 5


@cairn.timed
def counts(n):
    yield from range(n)


@cairn.timed
@types.coroutine
def awaited():
    yield from asyncio.sleep(0.01).__await__()
    return 6


async def waits_for_it():
    return await awaited() + await cairn.timed(functools.partial(awaited))()


def timed():
    thing = Thing()
    assert plain(1) == 2 and plain(1, more=2) == 3 and plain.__doc__ == "Says what it is."
    assert thing.method(3) == (thing, 3) and Thing.method(thing, 4) == (thing, 4)
    assert asyncio.run(waits()) == 5 and list(counts(3)) == [0, 1, 2]
    assert asyncio.run(waits_for_it()) == 12
    try:
        thing.named()
    except KeyError:
        pass
    else:
        raise AssertionError("it was swallowed")


def moments():
    global marks
    for frame in range(50):
        cairn.mark(frame=frame)
    cairn.mark("epoch", loss=0.25, step=-3, kind="train", large=1 << 70, ok=True)
    cairn.mark("bare")
    marks = 52


class Odd:
    """Its text is made by code that puts marks of its own."""

    def __init__(self, raised=None):
        self.raised = raised

    def __str__(self):
        with cairn.region("text"):
            cairn.mark("inner", x=1)
        if self.raised:
            raise self.raised
        return "odd"


def odd_values():
    global marks

    class Name(str):
        def __hash__(self):
            cairn.mark("hashed")
            return str.__hash__(self)

    cairn.mark("outer", a=1, odd=Odd(), b=2)
    cairn.mark("huge", n=10**5000, odd=Odd(ValueError()), b=2)
    cairn.mark(Name("named"), **{str(number): number for number in range(20)})
    cairn.mark("cut", text="\u20ac" * 5000, lone="\ud800")
    try:
        cairn.mark("stopped", odd=Odd(KeyboardInterrupt()))
    except KeyboardInterrupt:
        marks = 7
    else:
        # Without a recorder nobody asks for the text.
        assert sys.argv[1] == "odd_values" and marks == 0


def texts():
    """What marks and regions are called is not kept when it is long, nor is a mark's text."""

    def put(name, *values):
        with cairn.region(name):
            cairn.mark(name)
            for value in values:
                cairn.mark("text", text=value)

    def references():
        return [sys.getrefcount(text) for text in texts]

    texts = ["t" * size for size in (5000, 4000, 3)]
    held = references()
    put(*texts)
    assert references() == held


def forks():
    nested()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=threads)
    process.start()
    process.join()
    with cairn.region("after"):
        spin(0.001)


def forked_within():
    """The child leaves what its parent entered, and the parent never does."""
    with cairn.region("within"):
        pid = os.fork()
        if pid != 0:
            assert os.waitpid(pid, 0)[1] == 0
            os._exit(0)
    os._exit(0)


def kept():
    """One object, entered again and again, also within itself."""
    region = cairn.region("kept")
    for _ in range(5):
        with region:
            with region:
                spin(0.001)


def names():
    """More names than are found by their address; each is an object of its own each time."""
    same = [cairn.region("".join(("o", "ne"))) for _ in range(2)]
    assert (same[0] is same[1]) == (sys.argv[2:] == ["alone"])  # nothing records
    for _ in range(2):
        for number in range(300):
            for name in (f"name {number}", "one"):
                with cairn.region(name) as region:
                    assert repr(region) == f"cairn.region({name!r})"


def shared():
    """One object in two threads: who enters first leaves first."""
    region = cairn.region("shared")
    entered, left = threading.Event(), threading.Event()

    def first():
        with region:
            begin = time.monotonic()
            spin(0.05)
            other.start()
            assert entered.wait(60)
            note("shared", begin)
        left.set()

    def second():
        with region:
            begin = time.monotonic()
            entered.set()
            assert left.wait(60)
            spin(0.05)
            note("shared", begin)

    made, other = threading.Thread(target=first), threading.Thread(target=second)
    made.start()
    made.join()
    other.join()


def hooks():
    """What `with` finds in the type is called on what region() returned, and on nothing else."""
    region = cairn.region("hooked")
    with contextlib.ExitStack() as stack:
        stack.enter_context(region)
        spin(0.001)
    for name in ("__enter__", "__exit__"):
        hook = type(region).__dict__[name]
        assert hook.__get__(None, int) is hook and hook.__get__(region, type(region)) is not hook
        for what in (1, "text", int, hook):
            for call in (hook.__get__, hook):
                try:
                    call(what)
                except TypeError:
                    pass
                else:
                    raise AssertionError(f"{call} took {what!r}")


def killed():
    with cairn.region("whole"):
        for _ in range(300):
            with cairn.region("part"):
                spin(0.0001)
        os.kill(os.getpid(), signal.SIGKILL)


def later():
    """Until it is told to end: regions from before it is recorded, and from while it is."""
    for line in iter(lambda: os.path.exists(sys.argv[2]), True):
        with cairn.region("later"):
            time.sleep(0.002)


def crowd():
    """Before most of one thread another sets its only one."""
    early = threading.Thread(target=lambda: cairn.mark("early"))
    early.start()
    early.join()
    for _ in range(10_001):
        cairn.mark("late")


def elsewhere():
    """Its temporary files come to lie in another place."""
    os.environ["TMPDIR"] = "/nowhere"
    nested()


def profiled():
    """Two recordings, one after the other, of one process."""
    for path in sys.argv[2:]:
        with cairn.profile(out=path):
            plain(1)
            end = time.monotonic() + 1
            while time.monotonic() < end:
                with cairn.region("block"):
                    spin(0.001)


def marked():
    """The same of one that only puts marks."""
    for path in sys.argv[2:]:
        with cairn.profile(out=path):
            end = time.monotonic() + 1
            while time.monotonic() < end:
                cairn.mark("moment")
                spin(0.001)


def workers():
    """Forked ones that put regions, and did so before anybody records their parent."""

    def work(number, told):
        plain(1)
        os.write(told, b".")
        while not os.path.exists(sys.argv[2]):
            with cairn.region(f"worker {number}"):
                plain(1)

    context = multiprocessing.get_context("fork")
    said, told = os.pipe()
    made = [context.Process(target=work, args=(number, told)) for number in range(2)]
    for process in made:
        process.start()
    for _ in made:
        assert os.read(said, 1)
    print("ready", flush=True)
    for process in made:
        process.join()


INSIDE = """
import cairn
for _ in range(3000):
    with cairn.region("inside"):
        pass
cairn.mark("over")
"""


def interpreters():
    """Four of them, each with a lock of its own, which ask for the recorder at once."""
    if sys.version_info >= (3, 13):
        import _interpreters

        made = [_interpreters.create("isolated") for _ in range(4)]
    else:
        import _xxsubinterpreters as _interpreters

        made = [_interpreters.create(isolated=True) for _ in range(4)]
    together = threading.Barrier(len(made))

    def run(interpreter):
        together.wait(60)
        failed = _interpreters.run_string(interpreter, INSIDE)
        assert failed is None, failed

    threads = [threading.Thread(target=run, args=(interpreter,)) for interpreter in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def usual():
    spin(0.004)


def seldom():
    spin(0.02)


def uneven():
    """One region in ten does something more; outside of them, and beside them, there is more."""
    over = threading.Event()
    beside = threading.Thread(target=lambda: over.wait(), name="beside")
    beside.start()
    for i in range(60):
        with cairn.region("page"):
            begin = time.monotonic()
            usual()
            note("usual", begin)
            if i % 10 == 3:
                more = time.monotonic()
                seldom()
                note("seldom", more)
            note("page", begin)
        usual()
        with cairn.region("part"):
            pass
    over.set()
    beside.join()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(json.dumps({"regions": taken, "most": most, "marks": marks}))

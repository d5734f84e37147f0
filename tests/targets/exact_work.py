"""Programs whose calls are known, for `cairn run --exact`.

usage: exact_work.py CASE [reference | peer]

With `reference` a tracer in Python notes the calls of this file while CASE runs, with `peer` it
runs under cProfile; both print what they counted as JSON.
"""
import dis
import inspect
import json
import multiprocessing
import os
import signal
import sys
import threading
import time

HERE = __file__
SLEEP_S = 0.05
GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def leaf():
    return len("leaf")


def rec(n):
    return leaf() if n == 0 else rec(n - 1)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n > 0 and even(n - 1)


def countdown(n):
    while n:
        n -= 1
        try:
            sent = yield n
        except KeyError:
            leaf()
        else:
            if sent:
                leaf()


def nested(n):
    yield from countdown(n)
    leaf()


class Ready:
    def __await__(self):
        yield self


async def inner():
    await Ready()
    leaf()


async def outer():
    for _ in range(3):
        await inner()


async def each():
    for i in range(4):
        yield i


async def gather():
    async for _ in each():
        leaf()


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def fails(n):
    if n == 0:
        raise ValueError("as asked")
    fails(n - 1)


def keyed(value):
    return -value


class Thing:
    def __init__(self):
        leaf()

    def method(self):
        return sorted([3, 1, 2], key=keyed)


def slow():
    time.sleep(SLEEP_S)
    yield 1
    yield 2


def wait_between():
    for _ in slow():
        time.sleep(SLEEP_S)


def calls():
    for _ in range(30):
        rec(4)
    even(9)
    sum(countdown(20))
    for _ in nested(5):
        pass
    sends = countdown(6)
    next(sends)
    sends.send(True)
    sends.throw(KeyError)
    sends.close()
    next(countdown(3))  # never finished
    countdown(2)  # never begun
    drive(outer())
    drive(gather())
    for _ in range(3):
        try:
            fails(3)
        except ValueError:
            pass
    Thing().method()
    wait_between()


def unbegun():
    """One body begins, and goes on once; Python enters the frames of 30 others all the same."""
    for _ in range(10):
        for thrown in (countdown(2), outer()):
            try:
                thrown.throw(ValueError)
            except ValueError:
                leaf()
        countdown(2).close()
    sends = countdown(2)
    next(sends)
    try:
        sends.throw(ValueError)
    except ValueError:
        leaf()


def many(barrier):
    barrier.wait()  # all threads are inside this call
    for _ in range(2000):
        leaf()
    barrier.wait()


def threads():
    barrier = threading.Barrier(3)
    started = [threading.Thread(target=many, args=(barrier,)) for _ in range(2)]
    for thread in started:
        thread.start()
    many(barrier)
    for thread in started:
        thread.join()


def loop(n):
    for _ in range(n):
        leaf()


def in_thread(n):
    thread = threading.Thread(target=loop, args=(n,))
    thread.start()
    thread.join()


def family():
    """1 call of loop() here, 2 in a forked child, 1 in that one's thread, 1 in each other child."""
    loop(1)
    pid = os.fork()
    if pid == 0:
        loop(10)
        in_thread(100)
        os._exit(3)
    os.waitpid(pid, 0)
    for method in ("fork", "spawn"):
        worker = multiprocessing.get_context(method).Process(target=loop, args=(1000,))
        worker.start()
        worker.join()
        assert worker.exitcode == 0
    print(json.dumps({"pid": os.getpid(), "child": pid}))


def killed():
    loop(5000)
    os.kill(os.getpid(), signal.SIGKILL)


def exits():
    loop(5000)
    sys.stdout.flush()
    os._exit(5)


def after():
    loop(70)
    print(json.dumps({"pid": os.getpid()}))


def execs():
    """Becomes another program, from within a call, while a thread counts as well."""
    loop(5000)
    in_thread(300)
    os.execv(sys.executable, [sys.executable, HERE, "after"])


def hears_events():
    """What a profile function of the program's own is told of: again in place of another, and by `profile`."""
    import profile

    heard = [[], []]
    sys.setprofile(lambda frame, event, arg: heard[0].append(event))
    leaf()
    sys.setprofile(lambda frame, event, arg: heard[1].append(event))
    leaf()
    sys.setprofile(None)
    sys.setprofile(lambda frame, event, arg: heard[1].append(event))
    sys.setprofile(None)
    profiler = profile.Profile()
    profiler.runcall(leaf)
    print(json.dumps(heard))


def profiles_itself():
    """Another profile function than Cairn's, while a thread that has Cairn's starts one more."""
    go, done, events = threading.Event(), threading.Event(), []

    def starts_another():
        go.wait()
        another = threading.Thread(target=leaf)
        another.start()
        another.join()
        done.set()

    def note(frame, event, arg):
        if event == "call" and frame.f_code is leaf.__code__ and frame.f_back.f_code is here:
            events.append(event)

    here = sys._getframe().f_code
    helper = threading.Thread(target=starts_another)
    helper.start()
    sys.setprofile(note)
    leaf()
    go.set()
    done.wait()
    leaf()
    sys.setprofile(None)
    helper.join()
    leaf()
    print(json.dumps(len(events)))


def profiled_by_cprofile():
    import cProfile

    profile = cProfile.Profile()
    profile.runcall(leaf)
    leaf()
    print(json.dumps(profile.getstats()[0].callcount))


def sets_it_again():
    """Takes the profile function away for a while, and then one of its own that passes events on."""
    events = []

    def note(frame, event, arg):
        if event == "call" and frame.f_code is leaf.__code__:
            events.append(event)
        if before:
            before(frame, event, arg)

    leaf()
    before = sys.getprofile()
    sys.setprofile(None)
    leaf()
    sys.setprofile(before)
    in_thread(20)
    loop(10)
    sys.setprofile(note)
    loop(3)
    sys.setprofile(before)
    loop(100)
    print(json.dumps([len(events), sys.getprofile() is before]))


class Reference:
    """Slow and plain: each frame is kept, so that a second entry of it is a generator going on."""

    def __init__(self):
        self.rows, self.callers, self.frames = {}, {}, {}
        self.here = threading.local()
        self.c_calls = {}

    def note(self, frame, event, arg):
        stack = self.here.__dict__.setdefault("stack", [])
        if event == "c_call":
            stack.append(None)
            if frame.f_code.co_filename == HERE:
                key = f"{arg.__name__} {frame.f_code.co_name}"
                self.c_calls[key] = self.c_calls.get(key, 0) + 1
            return
        if event != "call":
            if stack:
                stack.pop()
            if self.frames.get(id(frame)) is frame and frame.f_lasti < body_of(frame.f_code):
                self.take_back(frame.f_code.co_name, stack)
            return
        name = frame.f_code.co_name
        begins = id(frame) not in self.frames
        self.frames[id(frame)] = frame
        if frame.f_code.co_filename == HERE:
            row = self.rows.setdefault(name, [0, 0, 0])
            if begins:
                row[0] += 1
                row[1] += name not in stack
            else:
                row[2] += 1
            if begins and stack and stack[-1] is not None:
                key = f"{name} {stack[-1]}"
                self.callers[key] = self.callers.get(key, 0) + 1
        stack.append(name if frame.f_code.co_filename == HERE else None)


    def take_back(self, name, stack):
        self.rows[name][0] -= 1
        self.rows[name][1] -= name not in stack
        key = f"{name} {stack[-1] if stack else None}"
        if self.callers.get(key):
            self.callers[key] -= 1
            if self.callers[key] == 0:
                del self.callers[key]


def body_of(code):
    """Where the body of a generator begins: in front of it stands one that Python entered to end it."""
    if not code.co_flags & GENERATORS or code.co_filename != HERE:
        return -1
    return next((one.offset for one in dis.get_instructions(code) if one.opname == "RESUME"), 0)


def reference(work):
    tracer = Reference()
    threading.setprofile(tracer.note)
    sys.setprofile(tracer.note)
    work()
    sys.setprofile(None)
    threading.setprofile(None)
    return {"rows": tracer.rows, "callers": tracer.callers, "c_calls": tracer.c_calls}


def peer(work):
    import cProfile

    profile = cProfile.Profile()
    profile.runcall(work)
    profile.create_stats()
    return {
        name: [calls, primitive]
        for (file, _, name), (primitive, calls, *_) in profile.stats.items()
        if file == HERE
    }


if __name__ == "__main__":
    case = globals()[sys.argv[1]]
    if len(sys.argv) > 2:
        print(json.dumps(globals()[sys.argv[2]](case)))
    else:
        case()

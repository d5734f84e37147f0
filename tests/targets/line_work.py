"""Lines whose hits are known by a tracer in Python, and times that are known.

    line_work.py trace|opcodes|stacks|plain|threads|fork|exit|kill|times

trace: the work under sys.settrace; prints {line: hits} of this file's functions below `work`.
stacks: prints how deep their stacks are, at most. opcodes: the same of instructions, by sys.monitoring where there is that, {function: {offset: executed}}, and {function: [[offset, name]]}.
plain: the same work. threads, fork: in three threads, and in a child as well. exit, kill: ends by
os._exit, by SIGKILL. times: prints how long it took in all.
"""
import json
import os
import signal
import sys
import threading
import time


def loops(n):
    total = 0
    for i in range(n):
        if i % 3:
            total += i
        else:
            total -= 1
    while n > 0:
        n -= 1
    return total


def recursion(n):
    if n == 0:
        return 0
    return 1 + recursion(n - 1)


def counting(n):
    for i in range(n):
        yield i
        i += 1


def fails(n):
    try:
        if n:
            raise KeyError(n)
    except KeyError:
        n = 0
    finally:
        n += 1
    return n


class Thing:
    def method(self, n):
        return loops(n)


def work():
    loops(30)
    recursion(20)
    for value in counting(7):
        fails(value)
    try:
        list(counting("no"))
    except TypeError:
        pass
    Thing().method(5)


def sleeps():
    time.sleep(0.05)
    until = time.perf_counter() + 0.05
    while time.perf_counter() < until:
        pass
    return calls()


def calls():
    time.sleep(0.05)


INSIDE = [loops, recursion, counting, fails, Thing.method, work]


def traced_opcodes():
    import dis

    hits = {function.__code__: {} for function in INSIDE}
    count_opcodes(hits, work)
    names = {code.co_name: [[i.offset, i.opname] for i in dis.get_instructions(code)] for code in hits}
    print(json.dumps([{code.co_name: counts for code, counts in hits.items()}, names]))


def count_opcodes(hits, work):
    """Runs the work, and fills {code: {offset: executed}} of those codes."""
    if sys.version_info >= (3, 12):  # where f_trace_opcodes misses what had begun, or all
        monitored_opcodes(hits, work)
    else:
        with_f_trace_opcodes(hits, work)


def monitored_opcodes(hits, work):
    def executed(code, offset):
        hits[code][offset] = hits[code].get(offset, 0) + 1

    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    monitoring.use_tool_id(tool, "reference")
    monitoring.register_callback(tool, monitoring.events.INSTRUCTION, executed)
    for code in hits:
        monitoring.set_local_events(tool, code, monitoring.events.INSTRUCTION)
    work()
    monitoring.free_tool_id(tool)


def with_f_trace_opcodes(hits, work):
    def local(frame, event, arg):
        if event == "opcode":
            counts = hits[frame.f_code]
            counts[frame.f_lasti] = counts.get(frame.f_lasti, 0) + 1
        return local

    def begins(frame, event, arg):
        if frame.f_code not in hits:
            return None
        frame.f_trace_opcodes = True
        return local

    sys.settrace(begins)
    work()
    sys.settrace(None)


def count_lines(hits, work):
    """Runs the work, and fills {code: {line: begun}} of those codes, one event after the other."""
    if sys.version_info >= (3, 12):
        monitored_lines(hits, work)
    else:
        traced_lines(hits, work)


def monitored_lines(hits, work):
    """An `await` that is thrown into does not begin its line anew; from 3.13 on it is told so or not,
    as the instruction that it was suspended at was specialised or not."""
    import dis

    def begins(code, line):
        if dis.opname[code.co_code[sys._getframe(1).f_lasti]] != "CLEANUP_THROW":
            hits[code][line] = hits[code].get(line, 0) + 1

    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    events = monitoring.events
    monitoring.use_tool_id(tool, "reference")
    monitoring.register_callback(tool, events.LINE, begins)
    # Without it lines of functions that have but one are not told from 3.13 on.
    monitoring.register_callback(tool, events.PY_START, lambda code, offset: None)
    for code in hits:
        monitoring.set_local_events(tool, code, events.LINE | events.PY_START)
    work()
    monitoring.free_tool_id(tool)


def traced_lines(hits, work):
    def local(frame, event, arg):
        if event == "line":
            counts = hits[frame.f_code]
            counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
        return local

    sys.settrace(lambda frame, event, arg: local if frame.f_code in hits else None)
    work()
    sys.settrace(None)


def traced():
    hits = {}
    codes = {function.__code__ for function in INSIDE}

    def local(frame, event, arg):
        if event == "line":
            hits[frame.f_lineno] = hits.get(frame.f_lineno, 0) + 1
        return local

    sys.settrace(lambda frame, event, arg: local if frame.f_code in codes else None)
    work()
    sys.settrace(None)
    print(json.dumps(hits))


def main(what):
    if what == "trace":
        traced()
        return
    if what == "stacks":
        print(json.dumps({f.__name__: f.__code__.co_stacksize for f in INSIDE}))
        return
    if what == "opcodes":
        traced_opcodes()
        return
    if what == "times":
        begin = time.perf_counter()
        sleeps()
        print(time.perf_counter() - begin)
        return
    work()
    if what == "threads":
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if what == "fork":
        pid = os.fork()
        if pid == 0:
            work()
            os._exit(0)
        os.waitpid(pid, 0)
        work()
    if what == "exit":
        os._exit(3)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])

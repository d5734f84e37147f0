"""Ways in which control leaves a run of instructions, each with its exceptions.

    opcode_zoo.py reference|lines|plain

reference: counts the instructions of everything below with what Python has for that; prints
{first line: {offset: executed}}. lines: the same of lines, {first line: {line: begun}}. plain: runs
it.
"""
import asyncio
import contextlib
import dis
import json
import sys
import types


class Noted:
    def __init__(self, swallows=False, fails=False):
        self.swallows, self.fails = swallows, fails

    def __enter__(self):
        if self.fails:
            raise OSError("enter")
        return self

    def __exit__(self, kind, value, trace):
        return self.swallows

    async def __aenter__(self):
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, kind, value, trace):
        await asyncio.sleep(0)
        return self.swallows


def raises_in_the_middle(n):
    a = 1
    b = a + n
    c = 10 // (n % 3)
    d = b + c
    return a + b + c + d


def handles(n):
    total = 0
    for i in range(n):
        try:
            total += raises_in_the_middle(i)
            total += {}[i] if i % 5 == 0 else 1
        except ZeroDivisionError as failure:
            total += len(failure.args)
        except KeyError:
            continue
        else:
            total += 2
        finally:
            total += 1
    return total


def nested(n):
    try:
        try:
            raise ValueError(n) if n % 2 else KeyError(n)
        except KeyError:
            raise RuntimeError("other") from None
        finally:
            n += 1
    except (ValueError, RuntimeError):
        return n
    return None


def with_blocks(n):
    done = 0
    for i in range(n):
        with Noted(swallows=True):
            done += raises_in_the_middle(i)
        with contextlib.suppress(OSError), Noted(fails=i % 2 == 0):
            done += 1
    try:
        with Noted():
            raises_in_the_middle(0)
    except ZeroDivisionError:
        done += 1
    return done


def generator(n):
    received = 0
    try:
        for i in range(n):
            try:
                got = yield i
            except KeyError:
                received -= 1
                yield -1
            else:
                received += got or 0
    finally:
        received += 100
    return received


def delegates(n):
    got = yield from generator(n)
    yield got


def drive():
    list(delegates(4))
    one = generator(5)
    next(one)
    one.send(3)
    one.throw(KeyError("x"))
    next(one)
    one.close()
    two = delegates(3)
    next(two)
    try:
        two.throw(ValueError("out"))
    except ValueError:
        pass
    three = generator(2)
    del three
    four = generator(9)
    next(four)
    return four  # never finished


def loops(n):
    found = []
    while True:
        n -= 1
        if n < 0:
            break
        for i, k in enumerate("abc"):
            if i == n:
                found.append(k)
                break
            if k == "b" and n > 3:
                continue
            found.extend([k] * 2)
        else:
            found.append("none")
    squares = [i * i for i in range(5) if i % 2]
    pairs = {i: j for i in range(3) for j in range(i)}
    lazy = sum(i for i in range(10) if i > 3)
    some = any(i > 2 for i in range(9))
    longest = sorted(found, key=lambda c: -len(c))
    return found, squares, pairs, lazy, some, longest


def on_lines_of_their_own(n):
    return any(
        i * k > 6
        for i in range(n)
        for k in range(n)
        if i != k
    ) or any(i > 4 for i in range(n))  # fmt: skip


class Broken:
    def __iter__(self):
        return self

    def __next__(self):
        raise OSError("iteration")

    def __getattr__(self, name):
        raise AttributeError(name)

    def __bool__(self):
        raise TypeError("truth")

    def __eq__(self, other):
        raise TypeError("equality")

    __hash__ = None


def fails_everywhere():
    thing, failed = Broken(), 0
    for attempt in range(7):
        try:
            if attempt == 0:
                for _ in thing:
                    failed += 100
            elif attempt == 1:
                failed += thing.missing
            elif attempt == 2:
                failed += 1 if thing else 2
            elif attempt == 3:
                failed += thing == 3
            elif attempt == 4:
                first, second = thing
            elif attempt == 5:
                no_such_name  # noqa: B018, F821
            else:
                {thing: 1}
        except (OSError, AttributeError, TypeError, NameError):
            failed += 1
    return failed


async def each(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def waits(n):
    total = 0
    async for i in each(n):
        async with Noted(swallows=True):
            total += raises_in_the_middle(i)
    total += sum([i async for i in each(3)])
    try:
        await asyncio.wait_for(asyncio.sleep(30), 0.001)
    except asyncio.TimeoutError:
        total += 1
    return total


async def cancelled():
    task = asyncio.ensure_future(waits(10**9))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def recursion(n):
    if n == 0:
        raise LookupError("bottom")
    try:
        recursion(n - 1)
    finally:
        n = -n


def run():
    handles(20)
    for n in range(4):
        nested(n)
    with_blocks(6)
    kept = drive()
    loops(5)
    for n in range(6):
        on_lines_of_their_own(n)
    fails_everywhere()
    asyncio.run(waits(5))
    asyncio.run(cancelled())
    try:
        recursion(6)
    except LookupError:
        pass
    return kept


def codes_in(names):
    """Code objects of the functions here, and of what is written inside them."""
    todo = [thing.__code__ for names in (names, vars(Noted), vars(Broken)) for thing in names.values()
            if isinstance(thing, types.FunctionType) and thing.__module__ == __name__]  # fmt: skip
    found = []
    while todo:
        found.append(todo.pop())
        todo += [inner for inner in found[-1].co_consts if isinstance(inner, types.CodeType)]
    return found


def closed(thrown, work):
    """Counts in {code: times} the generators that are ended by an exception thrown into them."""
    if sys.version_info < (3, 12):
        return work()
    monitoring, tool = sys.monitoring, 4

    def on_throw(code, offset, exception):
        thrown[code] = thrown.get(code, 0) + isinstance(exception, GeneratorExit)

    monitoring.use_tool_id(tool, "closed")
    monitoring.register_callback(tool, monitoring.events.PY_THROW, on_throw)
    monitoring.set_events(tool, monitoring.events.PY_THROW)
    try:
        return work()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


def take_back(hits, thrown, thrown_while_counted):
    """Some versions (3.12.3) end a generator by an exception only where its yield is traced, and so
    only the tracer is told of the instructions that raise it anew."""
    for code in hits:
        more = thrown_while_counted.get(code, 0) - thrown.get(code, 0)
        steps = list(dis.get_instructions(code)) if more else []
        for step, after in zip(steps, steps[1:]):
            if step.argrepr == "INTRINSIC_STOPITERATION_ERROR":
                for offset in (step.offset, after.offset):
                    hits[code][offset] = hits[code].get(offset, 0) - more


def reference(what):
    import line_work

    found = codes_in({name: thing for name, thing in globals().items()
                      if name not in ("reference", "codes_in", "closed", "take_back")})  # fmt: skip
    hits = {code: {} for code in found}
    if what == "reference":
        thrown, thrown_while_counted = {}, {}
        closed(thrown, lambda: run() and None)  # what it returns goes while it is looked at
        closed(thrown_while_counted, lambda: line_work.count_opcodes(hits, run))
        take_back(hits, thrown, thrown_while_counted)
    else:
        line_work.count_lines(hits, run)
    of_lines = {}
    for code in found:
        counts = of_lines.setdefault(code.co_firstlineno, {})
        for offset, n in hits[code].items():
            counts[offset] = counts.get(offset, 0) + n
    return of_lines


if __name__ == "__main__":
    if sys.argv[1] in ("reference", "lines"):
        print(json.dumps(reference(sys.argv[1])))
    else:
        run()

"""Sums at places where this and that lies below them on the stack; each is of two types of its own."""
import asyncio
import contextlib


class Any:
    def __add__(self, other):
        return 1


kinds = {}


def k(n):
    if n not in kinds:
        kinds[n] = type(f"K{n}", (Any,), {"__module__": "__main__"})
    return kinds[n]()


def first(*many, **named):
    return many[0] if many else 0


def plain():
    return k(1) + k(2)


def deep():
    return first(1, 2, [3, (4, k(3) + k(4))], first(5, six=k(5) + k(6)))


def loops(n):
    for i in range(n):
        for _ in range(i):
            first(k(7) + k(8))
        while i:
            i -= k(9) + k(10)
    return [first(k(11) + k(12)) for _ in range(n)]


def tries(n):
    for i in range(n):
        try:
            first(k(13) + k(14), 1 // (i % 2))
        except ZeroDivisionError as failure:
            first(failure, k(15) + k(16))
        finally:
            first(k(17) + k(18))
    try:
        try:
            raise KeyError(k(19) + k(20))
        finally:
            first(k(21) + k(22))
    except KeyError:
        return first(k(23) + k(24))


def blocks():
    with contextlib.suppress(OSError), contextlib.nullcontext() as some:
        first(some, k(25) + k(26))
        with contextlib.suppress(LookupError):
            raise LookupError(k(27) + k(28))
    for _ in range(2):
        with contextlib.nullcontext():
            if k(29) + k(30):
                continue


def yields(n):
    for i in range(n):
        got = yield first(i, k(31) + k(32))
        first(got, k(33) + k(34))
    return k(35) + k(36)


def delegates(n):
    got = yield from yields(n)
    yield first(got, k(37) + k(38))


async def waits(n):
    await asyncio.sleep(0)
    return first(n, k(39) + k(40))


async def manages():
    first(await waits(1), k(41) + k(42))
    async with some_context() as some:
        first(some, await waits(2), k(43) + k(44))
    return [i async for i in counts(3) if k(45) + k(46)]


@contextlib.asynccontextmanager
async def some_context():
    await asyncio.sleep(0)
    yield k(47) + k(48)


async def counts(n):
    for i in range(n):
        yield first(i, k(49) + k(50))


def closes(outer):
    def inner(a, *, b=k(51) + k(52)):
        return first(a, outer, b, k(53) + k(54))

    return inner(1)


def chains(a):
    return 0 < k(55) + k(56) < 5 and f"{a}{k(57) + k(58):>{k(59) + k(60)}}" and {a: k(61) + k(62)}


class Body:
    part = k(63) + k(64)
    parts = {n: first(n, lambda: 0) for n in range(k(65) + k(66))}


def run():
    plain(), deep(), loops(3), tries(4), blocks(), closes(1), chains(2)
    list(delegates(3))
    thrown = yields(2)
    next(thrown)
    with contextlib.suppress(KeyError):
        thrown.throw(KeyError)
    asyncio.run(manages())


for _ in range(40):
    run()

"""Asks the kernel from far in and from further out, where C makes the calls, for ever, in the same
order: tests/unit/moments.c lets it go on from one to the next. It stops itself before that begins."""
import contextlib
import functools
import os
import signal

ask = os.getppid


class Term:
    def __init__(self, depth):
        self.depth = depth

    def __add__(self, other):
        ask()
        return self.level(other.depth)

    def __str__(self):
        return str(ask())

    def level(self, depth, **options):
        if depth % 3 == 0:
            ask()
        if depth:
            self.level(depth - 1, **options)
            short(**options)
            return self.level(depth // 2, **options)
        return ask()

    @property
    def asked(self):
        ask()
        return short()

    def raises(self, **options):
        ask()
        raise KeyError


def short(**options):
    return ask()


def other(**options):
    ask()
    return short()


part = functools.partial(short, kind=1)


def siblings():
    """In turns, where the one before was, from one and the same line and from several."""
    for call in (short, other, part, short):
        call(**{"kind": 2})
    part()
    Term(1).asked
    ask()
    str(Term(1))
    Term(1) + Term(2)


def values(count):
    for i in range(count):
        part()
        yield i
        Term(1).level(1, kind=i)


def generators():
    list(map(str, (Term(i) for i in values(2))))
    return sum(part() + i for i in values(2))


def failures():
    for call in (Term(1).raises, Term(2).raises):
        with contextlib.suppress(KeyError):
            call(**{"kind": 3})
        part()


def main():
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        ask()
        siblings()
        Term(5).level(6, kind=4)
        generators()
        failures()


main()

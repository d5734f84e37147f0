"""The standard library at work, and every call that it made.

    library.py [SECONDS] [calls]

Pieces of work that nobody wrote for a profiler (parsers, formatters, containers with callbacks into
Python, context managers, generators, coroutines), over and over. With `calls` CPython itself notes
who called whom, by sys.setprofile, and they are printed: the work is the same each time, so these
are all the calls there are. Names are those that a recording has, with the line of the definition.
"""
import argparse
import ast
import asyncio
import collections
import configparser
import contextlib
import csv
import decimal
import difflib
import email.message
import email.parser
import fractions
import functools
import gettext
import heapq
import html.parser
import io
import itertools
import json
import json.decoder
import pprint
import random
import re
import statistics
import string
import sys
import textwrap
import threading
import time
import tokenize
import xml.sax.saxutils

import _pydecimal

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
TEXT = "Now is the time for all good men to come to the aid of %(who)s.\n" * 12
SOURCE = "def f(a, *b, c=1, **d):\n    '''Doc.'''\n    return [x * 2 for x in b if x > a] or {c: d}\n" * 8


class Counts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = collections.Counter()

    def handle_starttag(self, tag, attrs):
        self.seen[tag] += 1


@functools.total_ordering
class Version:
    def __init__(self, text):
        self.parts = tuple(map(int, text.split(".")))

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts

    def __hash__(self):
        return hash(self.parts)


def text_work():
    textwrap.fill(TEXT, 40)
    textwrap.dedent(TEXT)
    string.Template("$a and ${b}").substitute(a=1, b=2)
    string.Formatter().format("{0:>10} {name!r}", 1, name="x")
    re.sub(r"\b(\w)(\w*)", lambda m: m.group(1).upper() + m.group(2), TEXT)
    list(difflib.unified_diff(TEXT.split(), TEXT.replace("men", "women").split()))
    pprint.pformat({"a": list(range(9)), "b": {"c": ("d", {"e"})}}, width=20)


def parser_work():
    Counts().feed("<p class=a>one<b>two</b><br/>&amp;</p>" * 5)
    for _ in tokenize.generate_tokens(io.StringIO(SOURCE).readline):
        pass
    sum(1 for _ in ast.walk(ast.parse(SOURCE)))
    ini = configparser.ConfigParser()
    ini.read_string("[a]\nb = 1\nc = %(b)s2\n[d]\ne = on\n")
    ini.getboolean("d", "e")
    ini.get("a", "c")
    email.parser.Parser().parsestr("From: a@b\nTo: c@d\nSubject: e\n\nf\n").as_string()
    json.loads('{"a": [1, 2, {"b": null}]}', object_hook=lambda o: collections.OrderedDict(o))
    json.dumps({"a": {1, 2}, "b": [1.5, None]}, default=sorted, indent=1)
    list(csv.DictReader(io.StringIO("a,b\n1,2\n3,4\n")))
    gettext.c2py("n%10==1 && n%100!=11 ? 0 : 1")(21)
    parser = argparse.ArgumentParser()
    parser.add_argument("--a", type=int)
    parser.add_argument("b", nargs="*")
    parser.parse_args(["--a", "1", "x", "y"])
    xml.sax.saxutils.escape("<a & b>")


def number_work():
    fractions.Fraction(3, 7) + fractions.Fraction(1, 3) * 2
    statistics.stdev([1.5, 2.5, 4.0, 8.0])
    _pydecimal.Decimal("1.1") ** 3 + _pydecimal.Decimal(2).sqrt()
    random.Random(1).shuffle(list(range(20)))
    decimal.Decimal("1.1").quantize(decimal.Decimal("0.01"))


@contextlib.contextmanager
def entered(value):
    try:
        yield value
    finally:
        value = None


def countdown(n):
    if n:
        yield n
        yield from countdown(n - 1)


def container_work():
    versions = [Version("1.%d.%d" % (i % 3, i)) for i in range(12)]
    sorted(versions, reverse=True)
    heapq.nsmallest(3, versions, key=lambda v: v.parts[1])
    max(versions)
    set(versions)
    list(itertools.groupby(versions, key=lambda v: v.parts[0]))
    functools.reduce(lambda a, b: a + b, map(lambda x: 2 * x, countdown(6)))
    with contextlib.ExitStack() as stack:
        for i in range(3):
            stack.enter_context(entered(i))
    with contextlib.suppress(KeyError):
        collections.ChainMap({}, {"a": 1})["b"]
    dict(zip(countdown(4), countdown(4)))


async def answers(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def asks(n):
    return [i async for i in answers(n)]


async def all_ask():
    await asyncio.gather(asks(3), asks(2), asyncio.wait_for(asks(1), 60))


def everything(loop):
    text_work()
    parser_work()
    number_work()
    container_work()
    loop.run_until_complete(all_ask())


def round_of(loop):
    everything(loop)


def first_round():
    """What is imported or cached the first time is out of the way."""
    loop = asyncio.new_event_loop()
    everything(loop)
    loop.close()


def work(until):
    loop = asyncio.new_event_loop()
    rounds = 0
    while time.monotonic() < until:
        round_of(loop)
        rounds += 1
    loop.close()
    return rounds


def notes(calls):
    def note(frame, event, arg):
        if event == "call" and frame.f_back:
            calls.add((frame.f_back.f_code, frame.f_code))

    return note


def told(code):
    name = getattr(code, "co_qualname", code.co_name)
    return [name, code.co_filename, code.co_firstlineno]


def main():
    first_round()
    calls = set()
    if sys.argv[2:] == ["calls"]:
        threading.setprofile(notes(calls))
        sys.setprofile(notes(calls))
    second = threading.Thread(target=work, args=(time.monotonic() + SECONDS,))
    second.start()
    rounds = work(time.monotonic() + SECONDS)
    second.join()
    sys.setprofile(None)
    print(json.dumps({"rounds": rounds, "calls": [told(a) + told(b) for a, b in calls]}))


if __name__ == "__main__":
    main()

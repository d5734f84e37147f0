"""Work of real code, Python's own library, that goes the same way each time."""
import argparse
import ast
import asyncio
import collections
import contextlib
import copy
import dataclasses
import difflib
import functools
import inspect
import io
import json
import pickle
import pprint
import re
import string
import textwrap
import tokenize


@dataclasses.dataclass
class Point:
    x: int
    y: list


class Names(collections.UserDict):
    def __missing__(self, key):
        return key.upper()


async def leaf(queue, item):
    await asyncio.sleep(0)
    await queue.put(item)


async def gathered():
    queue = asyncio.Queue()
    await asyncio.gather(*(leaf(queue, item) for item in range(5)))
    return [await queue.get() for _ in range(5)]


@contextlib.contextmanager
def collected(into):
    try:
        yield into
    except LookupError as failure:
        into.append(failure)


def main():
    source = inspect.getsource(textwrap)
    tree = ast.parse(source)
    sum(1 for _ in ast.walk(tree))
    ast.dump(tree)
    list(tokenize.generate_tokens(io.StringIO(source).readline))
    data = {"points": [dataclasses.asdict(Point(i, [i] * 3)) for i in range(30)], "text": source}
    assert json.loads(json.dumps(data, indent=1)) == copy.deepcopy(data)
    pickle.loads(pickle.dumps([collections.Counter("pickle"), re.compile("a+")]))
    pprint.pformat(data, width=60)
    list(difflib.unified_diff(source.splitlines(), source.upper().splitlines()))
    re.sub(r"(\w+) (\w+)", lambda match: match[2] + match[1], source)
    string.Template("$here $there").substitute(Names(here="x"))
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int)
    parser.parse_args(["--number", "3"])
    with collected([]) as failures:
        functools.reduce(lambda total, key: total + {}[key], "abc", 0)
    assert len(failures) == 1
    textwrap.fill(source, 50)
    print(asyncio.run(gathered()))


main()

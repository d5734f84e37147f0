"""Profiles a small program with this interpreter's own tools.

    profiled.py OUT [cProfile | profile | script | sampled]

`script` is what `python -m profile -o OUT` does with a script, whose code object lands in the
file; `sampled` marks the file as 3.15's sampling profiler does.
"""
import json
import marshal
import os.path
import re
import sys
import textwrap


def recursive(depth):
    return 0 if depth == 0 else 1 + recursive(depth - 1)


def even(number):
    return number == 0 or odd(number - 1)


def odd(number):
    return number != 0 and even(number - 1)


def numbers():
    yield from range(5)


def größe_λ(values):
    return sorted(values, key=lambda value: -value)


class Twin:
    def method(self):
        return self

    def other(self):
        return self.method()


def caught():
    try:
        raise ValueError
    except ValueError:
        return None


def main():
    recursive(20)
    even(7)
    list(numbers())
    größe_λ(range(100))
    json.dumps({"a": list(range(100))})
    re.compile("(a|b)*c[d-f]+")
    for number in range(500):
        os.path.join("a", str(number))
    textwrap.wrap("hello world " * 100, 20)
    Twin().other()
    caught()


def profile(tool):
    profiler = __import__("cProfile" if tool == "sampled" else tool).Profile()
    if tool == "profile":
        profiler.run("main()")
    else:
        profiler.runcall(main)
    profiler.create_stats()
    return profiler.stats


if __name__ == "__main__":
    out, tool = sys.argv[1], (sys.argv[2:] or ["cProfile"])[0]
    if tool == "script":
        import profile as module

        code = compile("recursive(3)\n", "script.py", "exec")
        module.runctx(code, {"recursive": recursive}, {}, out)
    else:
        stats = profile(tool)
        if tool == "sampled":
            stats[("__sampled__",)] = True
        with open(out, "wb") as file:
            marshal.dump(stats, file)

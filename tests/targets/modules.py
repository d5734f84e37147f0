"""Modules that are made, run and dropped all the time, so that code takes the place of other code.

    modules.py [SECONDS]

Each module is of one of eight kinds, whose functions differ in name and in size. It is over when
its last function has returned, and what comes next mostly lies where it lay: what is still taken
for code of a module that is over shows as a pair that the grammar does not allow.
Prints the legal pairs caller -> callee among its own functions, and how many modules it made.
"""
import json
import sys
import time

KINDS = 8
SOURCE = """
def outer_{kind}(number):
    total = 0
    for i in range(20):
        total += inner_{kind}(i)
    return total

def inner_{kind}(number):
    {filler}return number

outer_{kind}(1)
"""


def run(kind):
    filler = "number += 1; " * (1 + kind % 4)
    source = SOURCE.format(kind=kind, filler=filler)
    exec(compile(source, __file__, "exec"), {"__name__": f"kind_{kind}"})


def turns(count):
    for i in range(count):
        run(i * 5 % KINDS)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        turns(3 * KINDS)
        done += 3 * KINDS
    legal = [["<module>", "main"], ["main", "turns"], ["turns", "run"], ["run", "<module>"]]
    for kind in range(KINDS):
        legal.append(["<module>", f"outer_{kind}"])
        legal.append([f"outer_{kind}", f"inner_{kind}"])
    print(json.dumps({"legal": legal, "rounds": done}))


if __name__ == "__main__":
    main()

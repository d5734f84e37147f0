"""A stack that goes far in and comes back all the time, part of the way through C, by a grammar.

    tides.py [SECONDS]

Each wave goes in to a depth of its own, and at each step one of three ways: by a call, by a key
function of `max`, or by a method that C looks up. So nearly every moment finds the stack
elsewhere than the one before: on the data stack and on the C stack.
Prints the legal pairs caller -> callee among its own functions, and how many waves it made.
"""
import json
import sys
import time

STEPS = 28


class Buoy:
    def __init__(self, steps, ways):
        self.steps, self.ways = steps, ways

    def __len__(self):
        flow(self.steps, self.ways)
        return 1


def by_call(steps, ways):
    a = b = c = d = e = f = g = h = steps
    return flow(a, ways) and b and c and d and e and f and g and h


def by_key(steps, ways):
    def key(number):
        return flow(number, ways)

    return max([steps, 0], key=key)


def by_method(steps, ways):
    return len(Buoy(steps, ways))


def turn(ways):
    total = 0
    for i in range(20):
        total += i ^ ways
    return total


WAYS = by_call, by_key, by_method


def flow(steps, ways):
    if not steps:
        return 1 if turn(ways) else 1
    WAYS[ways % 3](steps - 1, ways // 3)
    return 1


def waves(count, seed):
    for _ in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        flow((seed >> 32) % STEPS, seed >> 8)
    return seed


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    done, seed, start = 0, 1, time.perf_counter()
    while time.perf_counter() - start < seconds:
        seed = waves(100, seed)
        done += 100
    legal = [["<module>", "Buoy"],  # the body of the class
             ["<module>", "main"], ["main", "waves"], ["waves", "flow"], ["flow", "turn"]]
    for way in WAYS:  # a comprehension is a frame, of no pair
        legal.append(["flow", way.__name__])
    legal.append(["by_call", "flow"])
    legal += [["by_key", "by_key.<locals>.key"], ["by_key.<locals>.key", "flow"]]
    legal += [["by_method", "Buoy.__init__"], ["by_method", "Buoy.__len__"]]
    legal += [["Buoy.__len__", "flow"]]
    print(json.dumps({"legal": legal, "rounds": done}))


if __name__ == "__main__":
    main()

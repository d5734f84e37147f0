"""Very short functions that call each other all the time, by a grammar that is known.

    flutter.py [SECONDS]

Each family X calls X_top -> X_middle -> X_leaf and nothing else; frames of the families differ in
size, so that a stale or half-written frame shows as a pair that the grammar does not allow.
Prints the legal pairs caller -> callee among its own functions, and how many rounds it made.
"""
import json
import sys
import time


def red_leaf(a):
    return a


def red_middle(a):
    return red_leaf(a)


def red_top(a):
    return red_middle(a)


def green_leaf(a, b):
    c = a
    d = b
    return (c, d)


def green_middle(a):
    b = c = d = a
    return green_leaf(b, c) and d


def green_top(a):
    b = green_middle(a)
    return green_middle(b)


def blue_leaf(a, b, c, d):
    e = f = g = h = a
    return [a, b, c, d, e, f, g, h]


def blue_middle(a):
    b = c = d = e = f = g = h = i = j = a
    return blue_leaf(b, c, d, e), f, g, h, i, j


def blue_top(a):
    return blue_middle(a)


def grey_leaf(*args, **kwargs):
    return args or kwargs


def grey_middle(a, *, b=0):
    return grey_leaf(a, b, c=a)


def grey_top(a):
    b = c = d = e = f = a
    return grey_middle(b, b=c), d, e, f


def rounds(n):
    for i in range(n):
        red_top(i)
        green_top(i)
        blue_top(i)
        grey_top(i)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        rounds(1000)
        done += 1000
    legal = [["<module>", "main"], ["main", "rounds"]]
    for family in ("red", "green", "blue", "grey"):
        legal.append(["rounds", family + "_top"])
        legal.append([family + "_top", family + "_middle"])
        legal.append([family + "_middle", family + "_leaf"])
    print(json.dumps({"legal": legal, "rounds": done}))


if __name__ == "__main__":
    main()

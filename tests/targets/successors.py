"""Two kinds of threads in turns, each of which may get the state and the descriptor of the one before.

    successors.py [SECONDS [LIFE_MS]]

Prints which function each thread, by its kernel's number, ran.
"""
import json
import sys
import threading
import time

told = {}


def even(until):
    told[threading.get_native_id()] = "even"
    while time.perf_counter() < until:
        pass


def odd(until):
    told[threading.get_native_id()] = "odd"
    while time.perf_counter() < until:
        pass


def main():
    until = time.perf_counter() + (float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
    life_s = (float(sys.argv[2]) if len(sys.argv) > 2 else 3.0) / 1000
    while time.perf_counter() < until:
        for work in (even, odd):
            thread = threading.Thread(target=work, name=work.__name__, args=(time.perf_counter() + life_s,))
            thread.start()
            thread.join()
    print(json.dumps(told))


main()

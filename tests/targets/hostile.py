"""Functions whose names a page must show and not obey.

    hostile.py [SECONDS]

A thread that waits has such a name as well. Of a stretch in which it does not run a millisecond counts, and they take turns: however the machine
stalls, each function is there to be seen. Prints the names, as JSON without a character that is not
ASCII.
"""
import json
import sys
import threading
import time

TURNS = 8
FUNCTIONS = [
    "</script><script>window.obeyed=1</script>",
    "<img src=x onerror=window.obeyed=1>",
    "right\u202eto\u2066left",
    "null\0escape\x1b[31m",
    "line\u2028end\u2029",
    "invalid\udc80utf8",
    "long" * 250,
]
THREAD = "</script>right\u202eto\x1b[31m"


def spin(seconds, clock):
    last = clock()
    while seconds > 0:
        now = clock()
        seconds -= min(now - last, 0.001)
        last = now


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.4
    functions = []
    for name in FUNCTIONS:
        names = {"co_name": name}
        if hasattr(spin.__code__, "co_qualname"):
            names["co_qualname"] = name
        functions.append(type(spin)(spin.__code__.replace(**names), globals()))
    over = threading.Event()
    threading.Thread(target=over.wait, name=THREAD, daemon=True).start()
    for function in functions * TURNS:
        function(seconds / len(functions) / TURNS, time.perf_counter)
    over.set()
    print(json.dumps({"functions": FUNCTIONS, "thread": THREAD}))


main()

"""Functions, a file and a thread whose names are hard on whoever prints them.

    names.py [SECONDS [TURNS]]

Of a stretch in which it does not run a millisecond counts: however the machine stalls, each function
is there to be seen; and where they take so many turns, also by who stands still while it goes on.
Prints the names as they are: `functions` are the qualified names, `file` the file name of the code
that is busy there, `thread` the thread, `began_s` when each function began (monotonic), `spent_s` how
long it took.
"""
import json
import sys
import threading
import time

FILE = "odd;dir/größe λ\n<b>&\"quoted\".py"
THREAD = "fädchen;1"
FUNCTIONS = ["größe_λ", "semi;colon", "new\nline", "quote\"<tag>&amp;", "空", "=cmd|' /C x'!A0",
             "line\u2028end\u2029", "esc\x1b[31m\0nul", "long" + 1000 * "空x"]
SOURCE = """
def spin(seconds, clock):
    last = clock()
    while seconds > 0:
        now = clock()
        seconds -= min(now - last, 0.001)
        last = now
"""


def named(name):
    """`spin` under another name and from another file."""
    scope = {}
    # The module itself, which runs for some microseconds, is of this file: it has no odd name.
    exec(compile(SOURCE, FILE, "exec").replace(co_filename=__file__), scope)
    function = scope["spin"]
    names = {"co_name": name}
    if hasattr(function.__code__, "co_qualname"):
        names["co_qualname"] = name
    function.__code__ = function.__code__.replace(**names)
    return function


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.5
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    functions = [named(name) for name in FUNCTIONS]
    began_s, spent_s = [None] * len(functions), [0.0] * len(functions)
    for _ in range(turns):
        for i, function in enumerate(functions):
            begin = time.monotonic()
            function(seconds / len(functions) / turns, time.monotonic)
            spent_s[i] += time.monotonic() - begin
            began_s[i] = began_s[i] or begin
    print(json.dumps({"functions": FUNCTIONS, "file": FILE, "thread": THREAD,
                      "began_s": began_s, "spent_s": spent_s}))


thread = threading.Thread(target=main, name=THREAD)
thread.start()
thread.join()

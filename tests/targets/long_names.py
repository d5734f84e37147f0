"""Runs functions whose names are as long as those of generated code can be, 0.3 s each."""
import time

LENGTHS = {"a": 200, "b": 4000, "c": 4100, "d": 10000, "e": 40000, "\u00e9": 9000, "\u4e2d": 9001}

for letter, length in LENGTHS.items():
    name = letter * length
    code = ("def %s():\n"
            "    until = time.monotonic() + .3\n"
            "    while time.monotonic() < until: pass\n") % name
    exec(compile(code, "made/" + str(length) + ".py", "exec"))
    globals()[name]()

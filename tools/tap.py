#!/usr/bin/env python3
"""Runs a cmocka program and corrects its TAP, for `meson test`.

cmocka 1.1.5 prints a skipped test as "not ok 3 # SKIP name", which every reader of TAP takes for a
failure. Here it becomes "ok 3 - name # SKIP reason". The reason is the last "# skip: reason" line
the test printed; without one the skip stays a failure, because nothing is skipped in silence.
CAIRN_TEST_WRAP is a command to run the program under, valgrind for instance.
"""
import os
import re
import shlex
import subprocess
import sys


def main() -> int:
    reason = ""
    command = shlex.split(os.environ.get("CAIRN_TEST_WRAP", "")) + sys.argv[1:]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          errors="backslashreplace") as program:
        for line in program.stdout:
            said = re.match(r"\s*# skip: (.*\S)", line)
            skipped = re.match(r"not ok (\d+) # SKIP (\S+)", line)
            if said:
                reason = said[1]
            if skipped and reason:
                line = f"ok {skipped[1]} - {skipped[2]} # SKIP {reason}\n"
                reason = ""
            print(line, end="", flush=True)
    return program.returncode if program.returncode >= 0 else 128 - program.returncode


sys.exit(main())

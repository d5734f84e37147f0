"""`python -m cairn.count [OPTIONS] PROGRAM` is `cairn count [OPTIONS] PROGRAM`, with this Python for the program."""
import sys

from cairn.__main__ import become_runner

if __name__ == "__main__":
    sys.exit(become_runner("count"))

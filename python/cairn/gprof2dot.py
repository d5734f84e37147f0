"""`python -m cairn.gprof2dot [OPTIONS] FILE` is `cairn gprof2dot [OPTIONS] FILE`."""
import sys

from cairn.__main__ import become

if __name__ == "__main__":
    sys.exit(become("gprof2dot"))

"""`python -m cairn.pprof [FLAGS] FILE` is `cairn pprof [FLAGS] FILE`."""
import sys

from cairn.__main__ import become

if __name__ == "__main__":
    sys.exit(become("pprof"))

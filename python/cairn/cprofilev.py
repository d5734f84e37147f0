"""`python -m cairn.cprofilev [OPTIONS] -f FILE` is `cairn cprofilev [OPTIONS] -f FILE`."""
import sys

from cairn.__main__ import become

if __name__ == "__main__":
    sys.exit(become("cprofilev"))

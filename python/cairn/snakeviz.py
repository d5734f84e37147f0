"""`python -m cairn.snakeviz [OPTIONS] FILE` is `cairn snakeviz [OPTIONS] FILE`."""
import sys

from cairn.__main__ import become

if __name__ == "__main__":
    sys.exit(become("snakeviz"))

"""`python -m cairn.dis [OPTIONS] FUNCTION [FILE …]` is `cairn dis [OPTIONS] FUNCTION [FILE …]`."""
import sys

from cairn.__main__ import become

if __name__ == "__main__":
    sys.exit(become("dis"))

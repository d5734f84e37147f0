"""`python -m cairn.kernprof`: kernprof's command line, on Cairn's own engine."""
import sys

if __name__ == "__main__":
    from cairn import _kernprof

    sys.exit(_kernprof.main())

"""`python -m cairn.imports`: how long each import of a program takes."""
import sys

if __name__ == "__main__":
    from cairn import _imports

    sys.exit(_imports.main())

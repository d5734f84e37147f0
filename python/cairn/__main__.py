"""`python -m cairn …` is `cairn …`, where programs are run by the Python that was asked.

The command takes this process's place, so signals and exit status need nobody in between.
"""
import os
import sys

import cairn

NOT_FOUND = 127
FAILED = 125


def arguments(words):
    """What the command is handed. --python in front of a command is for those that run Python."""
    alone = not words or words[0] in ("-h", "--help", "--version")
    return words if alone or not sys.executable else ["--python", sys.executable, *words]


def become(name):
    """Ends as `cairn NAME` with this process's words: for `python -m cairn.NAME`."""
    return main([name, *sys.argv[1:]])


def become_runner(name):
    """The same for one that runs a program: by the Python that was asked."""
    return main(arguments([name, *sys.argv[1:]]))


def main(words=None):
    command = cairn.find_command()
    if command is None:
        print(
            "cairn: the command is not there\n"
            "       It is neither beside this package, nor in this Python's bin, nor in PATH.\n"
            "       Install it, or name it in CAIRN_BIN.",
            file=sys.stderr,
        )
        return NOT_FOUND
    try:
        os.execv(command, [command, *(arguments(sys.argv[1:]) if words is None else words)])
    except OSError as failure:
        print(f"cairn: {command} cannot be started: {failure.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(failure, FileNotFoundError) else FAILED


if __name__ == "__main__":
    sys.exit(main())

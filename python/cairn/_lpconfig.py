"""Where line_profiler's tools have their defaults from: a TOML file with [tool.line_profiler.…].

It is the one that is named, else $LINE_PROFILER_RC, else the first line_profiler.toml or
pyproject.toml in this folder or one above. A file that nobody named may say how something is shown,
but not what is run or where something is written: it may be somebody else's.
"""
import os
import pathlib
import sys

NAMES = ("line_profiler.toml", "pyproject.toml")
NAMESPACE = ("tool", "line_profiler")
TABLES = ("kernprof", "cli", "setup", "write", "show")
WHO_IS_NAMED_MAY_SAY = ("setup", "outfile")


class NoConfig(ValueError):
    """A file that was named is not there, or is none."""


def inner(table, *names):
    """A table in a table; {} without one. TypeError: something else bears that name."""
    for name in names:
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise TypeError(name)
    return table


def parser_of_toml():
    try:
        import tomllib
    except ImportError:  # until 3.10
        try:
            import tomli as tomllib
        except ImportError:
            return None
    return tomllib


def read(path):
    """The tables of one file; None: it cannot be read, or is no TOML."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if NAMESPACE[-1] not in text:
        return {}  # most are so, and a program that imports us need not wait for a parser
    toml = parser_of_toml()
    if toml is None:
        print(f"cairn: {path} is not read: this Python has neither tomllib (3.11 has it) nor tomli",
              file=sys.stderr)  # fmt: skip
        return {}
    try:
        return toml.loads(text)
    except toml.TOMLDecodeError:
        return None


def tables_of(content):
    tables = {name: inner(content, *NAMESPACE, name) for name in TABLES}
    inner(tables["show"], "column_widths")
    return tables


def looked_for():
    """Which files are looked at, in turn, and whether somebody named them."""
    if os.environ.get("LINE_PROFILER_RC"):
        return [os.environ["LINE_PROFILER_RC"]], True
    try:
        here = pathlib.Path.cwd()
    except OSError:
        return [], False
    return [str(folder / name) for folder in (here, *here.parents) for name in NAMES], False


def load(named, table):
    """{key: value} of one table. `named`: a file; None: it is looked for; False: nothing is read."""
    if named is False:
        return {}
    if named is not None:
        content = read(named)
        if content is None:
            raise NoConfig(f"Cannot load configurations from {str(named)!r}")
        try:
            return tables_of(content)[table]
        except TypeError as failure:
            raise NoConfig(f"{str(named)!r}: {failure} is no table") from None
    paths, trusted = looked_for()
    for path in paths:
        content = read(path) if os.path.isfile(path) else None
        if content is None:
            continue
        try:
            found = tables_of(content)[table]
        except TypeError:
            break
        return found if trusted or table != "kernprof" else without_ours(found, path)
    return {}


def without_ours(found, path):
    for key in WHO_IS_NAMED_MAY_SAY:
        if found.pop(key, None):
            print(f"kernprof: {path} may not say `{key}`: name that file with --config",
                  file=sys.stderr)  # fmt: skip
    return found


def merged(defaults, said):
    """The defaults, and what a file says instead; keys that nobody knows are passed over."""
    found = {key.replace("-", "_"): value for key, value in said.items()}
    return {key: found.get(key, value) for key, value in defaults.items()}

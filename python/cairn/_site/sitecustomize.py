"""Begins to count calls and lines before the program begins: `cairn run --exact` and --lines put
this folder in front of PYTHONPATH and name in CAIRN_SPOOL where the counts go; the file `wanted`
there says what is counted.

The program finds sys.path, os.environ and the sitecustomize of its own, if there is one, as they
would have been. What it starts inherits both variables, and is counted as well.
"""


NAMES = ("cairn", "cairn._exact")


def restore(folder):
    import os
    import sys

    sys.path[:] = [path for path in sys.path if path != folder]
    # Not through os.environ: children are to find them.
    names = getattr(os.environ, "_data", {})
    spool = names.pop(b"CAIRN_SPOOL", None)
    rest = names.get(b"PYTHONPATH", b"").split(b":")[1:]
    if rest:
        names[b"PYTHONPATH"] = b":".join(rest)
    else:
        names.pop(b"PYTHONPATH", None)
    return spool


def engine(folder):
    """The module of this Python, under NAMES in sys.modules; None where it was not built."""
    import _imp
    import sys
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader, _path_isfile

    for suffix in _imp.extension_suffixes():
        path = f"{folder[:folder.rindex('/')]}/_exact{suffix}"
        if _path_isfile(path):
            spec = ModuleSpec(NAMES[1], ExtensionFileLoader(NAMES[1], path), origin=path)
            module = _imp.create_dynamic(spec)
            sys.modules.update(dict.fromkeys(NAMES, module))
            _imp.exec_dynamic(module)
            return module
    return None


def begin():
    import sys

    folder = __file__[: __file__.rindex("/")]
    spool = restore(folder)
    sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # without one, `site` gets the error that it expects
    finally:
        if spool is not None:
            record(folder, spool)


def wanted(spool):
    """(whether calls are counted, the words that say whose lines are; None: nobody's)"""
    with open(f"{spool.decode()}/wanted", encoding="utf-8", errors="surrogateescape") as file:
        said = file.read().split("\n")
    words = [line[3:] for line in said if line.startswith("in ")]
    return "calls" in said, words if "lines" in said else None


def record(folder, spool):
    import atexit
    import builtins
    import sys

    before = {name: sys.modules[name] for name in NAMES if name in sys.modules}
    what = "nothing is"
    try:
        module = engine(folder)
        calls, words = wanted(spool)
        if module is not None and words is not None:
            what = "lines are not"
            lines = module.Lines()
            atexit.register(lines.end)  # what is registered first is called last
            lines.record(spool, words)
            if not hasattr(builtins, "profile"):
                builtins.profile = lines.choose
        if module is not None and calls:
            what = "calls are not"
            profiler = module.Profiler()
            atexit.register(profiler.end)
            profiler.record(spool)
    except Exception as failure:
        print(f"cairn: {what} counted in this process: {failure}", file=sys.stderr)
    finally:
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


begin()

"""Begins to count calls and lines before the program begins: `cairn run --exact` and --lines put
this folder in front of PYTHONPATH and name in CAIRN_SPOOL where the counts go; the file `wanted`
there says what is counted.

The program finds sys.path, os.environ and the sitecustomize of its own, if there is one, as they
would have been. What it starts inherits both variables, and is counted as well.

Whatever Python it is that a program starts reads this, 2.7 too. What counts is in a file of its own.
"""


def restore(folder):
    import os
    import sys

    # Not through os.environ: children are to find them.
    names = getattr(os.environ, "_data", None)
    if names is None:  # 2.7
        names = getattr(os.environ, "data", {})
    spool = names.pop(b"CAIRN_SPOOL", None)
    path = names.pop(b"PYTHONPATH", b"").split(b":")
    if len(path) > 1:  # it was empty where our folder stands there twice
        names[b"PYTHONPATH"] = b"" if path[1:] == path[:1] else b":".join(path[1:])
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    return spool


def tell_without(spool):
    """Leaves word that this Python has no engine: CAIRN_SPOOL_WITHOUT of spool.h."""
    try:
        from _imp import extension_suffixes

        suffix = extension_suffixes()[0]
    except ImportError:  # 2.7
        suffix = ".so"
    open(spool + b"/without" + suffix.encode(), "a").close()


def count(folder, spool):
    import sys

    if sys.version_info < (3, 8):
        return tell_without(spool)
    from _frozen_importlib_external import SourceFileLoader

    name = "_cairn_counting"
    names = {"__name__": name, "__file__": folder + "/" + name + ".py", "tell_without": tell_without}
    exec(SourceFileLoader(name, names["__file__"]).get_code(name), names)
    names["record"](folder, spool)


def begin():
    import sys

    folder = __file__[: __file__.rindex("/")]
    spool = restore(folder)
    own = sys.modules.pop("sitecustomize")  # held: 2.7 empties a module that is nobody's
    try:
        import sitecustomize  # without one, `site` gets the error that it expects
    finally:
        if spool is not None:
            own.count(folder, spool)


begin()

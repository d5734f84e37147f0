"""line_profiler's autoprofile.run(): a script, and what it imports of what is named, by lines.

Which functions those are is said as by `kernprof --no-preimports -p` (docs/compat.md).
"""
import importlib.util
import io
import sys
import types

from cairn import _kernprof

PROFILER_LOCALS_NAME = "prof"

__all__ = ["run"]


class Script(_kernprof.Run):
    """What kernprof knows of a program, of one that another program runs."""

    def __init__(self, profiler, program, kind, targets, imports):
        self.chosen = types.SimpleNamespace(prof_mod=targets, prof_imports=imports, preimports=False)
        self.profiler = profiler
        self.program = program
        self.kind = kind
        self.lines = True
        self.source = None


def code_of(script, spec, file):
    if spec is None:
        with io.open_code(file) as opened:
            return script.hearing(compile(opened.read(), file, "exec", dont_inherit=True))
    return script.hearing(spec.loader.get_code(spec.name), spec)


def main_of(spec, namespace):
    module = types.ModuleType("__main__")
    module.__spec__ = spec
    if spec is not None:
        module.__package__ = spec.parent
    vars(module).update(namespace)
    return module


def run(script_file, ns, prof_mod, profile_imports=False, as_module=False):
    """Runs a script as __main__, with the names `ns` in it. `prof_mod`: the script itself, by its
    path, files and dotted names. ns["prof"] is the profiler; it is on while the script runs."""
    profiler = ns[PROFILER_LOCALS_NAME]
    name = _kernprof.module_of(script_file) if as_module else script_file
    spec = importlib.util.find_spec(name) if as_module else None
    if as_module and spec is None:
        raise ModuleNotFoundError(f"script_file = {script_file!r}: cannot find corresponding module")
    targets = [prof_mod] if isinstance(prof_mod, str) else list(prof_mod)
    script = Script(profiler, name, "-m" if as_module else "", targets, profile_imports)
    code = code_of(script, spec, script_file)
    script.choose(code)
    before, module = sys.modules["__main__"], main_of(spec, ns)
    sys.modules["__main__"] = module
    profiler.enable_by_count()
    try:
        exec(code, vars(module))
    finally:
        profiler.disable_by_count()
        sys.modules["__main__"] = before

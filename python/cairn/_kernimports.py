"""What kernprof profiles of what a program imports, when it imports it: all of it (--prof-imports), or
what -p names where that is not imported beforehand (--no-preimports).

Behind each import of the program's own text stands a call that hears of it, on the import's own line.
"""
import ast
import builtins
import importlib.util
import sys
import types

from cairn._scopes import is_within

HEARS = "_cairn_imported"  # among the builtins, as `profile` is


def told(node, things):
    """An import, and behind it the calls: `things` are names, and for some the name that it is bound to."""
    calls = [node]
    for name, *bound in things:
        given = [ast.Constant(name), *(ast.Name(one, ast.Load()) for one in bound)]
        call = ast.Expr(ast.Call(ast.Name(HEARS, ast.Load()), given, []))
        calls.append(ast.fix_missing_locations(ast.copy_location(call, node)))
    return calls


class Hearing(ast.NodeTransformer):
    def __init__(self, package):
        self.package = package

    def visit(self, node):
        return node if isinstance(node, ast.expr) else super().visit(node)  # no statement is in one

    def visit_Import(self, node):
        return told(node, [(alias.name,) for alias in node.names])

    def visit_ImportFrom(self, node):
        if node.module == "__future__":
            return node
        try:
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), self.package)
        except (ImportError, ValueError):  # the program will hear of it
            return node
        return told(node, [(home,) if alias.name == "*" else
                           (f"{home}.{alias.name}", alias.asname or alias.name) for alias in node.names])  # fmt: skip


def code_of(source, file, package):
    tree = Hearing(package).visit(ast.parse(source, file))
    return compile(tree, file, "exec", dont_inherit=True)


def thing_called(name):
    """Of what has been imported; None. No code of a module's own is asked."""
    if name in sys.modules:
        return sys.modules[name]
    home, _, last = name.rpartition(".")
    return vars(sys.modules[home]).get(last) if home in sys.modules else None


def add(profiler, thing):
    kind = type(thing)  # not what it says that it is
    if issubclass(kind, types.ModuleType):  # of a package, what of it has been imported
        for name, module in list(sys.modules.items()):
            if is_within(name, thing.__name__) and issubclass(type(module), types.ModuleType):
                profiler.add_module(module)
    elif issubclass(kind, type):
        profiler.add_class(thing)
    elif callable(thing):
        profiler.add_function(thing)


def listen(profiler, targets):
    """`targets`: dotted names; None: all that is imported."""
    heard = set()

    def take(name, given):
        around = [name] if targets is None else [one for one in targets if is_within(name, one)]
        if around:
            add(profiler, given[0] if given else thing_called(name))
        for one in targets or ():
            if is_within(one, name) and one != name:
                add(profiler, thing_called(one))

    def hear(name, *given):
        if name in heard:  # an import within a loop is to cost what it costs
            return
        heard.add(name)
        try:
            take(name, given)
        except Exception:  # what a program puts into sys.modules may be anything
            pass

    builtins.__dict__[HEARS] = hear

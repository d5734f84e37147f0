"""What counts as part of a class or a module: line_profiler's scoping policies, and one of our own that
holds where none is named, what was defined there."""
import types
from collections.abc import Mapping

KINDS = ("func", "class", "module")
WORDS = ("exact", "children", "descendants", "siblings", "none")
OWN = dict.fromkeys(KINDS, "own")


def settled(policy):
    """{kind: word} of a word, whatever its case, of a mapping of all three kinds, or of None."""
    if policy is None:
        return OWN
    words = policy if isinstance(policy, Mapping) else dict.fromkeys(KINDS, policy)
    named = {kind: str(getattr(words[kind], "value", words[kind])).lower() for kind in KINDS}
    for word in named.values():
        if word not in WORDS:
            raise ValueError(f"{word!r} is no scoping policy; there are {', '.join(WORDS)}")
    return named


def is_within(name, home):
    return bool(home) and f"{name}.".startswith(f"{home}.")


def in_module(name, kind, home, word):
    """Of what is defined in the module `name`, or is that module, seen in the module `home`."""
    itself = kind == "module"
    if word == "exact":
        return kind == "func" and name == home
    if word in ("children", "own"):
        return (name.rpartition(".")[0] if itself else name) == home and not (itself and word == "own")
    above = home.rpartition(".")[0]
    if itself and name in (home, above):
        return False
    return is_within(name, home) or (word == "siblings" and is_within(name, above))


def in_class(thing, kind, cls, word):
    name, home = thing.__qualname__, cls.__qualname__
    if thing.__module__ != cls.__module__ or (word == "exact" and kind == "class"):
        return False
    if word in ("exact", "children"):
        return name == f"{home}.{thing.__name__}"
    if word == "descendants" or (word == "own" and kind == "class"):
        return is_within(name, home) and name != home
    return True


def belongs(thing, kind, namespace, policies):
    """Whether a function, class or module that is a member of a class or module counts as part of it."""
    word, in_a_class = policies[kind], isinstance(namespace, type)
    if in_a_class and kind == "module":
        return False
    if word == "none":
        return True
    if in_a_class:
        return in_class(thing, kind, namespace, word)
    name = thing.__name__ if isinstance(thing, types.ModuleType) else thing.__module__
    return isinstance(name, str) and in_module(name, kind, namespace.__name__, word)

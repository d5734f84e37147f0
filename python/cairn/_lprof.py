"""Reads and writes .lprof files, those of line_profiler, without its help.

Such a file is a pickle, which may name anything to be called when it is loaded. Here it never is:
the few opcodes that a LineStats is made of are followed, everything else is refused.
"""
import pickle
import pickletools

MODULE = "line_profiler.line_profiler"
OURS = {(MODULE, "LineStats"), ("line_profiler._line_profiler", "LineStats"),
        ("_line_profiler", "LineStats"), ("cairn.line_profiler", "LineStats")}
MOST_BYTES = 256 << 20
MOST_OPCODES = 20_000_000
MARK = object()
SINGLE = {
    "NONE": None, "NEWTRUE": True, "NEWFALSE": False, "MARK": MARK,
}  # fmt: skip
LITERAL = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
           "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING",
           "SHORT_BINSTRING"}
EMPTY = {"EMPTY_TUPLE": tuple, "EMPTY_LIST": list, "EMPTY_DICT": dict}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class Damaged(ValueError):
    """It is no such file, or one that was tampered with."""


class Stand:
    """Stands for the LineStats that is being made."""

    state = None


def state_of(data):
    """What the pickle would set a LineStats to."""
    stack, memo = [], {}

    def above_mark():
        at = len(stack) - 1 - stack[::-1].index(MARK)
        items = stack[at + 1 :]
        del stack[at:]
        return items

    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        name = opcode.name
        if count > MOST_OPCODES:
            raise Damaged("it is too long")
        if name in SINGLE:
            stack.append(SINGLE[name])
        elif name in LITERAL:
            stack.append(argument)
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name in TUPLES:
            items = tuple(stack[-TUPLES[name] :])
            stack[-TUPLES[name] :] = [items]
        elif name in ("TUPLE", "LIST"):
            items = above_mark()
            stack.append(tuple(items) if name == "TUPLE" else items)
        elif name == "DICT":
            items = above_mark()
            stack.append(dict(zip(items[::2], items[1::2])))
        elif name in ("APPEND", "APPENDS"):
            items = above_mark() if name == "APPENDS" else [stack.pop()]
            stack[-1].extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = above_mark() if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
            stack[-1].update(zip(items[::2], items[1::2]))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            where = tuple(argument.split(" ")) if argument else (stack.pop(-2), stack.pop())
            if where not in OURS:
                raise Damaged(f"it would call {where[0]}.{where[1]}, which no profile does")
            stack.append(Stand)
        elif name in ("NEWOBJ", "REDUCE"):
            made = stack.pop(-2), stack.pop()
            if made[0] is not Stand:
                raise Damaged("it makes what is no LineStats")
            stack.append(Stand())
            if made[1]:
                stack[-1].state = dict(zip(("timings", "unit"), made[1]))
        elif name == "BUILD":
            state = stack.pop()
            stack[-1].state = state[1] if isinstance(state, tuple) else state
        elif name == "STOP":
            return stack.pop().state
        elif name not in ("PROTO", "FRAME"):
            raise Damaged(f"it has the opcode {name}, which no profile has")
    raise Damaged("it ends early")


def checked(state):
    timings, unit = state["timings"], state["unit"]
    if not isinstance(unit, (int, float)) or not unit > 0:
        raise Damaged("its unit is no time")
    return {
        (str(file), int(first), str(name)): [(int(line), int(hits), time + 0)
                                             for line, hits, time in rows]
        for (file, first, name), rows in timings.items()
    }, float(unit)  # fmt: skip


def read(path):
    """(timings, unit) of a file; ValueError says why it cannot be read."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    try:
        if len(data) > MOST_BYTES:
            raise Damaged("it is too long")
        return checked(state_of(data))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as failure:
        why = str(failure) if isinstance(failure, Damaged) else "it is no .lprof file"
        raise Damaged(f"{path}: {why}") from None


def write(path, timings, unit):
    """A file that line_profiler loads: the class by its name, and what it is set to."""
    state = pickle.dumps({"timings": timings, "unit": unit}, 2)
    with open(path, "wb") as file:
        file.write(b"\x80\x02c" + MODULE.encode() + b"\nLineStats\n)\x81" + state[2:-1] + b"b.")

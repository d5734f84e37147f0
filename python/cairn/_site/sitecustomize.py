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
    """(what is counted, {"in": words that say where lines and instructions are, "calls in": where
    calls are, "toggle": the signal, "timeline": "BYTES" or "BYTES ring", as words})"""
    with open(f"{spool.decode()}/wanted", encoding="utf-8", errors="surrogateescape") as file:
        said = file.read().split("\n")
    return said, {key: [line[len(key) + 1 :] for line in said if line.startswith(f"{key} ")]
                  for key in ("in", "calls in", "toggle", "timeline")}  # fmt: skip


# Behind these another instruction runs next, or none, than the one that stands there.
ENDS = {"RESUME", "RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "YIELD_VALUE", "SEND", "FOR_ITER",
        "RAISE_VARARGS", "RERAISE", "CLEANUP_THROW", "END_ASYNC_FOR"}  # fmt: skip


# And behind these never what stands there.
NEVER_ON = {"JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE",
            "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}  # fmt: skip


def lister():
    """What lists the instructions of a code object (lines_parts.h), by this Python's own `dis`. The
    program does not find it imported."""
    import sys

    before = set(sys.modules)
    import dis

    for name in set(sys.modules) - before:
        del sys.modules[name]
    code_type = type(lister.__code__)
    each_counts = sys.version_info < (3, 12)  # linetracing.c
    jumps = {*dis.hasjrel, *dis.hasjabs}

    def forms_of(code, is_over):
        """{offset: the form in which it is run}, of those that were specialised."""
        if not is_over or sys.version_info < (3, 11):
            return {}
        general = {instruction.offset: instruction.opname for instruction in dis.get_instructions(code)}
        return {instruction.offset: instruction.opname
                for instruction in dis.get_instructions(code, adaptive=True)
                if is_form(instruction.opname, general.get(instruction.offset))}  # fmt: skip

    def is_form(name, general):
        """Two in one (3.11) are none, nor is what still waits to be specialised."""
        return (general not in (None, name) and not name.startswith(("INSTRUMENTED_", "CACHE"))
                and not name.endswith(("_ADAPTIVE", "_QUICK")) and "__" not in name)  # fmt: skip

    def text_of(instruction):
        told = instruction.argrepr
        if isinstance(instruction.argval, code_type):
            told = f"<code object {instruction.argval.co_name}>"  # without its address
        elif told.startswith("to "):
            told = f"to {instruction.argval}"  # not to a label
        text = instruction.opname
        if instruction.arg is not None:
            text += f" {instruction.arg}"
        if told:
            text += f" ({told[:200]})"
        return text.replace("\n", " ")

    def handlers_of(code):
        """Where exceptions are caught: no label of `dis`."""
        entries = dis._parse_exception_table(code) if sys.version_info >= (3, 11) else []
        return {entry.target for entry in entries}

    def depths_of(code):
        """{offset: values on the stack behind the instruction}, of those that can be reached; nothing
        where Python's own figures do not add up (some functions with `async with`, 3.8)."""
        instructions = list(dis.get_instructions(code))
        places = {instruction.offset: i for i, instruction in enumerate(instructions)}
        entries = dis._parse_exception_table(code) if sys.version_info >= (3, 11) else []
        # 3.10 gives a generator its first value when it begins, later versions at RETURN_GENERATOR.
        todo = [(0, int(instructions[0].opname == "GEN_START"))]
        todo += [(places[entry.target], entry.depth + entry.lasti + 1) for entry in entries]
        found, seen = {}, set()
        while todo:
            at, depth = todo.pop()
            while at < len(instructions) and at not in seen:
                seen.add(at)
                instruction = instructions[at]
                opcode, argument = instruction.opcode, instruction.arg
                if opcode < dis.HAVE_ARGUMENT:
                    argument = None
                if opcode in jumps:
                    effect = dis.stack_effect(opcode, argument, jump=True)
                    todo.append((places[instruction.argval], depth + effect))
                depth += dis.stack_effect(opcode, argument, jump=False)
                if instruction.opname == "RETURN_GENERATOR" and sys.version_info < (3, 13):
                    depth += 1
                found[instruction.offset] = depth
                at = len(instructions) if instruction.opname in NEVER_ON else at + 1
        return found if min(found.values()) >= 0 else {}

    def known(find, code):
        """Bytecode that no compiler made may be anything."""
        try:
            return find(code)
        except Exception:
            return {}

    def listing(code, is_over):
        rows, line, ends, handlers = [], 0, 1, handlers_of(code)
        forms, depths = forms_of(code, is_over), known(depths_of, code)
        leads = bytearray(len(code.co_code) // 2)
        for instruction in dis.get_instructions(code):
            positions = getattr(instruction, "positions", None)
            line = positions.lineno or 0 if positions else instruction.starts_line or line
            unit, target = instruction.offset // 2, instruction.is_jump_target
            leads[unit] = (ends > 0 or target or each_counts or instruction.offset in handlers
                           or instruction.opname == "RESUME")  # fmt: skip
            rows.append(f"{unit}\t{line}\t{target:d}\t{leads[unit]}\t{depths.get(instruction.offset, -1) + 1}\t"
                        f"{forms.get(instruction.offset, '')}\t{text_of(instruction)}\n")
            if instruction.opname in ENDS or instruction.opcode in jumps:
                ends = 1
            else:
                # A loop that is over goes on behind these, by one or two.
                ends = 2 if instruction.opname == "END_FOR" else max(ends - 1, 0)
        return "".join(rows).encode("utf-8", "backslashreplace"), bytes(leads)

    return listing


def handle(number, handler):
    """The program does not find the module imported. What is no main thread sets no handlers."""
    import sys

    before = set(sys.modules)
    import _signal

    for name in set(sys.modules) - before:
        del sys.modules[name]
    try:
        _signal.signal(number, handler)
    except ValueError:
        pass


def costs_of(module):
    """What counting adds to a call of Python, to one of C, and to a generator's resume: ns in all, and
    so much of it within the time that is counted, each. It takes some ms."""
    many, rounds, size = (None,) * 200, 9, len

    def empty():
        pass

    def call(many):
        for _ in many:
            empty()

    def call_c(many):
        for _ in many:
            size(many)

    def steps(many):
        for _ in many:
            yield

    def resume(many):
        for _ in steps(many):
            pass

    loops = {call: empty.__code__, call_c: "<built-in method builtins.len>", resume: steps.__code__}
    profiler = module.Profiler(apart=True)

    def measure():
        return {key: profiler.measure(loop, many) for loop, key in loops.items()}

    def middle(numbers):
        return sorted(numbers)[len(numbers) // 2]

    def sound(key):
        """A processor that changes its speed within a round can make it look as if counting cost next
        to nothing; what was told within is of one moment."""
        some = [row[key] for row in rows]
        return [(cost, told) for cost, told in some if 2 * cost >= told] or some

    def told():
        return {entry.code: entry.totaltime * 1e9 for entry in profiler.getstats()}

    rows = []  # of each round: {key: (what it took more, what was told)}, ns
    for _ in range(rounds):
        without = measure()
        profiler.enable()
        measure()  # so that the next one finds all it needs at hand
        before, within, behind = told(), measure(), told()
        profiler.disable()
        rows.append({key: (within[key] - without[key], behind.get(key, 0) - before.get(key, 0))
                     for key in without})  # fmt: skip
    costs = []
    for key in loops.values():
        cost, inside = (middle([row[i] for row in sound(key)]) for i in range(2))
        costs += [max(0, cost) / len(many), max(0, min(cost, inside)) / len(many)]
    return tuple(costs)


def costs_known(module):
    """Without an estimate calls are counted all the same."""
    try:
        return costs_of(module)
    except Exception:
        return ()


def record(folder, spool):
    import atexit
    import builtins
    import sys

    before = {name: sys.modules[name] for name in NAMES if name in sys.modules}
    what = "nothing is"
    try:
        module = engine(folder)
        said, named = wanted(spool)
        things, on = [], not named["toggle"]  # with a signal it is for that to say
        costs = costs_known(module) if module is not None and "calls" in said else ()
        if module is not None and ("lines" in said or "opcodes" in said):
            what = "lines are not"
            lines = module.Lines()
            atexit.register(lines.end)  # what is registered first is called last
            lines.record(spool, named["in"], "lines" in said, lister() if "opcodes" in said else None, on)
            things.append(lines)
            if not hasattr(builtins, "profile"):
                builtins.profile = lines.choose
        if module is not None and "calls" in said:
            what = "calls are not"
            profiler = module.Profiler()
            atexit.register(profiler.end)
            times_bytes, *ring = (named["timeline"] or ["0"])[0].split()
            profiler.record(spool, named["calls in"], on, int(times_bytes), bool(ring), costs)
            things.append(profiler)
        if things:
            atexit.register(module.toggle, [False])  # before they end, and would be switched on again
            module.toggle([on, *things])
        if not on:
            handle(int(named["toggle"][0]), module.flip if things else lambda *_: None)
    except Exception as failure:
        print(f"cairn: {what} counted in this process: {failure}", file=sys.stderr)
    finally:
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


begin()

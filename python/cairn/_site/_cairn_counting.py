"""What sitecustomize runs in each Python that a program begins, from 3.8 on, to have it counted."""


NAMES = ("cairn", "cairn._exact")


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


def wanted(spool):
    """(what is counted, {"in": words that say where lines and instructions are, "calls in": where
    calls are, "toggle": the signal, "timeline": "BYTES" or "BYTES ring", "limit": what counting may cost, in
    millionths of what the program needs, as words})"""
    with open(f"{spool.decode()}/wanted", encoding="utf-8", errors="surrogateescape") as file:
        said = file.read().split("\n")
    return said, {key: [line[len(key) + 1 :] for line in said if line.startswith(f"{key} ")]
                  for key in ("in", "calls in", "toggle", "timeline", "limit")}  # fmt: skip


# Behind these another instruction runs next, or none, than the one that stands there.
ENDS = {"RESUME", "RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "YIELD_VALUE", "SEND", "FOR_ITER",
        "RAISE_VARARGS", "RERAISE", "CLEANUP_THROW", "END_ASYNC_FOR"}  # fmt: skip


# And behind these never what stands there.
NEVER_ON = {"JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE",
            "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}  # fmt: skip


def unseen(name):
    """A module of this Python's own. The program does not find it imported."""
    import sys

    before = set(sys.modules)
    module = __import__(name)
    for new in set(sys.modules) - before:
        del sys.modules[new]
    return module


def handlers_of(dis, code):
    """Where exceptions are caught: no label of `dis`."""
    entries = dis._parse_exception_table(code) if hasattr(dis, "_parse_exception_table") else []
    return {entry.target for entry in entries}


def planner(whole):
    """What finds the places at which lines of a code object begin, and of them those that need not
    be counted (struct cairn_line_plan): in a run of instructions without a jump all begin as often as
    the first that begins a line for sure. It returns numbers of 32 bits: whether the code's first
    line has to be told as the code begins, and (place, line, number of the place that is counted) of
    each. Nothing where each line is counted: until 3.11, and with `whole`."""
    import sys

    if whole or sys.version_info < (3, 12):
        return lambda code: b""
    dis = unseen("dis")
    from itertools import dropwhile
    from _struct import pack

    jumps = {*dis.hasjrel, *dis.hasjabs}

    def runs_of(code):
        """[[(place, line, whether a line begins there for sure)]]: of each run its instructions."""
        runs, ends, before, handlers = [], 1, None, handlers_of(dis, code)
        comes_from = {}  # lines of what jumps there; None: it may come from elsewhere
        all_of_it = [(i, i.positions.lineno if i.positions else None) for i in dis.get_instructions(code)]
        for instruction, line in all_of_it:
            if instruction.opcode in jumps:
                plain = instruction.opname not in ENDS
                comes_from.setdefault(instruction.argval, []).append(line if plain else None)
        for instruction, line in all_of_it:
            name, offset = instruction.opname, instruction.offset
            if ends or offset in comes_from or offset in handlers or name == "RESUME":
                runs.append([])
                sources = list(comes_from.get(offset, ()))
                if before is None or offset in handlers or name == "RESUME":
                    sources.append(None)
                elif before[0].opname not in NEVER_ON:
                    plain = not ends or before[0].opcode in jumps and before[0].opname != "SEND"
                    sources.append(before[1] if plain else None)
                surely = bool(sources) and None not in sources and line not in sources
            else:
                surely = line != before[1] and before[1] is not None
            runs[-1].append((offset // 2, line, surely and line is not None))
            if name in ENDS or instruction.opcode in jumps:
                ends = 1
            else:
                ends = 2 if name == "END_FOR" else max(ends - 1, 0)  # as in listing()
            before = (instruction, line)
        return runs

    def hides_its_line(code):
        """Whether its first line is that of the RESUME at which it begins: from 3.13 on that has no
        event of a line, and what stands behind it on the same line has none either."""
        begins = dropwhile(lambda one: (one.opname, one.arg) != ("RESUME", 0), dis.get_instructions(code))
        lines = [one.positions and one.positions.lineno for one, _ in zip(begins, range(2))]
        return len(set(lines)) < 2

    def plan(code):
        numbers, count = [int(hides_its_line(code))], 0
        for run in runs_of(code):
            places = [(unit, line) for unit, line, surely in run if surely]
            if len(places) > 1:
                for unit, line in places:
                    numbers += [unit, line, count]
                count += len(places)
        return pack(f"{len(numbers)}I", *numbers)

    return plan


LEADS, SPOT, WATCHES = 1, 2, 4  # CAIRN_UNIT_…

# What an instruction is given: how far below the top of the stack the first of it lies, and how many
# they are. Of calls that is what is called, 0, below the arguments, or one place above it.
LOOKS = {"COMPARE_OP": (2, 2), "CONTAINS_OP": (2, 2), "STORE_SUBSCR": (2, 2), "LOAD_ATTR": (1, 1),
         "LOAD_METHOD": (1, 1), "STORE_ATTR": (1, 1), "LOAD_SUPER_ATTR": (1, 1), "TO_BOOL": (1, 1),
         "FOR_ITER": (1, 1), "GET_ITER": (1, 1), "UNPACK_SEQUENCE": (1, 1), "CALL_FUNCTION": (1, 0),
         "CALL_METHOD": (2, 0), "CALL_FUNCTION_KW": (2, 0), "CALL": (2, 0), "CALL_KW": (3, 0)}  # fmt: skip


def looks_at(instruction):
    """(how far below the top, how many) or None."""
    import sys

    name = instruction.opname
    if name == "FOR_ITER" and sys.version_info >= (3, 15):
        return 2, 1  # where it stands lies above what it iterates over
    if name.startswith(("BINARY_", "INPLACE_")) and name != "BINARY_SLICE":
        return 2, 2
    below, count = LOOKS.get(name, (0, 0))
    if below and not count:
        below += instruction.arg
    return (below, count) if below else None


def lister():
    """What lists the instructions of a code object (lines_parts.h), by this Python's own `dis`, with
    what is to be done about each unit (CAIRN_UNIT_…), and spots (struct cairn_spot_place)."""
    import sys

    dis = unseen("dis")
    code_type = type(lister.__code__)
    each_counts = sys.version_info < (3, 12)  # linetracing.c
    knows_depth = not (3, 12) <= sys.version_info < (3, 14)  # operands.c
    jumps = {*dis.hasjrel, *dis.hasjabs}

    # Of the counter behind an instruction: bits of how long it waits, and where it starts from when a
    # form was found. What waits longer each time is no form to be found (pycore_backoff.h).
    wait_bits, found_at = (3 if sys.version_info >= (3, 15) else 4), 52
    families = {name for name in getattr(dis, "_specializations", ()) if not name.startswith(("JUMP", "RESUME"))}

    def forms_of(code, kept):
        """{offset: the form in which it is run}, of those that were specialised; behind it, from 3.12 on,
        ";misses=N": so often it did not fit; or without a form ";tries=N": so often none fitted. `kept`:
        {offset: (form that was given up, misses until then)} when the program is over; else None."""
        if kept is None or sys.version_info < (3, 11):
            return {}
        general = {instruction.offset: instruction.opname for instruction in dis.get_instructions(code)}
        counters = known(counters_of, code)
        forms = {}
        for instruction in dis.get_instructions(code, adaptive=True):
            name, offset = instruction.opname, instruction.offset
            if is_form(name, general.get(offset)):
                forms[offset] = name
                misses = found_at - (counters.get(offset, found_at) >> wait_bits)
                if offset in counters and 0 <= misses <= found_at:
                    forms[offset] += f";misses={misses + kept.get(offset, (0, 0))[1]}"
            elif offset in kept:
                forms[offset] = f"{dis._all_opname[kept[offset][0]]};misses={kept[offset][1]}"
            elif offset in counters and name == general.get(offset):
                forms[offset] = f";tries={max(0, (counters[offset] & ((1 << wait_bits) - 1)) - 1)}"
        return forms

    def counters_of(code):
        """{offset: the counter behind it}, of instructions that have forms and a place for it."""
        if sys.version_info < (3, 12):
            return {}
        raw, counters, before = code._co_code_adaptive, {}, None
        for instruction in dis.get_instructions(code):
            if before and before.opname in families and instruction.offset - before.offset > 2:
                counters[before.offset] = int.from_bytes(raw[before.offset + 2 : before.offset + 4], sys.byteorder)
            before = instruction
        return counters

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

    def depths_of(code):
        """{offset: (values on the stack before the instruction, -1: it depends; behind it)}, of those that
        can be reached; nothing where Python's own figures do not add up (some functions with `async with`,
        3.8)."""
        instructions = list(dis.get_instructions(code))
        places = {instruction.offset: i for i, instruction in enumerate(instructions)}
        entries = dis._parse_exception_table(code) if sys.version_info >= (3, 11) else []
        # 3.10 gives a generator its first value when it begins, later versions at RETURN_GENERATOR.
        todo = [(0, int(instructions[0].opname == "GEN_START"))]
        todo += [(places[entry.target], entry.depth + entry.lasti + 1) for entry in entries]
        found, before = {}, {}
        while todo:
            at, depth = todo.pop()
            while at < len(instructions):
                if before.setdefault(at, depth) != depth:
                    before[at] = -1
                if instructions[at].offset in found:
                    break
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
        if min(found.values()) < 0 or max(before.values()) > code.co_stacksize:
            return {}
        return {instructions[at].offset: (depth, found[instructions[at].offset]) for at, depth in before.items()}

    def known(find, code):
        """Bytecode that no compiler made may be anything."""
        try:
            return find(code)
        except Exception:
            return {}

    def spot_of(instruction, unit, run, depth):
        """The numbers of a struct cairn_spot_place; none: it is no spot."""
        place = looks_at(instruction)
        if place is None or (depth < place[0] and not knows_depth):
            return ()
        return (unit, run, instruction.opcode, depth + 1, *place)

    def listing(code, kept):
        rows, spots, line, ends, lead, extended, handlers = [], [], 0, 1, 0, None, handlers_of(dis, code)
        forms, depths = forms_of(code, kept), known(depths_of, code)
        what = bytearray(len(code.co_code) // 2)
        for instruction in dis.get_instructions(code):
            positions = getattr(instruction, "positions", None)
            line = positions.lineno or 0 if positions else instruction.starts_line or line
            unit, target = instruction.offset // 2, instruction.is_jump_target
            leads = (ends > 0 or target or each_counts or instruction.offset in handlers
                     or instruction.opname == "RESUME")  # fmt: skip
            before, behind = depths.get(instruction.offset, (-1, -1))
            rows.append(f"{unit}\t{line}\t{target:d}\t{leads:d}\t{behind + 1}\t"
                        f"{forms.get(instruction.offset, '')}\t{text_of(instruction)}\n")
            lead = unit if leads else lead
            # Of what is extended one is told where that begins, until 3.11.
            told = unit if extended is None or not each_counts else extended
            extended = told if instruction.opname == "EXTENDED_ARG" else None
            spot = spot_of(instruction, told, lead, before)
            spots += spot
            what[unit] = LEADS * leads
            what[told] |= SPOT * bool(spot)
            what[lead] |= WATCHES * (bool(spot) and not leads)
            if instruction.opname in ENDS or instruction.opcode in jumps:
                ends = 1
            else:
                # A loop that is over goes on behind these, by one or two.
                ends = 2 if instruction.opname == "END_FOR" else max(ends - 1, 0)
        return ("".join(rows).encode("utf-8", "backslashreplace"), bytes(what),
                b"".join(number.to_bytes(4, sys.byteorder) for number in spots))  # fmt: skip

    return listing


def handle(number, handler):
    """What is no main thread sets no handlers."""
    try:
        unseen("_signal").signal(number, handler)
    except ValueError:
        pass


def new(module, hooked):
    """A profiler that costs what the one of the program does."""
    profiler = module.Profiler(apart=True)
    if hooked:
        profiler.hook()
    return profiler


def costs_of(module, hooked):
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
    profiler = new(module, hooked)

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


def left_out_of(module, costs, hooked):
    """What a call takes more that is passed over, and one that is counted and not timed; until 3.11 the same
    where nothing else is counted: ns."""
    import sys

    monitors = sys.version_info >= (3, 12)
    many, rounds = (None,) * 200, 9

    def empty():
        pass

    def call(many):
        for _ in many:
            empty()

    def more(profiler):
        added = []
        for _ in range(rounds):
            without = profiler.measure(call, many)
            profiler.enable()
            profiler.measure(call, many)  # what has one event had it here
            added.append(profiler.measure(call, many) - without)
            profiler.disable()
        return max(1, sorted(added)[rounds // 2]) / len(many)

    def counting(code):
        profiler = new(module, hooked)
        profiler.count(code)
        return profiler

    def passing(profiler):
        profiler.only(["\0"])
        return profiler

    counted = more(counting(empty.__code__))
    if monitors:  # of what is passed over there is no event but the first
        return costs[0], counted
    passed, plain = more(passing(new(module, hooked))), more(counting(None))
    return min(passed, counted), counted, min(more(passing(counting(None))), plain), plain


def line_costs_of(module, calls):
    """What counting adds to a line, with its time, and to a frame in which lines begin, beside `calls`
    that are counted: ns. Instructions, and lines without, take less."""
    many, rounds = (None,) * 200, 9

    def turn(many):
        for _ in many:
            many = many

    def one():
        pass

    def calls_one(one):
        for _ in many:
            one()

    lines, measure = module.Lines(), module.Profiler().measure
    # With the globals of those that are not counted: until 3.9 a frame that has others than its caller
    # looks for the builtins, and makes a dictionary where there are none.
    counted = [type(code)(code.__code__.replace(), code.__globals__, None, None, code.__closure__)
               for code in (turn, one, calls_one)]  # fmt: skip
    for function in counted:
        lines.add(function.__code__)
    lines.enable()
    profiler = module.Profiler(apart=True)
    if calls:
        profiler.enable()
    more = [], []
    for _ in range(rounds):  # in turns: a processor may change its speed meanwhile
        without = measure(turn, many), measure(calls_one, one)
        more[0].append(measure(counted[0], many) - without[0])
        more[1].append(measure(counted[2], counted[1]) - without[1])
    profiler.disable()
    line, call = (max(1, sorted(some)[rounds // 2]) / len(many) for some in more)
    return line / 2, max(0, call - line * 3 / 2)


def known_of(without, costs, *args):
    """Without an estimate all is counted the same."""
    try:
        return costs(*args)
    except Exception:
        return without


def bequeath(module, spool, folder):
    """Has what the program starts with an environment that it gives counted as well."""
    import os

    try:
        module.bequeath(spool, os.fsencode(folder), unseen("posix"), unseen("_posixsubprocess"))
    except ImportError:  # an interpreter beside the first, which has done it
        return
    known = list(os.supports_fd)  # which has execve under a hash of what it runs
    os.supports_fd.clear()
    os.supports_fd.update(known)


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
        if module is None:
            tell_without(spool)
        else:
            bequeath(module, spool, folder)
        hooked = "text" in said
        costs = known_of((), costs_of, module, hooked) if module is not None and "calls" in said else ()
        limit = int(*named["limit"] or ["0"]) / 1e6
        limit /= 1 + ("calls" in said and ("lines" in said or "opcodes" in said))  # each has its half
        if module is not None and ("lines" in said or "opcodes" in said):
            what = "lines are not"
            asked = limit or not {"hybrid", "opcodes"}.intersection(said)
            line_costs = known_of((0, 0), line_costs_of, module, "calls" in said) if asked else (0, 0)
            lines = module.Lines()
            atexit.register(lines.end)  # what is registered first is called last
            lines.record(spool, named["in"], "lines" in said, lister() if "opcodes" in said else None, on,
                         planner(not on) if "hybrid" in said else None, limit, line_costs)
            if any(line_costs):  # the beginning is the time when Cairn itself is busy beside the program
                atexit.register(lambda: lines.cost(
                    *known_of(line_costs, line_costs_of, module, "calls" in said)))
            things.append(lines)
            if not hasattr(builtins, "profile"):
                builtins.profile = lines.choose
        if module is not None and "calls" in said:
            what = "calls are not"
            profiler = module.Profiler()
            if hooked:
                profiler.hook()  # which says why not, into the recording
            if costs and not limit:  # of books the beginning holds; behind the end, or it is counted
                atexit.register(lambda: profiler.cost(known_of(costs, costs_of, module, hooked)))
            atexit.register(profiler.end)
            atexit.register(module.toggle, [False])  # before they end, and would be switched on again
            things.append(profiler)
            times_bytes, *ring = (named["timeline"] or ["0"])[0].split()
            profiler.record(spool, named["calls in"], on, int(times_bytes), bool(ring), costs, limit,
                            *(left_out_of(module, costs, hooked) if limit and costs else ()))  # fmt: skip
        elif things:
            atexit.register(module.toggle, [False])
        # Calls are counted from here on: there are none of ours but of the module, which are left out.
        if things:
            module.toggle([on, *things])
        if not on:
            handle(int(named["toggle"][0]), module.flip if things else lambda *_: None)
    except Exception as failure:
        print(f"cairn: {what} counted in this process: {failure}", file=sys.stderr)
    finally:
        for name in NAMES:
            if name in sys.modules:
                del sys.modules[name]
        for name in before:
            sys.modules[name] = before[name]

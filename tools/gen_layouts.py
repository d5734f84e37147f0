#!/usr/bin/env python3
"""Writes src/collect/pylayout_tables.c from the headers of the CPythons at hand.

    gen_layouts.py [-o FILE] HEADERS...        each .../include/python3.N

Nothing in the tables is typed in: a C program made from the headers prints every offset, and the
instruction tables come from the same headers. Headers of two builds of one minor version must
agree in all that the reader uses; the script stops when they do not.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Field of pylayout.def -> (structure, member), by the first minor version it is so; None: absent.
STRUCTS = {
    "runtime": "_PyRuntimeState", "interp": "PyInterpreterState", "thread": "PyThreadState",
    "excitem": "_PyErr_StackItem", "gil": "struct _gil_runtime_state",
    "gc": "struct _gc_runtime_state",
    "threadimpl": {8: None, 13: "_PyThreadStateImpl", 14: None},
    "set": "PySetObject", "weakref": "PyWeakReference",
    "cframe": {8: None, 11: "_PyCFrame", 13: None}, "chunk": {8: None, 11: "_PyStackChunk"},
    "frame": {8: "PyFrameObject", 11: "_PyInterpreterFrame"}, "code": "PyCodeObject", "object": "PyVarObject",
    "type": "PyTypeObject", "heaptype": "PyHeapTypeObject", "bytes": "PyBytesObject",
    "unicode": "PyUnicodeObject", "dict": "PyDictObject", "gen": "PyGenObject",
    "keys": "struct _dictkeysobject", "values": {8: None, 11: "struct _dictvalues"}, "long": "PyLongObject",
}
MEMBERS = {
    "runtime_interpreters_head": "interpreters.head",
    "runtime_gil": {8: "ceval.gil", 12: None}, "runtime_gc": {8: "gc", 9: None},
    "interp_gil": {8: None, 12: "ceval.gil"}, "interp_gc": {8: None, 9: "gc"},
    "gil_holder": "last_holder", "gil_locked": "locked", "gc_collecting": "collecting",
    "thread_exception": {8: "curexc_type", 12: "current_exception"},
    "thread_exc_info": "exc_info", "thread_exc_state": "exc_state", "excitem_value": "exc_value",
    "interp_next": "next", "interp_threads_head": {8: "tstate_head", 11: "threads.head"},
    "interp_modules": {8: "modules", 12: "imports.modules"},
    "thread_next": "next", "thread_interp": "interp",
    "thread_current_frame": {8: "frame", 11: None, 13: "current_frame"},
    "thread_cframe": {8: None, 11: "cframe", 13: None},
    "thread_ident": "thread_id", "thread_native_id": {8: None, 11: "native_thread_id"},
    "thread_chunk": {8: None, 11: "datastack_chunk"},
    "thread_chunk_top": {8: None, 11: "datastack_top"},
    "thread_base_frame": {8: None, 15: "base_frame"},
    "thread_dict": "dict", "threadimpl_running_loop": "asyncio_running_loop",
    "thread_trace": {8: "c_tracefunc", 11: None},
    "thread_profile": {8: "c_profilefunc", 11: None},
    "cframe_current_frame": {8: None, 11: "current_frame", 13: None},
    "cframe_previous": {8: None, 11: "previous", 13: None},
    "chunk_previous": "previous", "chunk_size_bytes": "size", "chunk_used_words": "top",
    "chunk_data": "data",
    "frame_previous": {8: "f_back", 11: "previous"},
    "frame_code": {8: "f_code", 13: "f_executable"},
    "frame_instr": {8: None, 11: "prev_instr", 13: "instr_ptr"},
    "frame_last": {8: "f_lasti", 11: None}, "frame_state": {8: "f_executing", 10: "f_state", 11: None},
    "frame_generator": {8: "f_gen", 11: None},
    "frame_values": {8: "f_valuestack", 11: None},
    "frame_top": {8: "f_stacktop", 10: None}, "frame_depth": {8: None, 10: "f_stackdepth", 11: None},
    "frame_owner": {8: None, 11: "owner"},
    "frame_stacktop": {8: None, 11: "stacktop", 14: None},
    "frame_is_entry": {8: None, 11: "is_entry", 12: None},
    "frame_stackpointer": {8: None, 14: "stackpointer"},
    "code_filename": "co_filename", "code_name": "co_name",
    "code_qualname": {8: None, 11: "co_qualname"},
    "code_linetable": {8: "co_lnotab", 10: "co_linetable"}, "code_first_line": "co_firstlineno",
    "code_bytes": {8: "co_code", 11: None}, "code_names": {8: "co_names", 11: None},
    "code_instructions": {8: None, 11: "co_code_adaptive"},
    "code_locals": {8: "co_nlocals", 11: "co_nlocalsplus"},
    "code_stack": "co_stacksize", "code_frame_words": {8: None, 12: "co_framesize"},
    "code_first_traceable": {8: None, 11: "_co_firsttraceable"},
    "object_type": "ob_base.ob_type", "object_count": "ob_size",
    "type_name": "tp_name", "type_basic_size": "tp_basicsize", "type_flags": "tp_flags",
    "type_dict_offset": "tp_dictoffset", "type_members": "tp_members", "type_base": "tp_base",
    "set_used": "used", "set_mask": "mask", "set_table": "table", "weakref_object": "wr_object",
    "heaptype_cached_keys": "ht_cached_keys", "bytes_data": "ob_sval",
    "dict_keys": "ma_keys", "dict_values": "ma_values",
    "gen_frame": {8: "gi_frame", 11: "gi_iframe"},
    "gen_state": {8: None, 11: "gi_frame_state"},
    "keys_slots": {8: "dk_size", 11: None},
    "keys_log2_index_bytes": {8: None, 11: "dk_log2_index_bytes"},
    "keys_kind": {8: None, 11: "dk_kind"},
    "keys_entry_count": "dk_nentries", "keys_indices": "dk_indices",
    "values_first": {8: None, 11: "values"},
    "long_tag": {8: "ob_base.ob_size", 12: "long_value.lv_tag"},
    "long_digits": {8: "ob_digit", 12: "long_value.ob_digit"},
}
EXPRESSIONS = {  # what is not a plain member of the group's structure
    "unicode_state": "offsetof(PyASCIIObject, state)",
    "unicode_length": "offsetof(PyASCIIObject, length)",
    "unicode_ascii_data": "sizeof(PyASCIIObject)",
    "unicode_compact_data": "sizeof(PyCompactUnicodeObject)",
    # Of a frame object, what changes while it runs; its blocks, locals and stack lie behind.
    "frame_size": {8: "offsetof(PyFrameObject, f_blockstack)",
                   11: "offsetof(_PyInterpreterFrame, localsplus)"},
}
# Until 3.10 no installed header declares it: Objects/dict-common.h of the sources does.
KEYS = """struct _dictkeysobject { Py_ssize_t dk_refcnt, dk_size; void *dk_lookup;
    Py_ssize_t dk_usable, dk_nentries; char dk_indices[]; };"""
# Where _Py_DebugOffsets tells it (3.13 on; a member that a version lacks is taken from the table).
DEBUG_OFFSETS = {
    "runtime_size": "runtime_state.size",
    "runtime_interpreters_head": "runtime_state.interpreters_head",
    "interp_size": "interpreter_state.size", "interp_next": "interpreter_state.next",
    "interp_threads_head": "interpreter_state.threads_head",
    "interp_modules": "interpreter_state.imports_modules",
    "interp_gil": "interpreter_state.ceval_gil", "interp_gc": "interpreter_state.gc",
    "gc_size": "gc.size", "gc_collecting": "gc.collecting",
    "thread_size": "thread_state.size", "thread_next": "thread_state.next",
    "thread_interp": "thread_state.interp", "thread_current_frame": "thread_state.current_frame",
    "thread_ident": "thread_state.thread_id", "thread_native_id": "thread_state.native_thread_id",
    "thread_chunk": "thread_state.datastack_chunk",
    "thread_base_frame": {13: None, 15: "thread_state.base_frame"},
    "thread_exception": {13: None, 15: "thread_state.current_exception"},
    "thread_exc_state": {13: None, 15: "thread_state.exc_state"},
    "excitem_value": {13: None, 15: "err_stackitem.exc_value"},
    "frame_size": "interpreter_frame.localsplus", "frame_previous": "interpreter_frame.previous",
    "frame_code": "interpreter_frame.executable", "frame_instr": "interpreter_frame.instr_ptr",
    "frame_owner": "interpreter_frame.owner",
    "code_size": "code_object.size", "code_filename": "code_object.filename",
    "code_name": "code_object.name", "code_qualname": "code_object.qualname",
    "code_linetable": "code_object.linetable", "code_first_line": "code_object.firstlineno",
    "code_instructions": "code_object.co_code_adaptive",
    "object_type": "pyobject.ob_type",
    "type_size": "type_object.size", "type_name": "type_object.tp_name",
    "type_flags": "type_object.tp_flags",
    "type_basic_size": {13: None, 15: "type_object.tp_basicsize"},
    "heaptype_size": {13: None, 15: "heap_type_object.size"},
    "heaptype_cached_keys": {13: None, 15: "heap_type_object.ht_cached_keys"},
    "bytes_size": "bytes_object.size", "bytes_data": "bytes_object.ob_sval",
    "unicode_size": "unicode_object.size", "unicode_state": "unicode_object.state",
    "unicode_length": "unicode_object.length",
    "unicode_ascii_data": "unicode_object.asciiobject_size",
    "unicode_compact_data": {13: None, 15: "unicode_object.compactunicodeobject_size"},
    "dict_size": "dict_object.size", "dict_keys": "dict_object.ma_keys",
    "dict_values": "dict_object.ma_values",
    "gen_size": {13: None, 14: "gen_object.size"},
    "gen_frame": {13: None, 14: "gen_object.gi_iframe"},
    "gen_state": {13: None, 14: "gen_object.gi_frame_state"},
    "long_size": "long_object.size", "long_tag": "long_object.lv_tag",
    "long_digits": "long_object.ob_digit",
}
# A frame whose callee the interpreter runs without a C call stands at one of these families.
CALLERS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "PRECALL", "BINARY_SUBSCR", "BINARY_OP",
           "LOAD_ATTR", "FOR_ITER", "SEND", "GET_ITER")
# Until 3.10 every call is one of C, so nearly every instruction can make one (an operator, an
# attribute, a destructor). These do not, but for the last value of a variable or of the stack
# going, an exception that unwinds, or a signal that comes in between.
QUIET = ("LOAD_FAST", "LOAD_CONST", "LOAD_CLOSURE", "LOAD_DEREF", "STORE_FAST", "STORE_DEREF",
         "DELETE_FAST", "DELETE_DEREF", "POP_TOP", "POP_BLOCK", "POP_EXCEPT", "NOP",
         "ROT_TWO", "ROT_THREE", "ROT_FOUR", "ROT_N", "DUP_TOP", "DUP_TOP_TWO", "EXTENDED_ARG",
         "JUMP_FORWARD", "JUMP_ABSOLUTE", "SETUP_FINALLY", "RETURN_VALUE", "YIELD_VALUE",
         "LOAD_ASSERTION_ERROR", "IS_OP", "RAISE_VARARGS", "RERAISE", "END_FINALLY",
         "BEGIN_FINALLY", "CALL_FINALLY", "POP_FINALLY", "BUILD_TUPLE", "BUILD_LIST",
         "BUILD_SLICE", "LIST_TO_TUPLE", "LIST_APPEND", "GEN_START", "SETUP_ASYNC_WITH",
         "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "COPY_DICT_WITHOUT_KEYS", "GET_LEN",
         "MATCH_MAPPING", "MATCH_SEQUENCE", "BUILD_STRING", "MAKE_FUNCTION", "HAVE_ARGUMENT",
         "EXCEPT_HANDLER")
# These stand in for another instruction, which the code object alone does not tell.
MASKS = ("INSTRUMENTED_LINE", "INSTRUMENTED_INSTRUCTION", "ENTER_EXECUTOR")
# These run a generator's frame without a C call, from 3.12 on.
RESUMERS = ("FOR_ITER", "SEND")
CALLER_BIT, MASK_BIT, RESUMES_BIT = 0x80, 0x40, 0x20
CALL_BIT, OVER_BIT, TO_BIT = 0x01, 0x10, 0x20  # until 3.10
NUMBERS = ("executing", "suspended", "kind_bit", "compact_bit", "ascii_bit", "told_size",
           "told_free_threaded")


def at(choice, minor):
    """The entry of a {first minor: value} table that holds for `minor`."""
    if not isinstance(choice, dict):
        return choice
    return choice[max((first for first in choice if first <= minor), default=None)]


def fields():
    text = (ROOT / "src/collect/pylayout.def").read_text()
    return re.findall(r"^X\((\w+), (\w+), (\d)\)", text, re.M)


def expression(group, field, width, minor):
    if field in EXPRESSIONS:
        return at(EXPRESSIONS[field], minor)
    struct = at(STRUCTS[group], minor)
    if struct is None:
        return None
    if width == "0":
        return f"sizeof({struct})"
    member = at(MEMBERS[field], minor)
    return member and f"offsetof({struct}, {member})"


def opcodes(include, minor):
    header = include / ("opcode_ids.h" if minor >= 13 else "opcode.h")
    names = {}
    for name, number in re.findall(r"^#define (\w+)\s+(\d+)$", header.read_text(), re.M):
        if int(number) < 256 and not re.match(r"(MIN|MAX|HAVE|NB)_", name):
            names[name] = int(number)
    return names


def program(include, minor):
    """C that prints `name value` lines for one set of headers."""
    lines = ["#define Py_BUILD_CORE 1", "#define NEED_OPCODE_TABLES", "#define NEED_OPCODE_METADATA",
             "#include <stddef.h>", "#include <stdio.h>", "#include <string.h>",
             "#include <Python.h>", "#include <internal/pycore_pystate.h>"]
    if minor <= 10:
        lines += ["#include <frameobject.h>", KEYS]
    if minor >= 9:
        lines += ["#include <internal/pycore_runtime.h>", "#include <internal/pycore_interp.h>"]
    if minor >= 11:
        lines += ["#include <internal/pycore_frame.h>", "#include <internal/pycore_dict.h>"]
    if minor >= 14:
        lines.append("#include <internal/pycore_interpframe.h>")
    if minor >= 13:
        lines.append("#include <internal/pycore_tstate.h>")
    if minor >= 11:
        lines.append("#include <internal/pycore_opcode%s.h>" % ("_metadata" if minor >= 13 else ""))
    lines.append("int main(void) {")
    lines.append('printf("version %s\\n", PY_VERSION);')
    for group, field, width in fields():
        what = expression(group, field, width, minor)
        if what:
            lines.append(f'printf("at {field} %zu\\n", (size_t){what});')
        where = at(DEBUG_OFFSETS.get(field), minor) if minor >= 13 else None
        if where:
            lines.append(f'printf("told {field} %zu\\n", offsetof(_Py_DebugOffsets, {where}));')
    if minor >= 13:
        lines.append('printf("told_size %zu\\n", sizeof(_Py_DebugOffsets));')
        lines.append('printf("told_free_threaded %zu\\n", offsetof(_Py_DebugOffsets, '
                     'free_threaded));')
    lines.append('printf("executing %%d\\n", %s);' % ("FRAME_EXECUTING" if minor >= 10 else "1"))
    if minor >= 10:
        lines.append('printf("suspended %d\\n", FRAME_SUSPENDED);')
    for bit in ("kind", "compact", "ascii"):
        lines += ["{ PyASCIIObject str; unsigned word; memset(&str, 0, sizeof str);",
                  f"str.state.{bit} = 1; memcpy(&word, &str.state, sizeof word);",
                  f'printf("{bit}_bit %d\\n", __builtin_ctz(word)); }}']
    if minor >= 11:
        lines.append('for (int i = 0; i < 256; i++) printf("op %d %d %d\\n", i, '
                     '_PyOpcode_Deopt[i], _PyOpcode_Caches[i]);')
    lines.append("return 0; }")
    return "\n".join(lines) + "\n"


def run(include, minor, scratch):
    source, binary = scratch / "layout.c", scratch / "layout"
    source.write_text(program(include, minor))
    subprocess.run(["gcc", "-w", "-O1", f"-I{include}", f"-I{include}/internal",
                    "-idirafter", str(include.parent), str(source), "-o", str(binary)], check=True)
    out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    got = {"at": {}, "told": {}, "op": {}}
    for line in out.splitlines():
        key, *rest = line.split()
        if key in ("at", "told"):
            got[key][rest[0]] = int(rest[1])
        elif key == "op":
            got["op"][int(rest[0])] = (int(rest[1]), int(rest[2]))
        else:
            got[key] = rest[0]
    names, table = opcodes(include, minor), got.pop("op")
    got["flags"] = flags(names, table, minor) if minor >= 11 else flags_of_calls(names)
    return got


def flags(names, table, minor):
    """One byte an opcode: how many caches follow it, and whether it can have called."""
    number_of = dict(names)
    name_of = {number: name for name, number in names.items()}
    result = [0] * 256
    for name, number in number_of.items():
        plain = name.removeprefix("INSTRUMENTED_")
        base = number_of.get(plain, number)
        # A specialised form has its family's caches; the tables give them for the family alone.
        family = table[base][0] or base
        value = table[family][1]
        if name_of.get(family) in CALLERS:
            value |= CALLER_BIT
        if minor >= 12 and name_of.get(family) in RESUMERS:
            value |= RESUMES_BIT
        if name in MASKS:
            value |= MASK_BIT
        result[number] = value
    return result


def flags_of_calls(names):
    """The same for the versions that have no caches."""
    result = [0] * 256
    for name, number in names.items():
        if name not in QUIET:
            result[number] |= CALLER_BIT
        if name.startswith("CALL_") and name not in QUIET:
            result[number] |= CALL_BIT
        if re.match(r"(POP_JUMP_IF|JUMP_IF|JUMP_ABSOLUTE)", name):
            result[number] |= TO_BIT
        if re.match(r"(FOR_ITER|JUMP_FORWARD|SETUP_|CALL_FINALLY)", name) and \
                name not in ("SETUP_ANNOTATIONS",):
            result[number] |= OVER_BIT
    return result


def table_lines(values, fallback):
    lines = []
    for _, field, _ in fields():
        value = values.get(field)
        lines.append(f"    .{field} = {fallback if value is None else value},")
    return lines


def emit(found):
    out = ["/* pylayout_tables.c: made by tools/gen_layouts.py; do not edit.", " *",
           " * Made from the headers of:"]
    for minor in sorted(found):
        out.append(f" *   3.{minor}: " + ", ".join(sorted(one["version"] for one in found[minor])))
    out += [" *", " * long because it holds eight versions, a line a place.", " */",
            '#include "pylayout.h"', ""]
    rows = []
    for minor in sorted(found):
        got = found[minor][0]
        out.append(f"static const struct cairn_pylayout layout_3_{minor} = {{")
        out += table_lines(got["at"], "CAIRN_PYLAYOUT_NONE") + ["};", ""]
        told = "NULL"
        if got["told"]:
            told = f"&told_3_{minor}"
            out.append(f"static const struct cairn_pylayout told_3_{minor} = {{")
            out += table_lines(got["told"], "CAIRN_PYLAYOUT_NONE") + ["};", ""]
        out.append(f"static const uint8_t opcodes_3_{minor}[256] = {{")
        for start in range(0, 256, 16):
            out.append("    " + " ".join(f"{value:#04x}," for value in
                                         got["flags"][start:start + 16]))
        out += ["};", ""]
        rows += ["    {", f"        .minor = {minor},"]
        rows += [f"        .{key} = {got.get(key, 0)}," for key in NUMBERS]
        rows += [f"        .layout = &layout_3_{minor},", f"        .told = {told},",
                 f"        .opcodes = opcodes_3_{minor},", "    },"]
    out.append("const struct cairn_pytable cairn_pytables[] = {")
    out += rows + ["};", "const size_t cairn_pytable_count = "
                   "sizeof(cairn_pytables) / sizeof(cairn_pytables[0]);", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default=str(ROOT / "src/collect/pylayout_tables.c"))
    parser.add_argument("headers", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for include in options.headers:
            minor = int(re.search(r"PY_MINOR_VERSION\s+(\d+)",
                                  (include / "patchlevel.h").read_text())[1])
            got = run(include.resolve(), minor, pathlib.Path(scratch))
            for other in found.setdefault(minor, []):
                # What lies at their ends is not looked at, and comes and goes with patches.
                for name in ("runtime_size", "interp_size"):
                    least = min(got["at"][name], other["at"][name])
                    got["at"][name] = other["at"][name] = least
                for key in ("at", "told", "flags", *NUMBERS):
                    got.setdefault(key, "0")
                    if got[key] == other.get(key, "0"):
                        continue
                    if key == "at":
                        differ = {name: (value, other[key].get(name)) for name, value in
                                  got[key].items() if value != other[key].get(name)}
                    else:
                        differ = key
                    sys.exit(f"3.{minor}: {got['version']} and {other['version']} do not agree: "
                             f"{differ}")
            found[minor].append(got)
    pathlib.Path(options.output).write_text(emit(found))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes inputs for the fuzzers of foreign formats into tests/corpus/in_*.

usage: make_import_corpus.py

Small files of each format, whole, hostile and cut off; what the tools themselves wrote lies beside
them, named after the tool.
"""
import gzip
import io
import json
import marshal
import pathlib
import pickle
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "corpus"
HOSTILE = ["nul\0", "\u2028 line", "</script>", "semi;colon", "n" * 300, "\u202ertl"]


def put(folder, name, data):
    place = FOLDER / folder
    place.mkdir(exist_ok=True)
    (place / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    door = FOLDER / "import"
    door.mkdir(exist_ok=True)
    if name in ("whole", "packed"):
        (door / f"{folder}-{name}").write_bytes(data if isinstance(data, bytes) else data.encode())


def collapsed():
    whole = "process:7;thread:Main;main (a.py:3);work (b.py:9) 1500\nP1;T0:2;c.py:f:7 2.5\n[torn] 1\n"
    put("in_collapsed", "whole", whole)
    put("in_collapsed", "packed", gzip.compress(whole.encode(), mtime=0))
    put("in_collapsed", "cut", "a;b 1\na;b")
    put("in_collapsed", "large", "a;b 999999999999999999\n")
    put("in_collapsed", "hostile", ";".join(HOSTILE) + " 3\n" + "; ;() (:1) 5\n a 1\n")
    put("in_collapsed", "bytes", b"\xff\xfe;\x80 (\xc3:1) 3\n")


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields):
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def pprof():
    texts = ["", "samples", "count", "cpu", "nanoseconds", "work", "b.py", "thread", "Main", "lib.so",
             *HOSTILE]  # fmt: skip
    line = message((1, 1), (2, 9))
    whole = message(
        (1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))),
        (2, message((1, varint(1) + varint(2)), (2, varint(3) + varint(30)),
                    (3, message((1, 7), (2, 8))))),
        (2, message((1, 2), (2, 1), (2, 10), (3, message((1, 10), (3, 5))))),
        (3, message((1, 1), (5, 9))),
        (4, message((1, 1), (3, 77), (4, line), (4, line))), (4, message((1, 2), (2, 1), (3, 4096))),
        (5, message((1, 1), (2, 5), (4, 6), (5, 3))), *((6, text) for text in texts),
        (10, 12345), (11, message((1, 3), (2, 4))), (12, 10000000))  # fmt: skip
    put("in_pprof", "whole", whole)
    put("in_pprof", "packed", gzip.compress(whole, mtime=0))
    put("in_pprof", "cut", whole[:90])
    put("in_pprof", "below", whole.replace(varint(3) + varint(30), b"\xff" * 9 + b"\x01" + b"\x1e"))


def speedscope():
    frames = [{"name": "main", "file": "a.py", "line": 3}, {"name": "len"},
              *({"name": name, "file": name} for name in HOSTILE)]  # fmt: skip
    sampled = {"type": "sampled", "name": "Main (pid 7, tid 8)", "unit": "milliseconds",
               "startValue": 5, "endValue": 8, "samples": [[0], [0, 1, 2, 3], []],
               "weights": [1, 1.5, 0.5]}  # fmt: skip
    evented = {"type": "evented", "name": "t", "unit": "none", "startValue": 0, "endValue": 9,
               "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 4, "at": 2},
                          {"type": "C", "frame": 4, "at": 5}, {"type": "C", "frame": 0, "at": 9}]}  # fmt: skip
    file = {"$schema": "https://www.speedscope.app/file-format-schema.json",
            "profiles": [sampled, evented], "shared": {"frames": frames}}  # fmt: skip
    whole = json.dumps(file)
    put("in_speedscope", "whole", whole)
    put("in_speedscope", "cut", whole[:400])
    put("in_speedscope", "escapes", whole.replace("main", r"\ud83d\ude00\ud800\u0000\n\ud800x"))
    put("in_speedscope", "outside", whole.replace("[0, 1, 2, 3]", "[0, 99]"))
    put("in_speedscope", "backwards", whole.replace('"at": 5', '"at": 1'))
    put("in_speedscope", "deep", '{"shared":' + "[" * 600)


def prof():
    main, work, built = ("a.py", 3, "main"), ("b.py", 9, "work"), ("~", 0, "<built-in len>")
    stats = {main: (1, 1, 0.25, 2.0, {}), work: (3, 8, 1.5, 1.75, {main: (3, 3, 0.5, 1.75),
             work: (5, 0, 1.0, 1.0)}), built: (2, 2, 0.25, 0.25, {work: (2, 2, 0.25, 0.25)})}  # fmt: skip
    ring = {main: (1, 1, 0.5, 1.0, {work: (1, 1, 0.5, 1.0)}),
            work: (1, 1, 0.5, 1.0, {main: (1, 1, 0.5, 1.0)})}  # fmt: skip
    put("in_prof", "whole", marshal.dumps(stats))
    put("in_prof", "ring", marshal.dumps(ring))
    put("in_prof", "counts", marshal.dumps({**stats, work: (3, 3, 1.0, 1.0, {main: 3})}))
    put("in_prof", "cut", marshal.dumps(stats)[:70])


def callgrind():
    whole = """# callgrind format
version: 1
positions: line
events: Ir Dr

ob=(1) prog
fl=(1) a.c
fn=(1) main
3 100 5
cfn=(2) work
calls=2 10
+1 300 7
fn=(2)
10 200
fi=(2) b.h
* 100
cfi=(1)
cfn=(2)
calls=1 10
-2 50
jump=3 4
4
"""
    put("in_callgrind", "whole", whole)
    put("in_callgrind", "both", whole.replace("positions: line", "positions: instr line"))
    put("in_callgrind", "cut", whole[:150] + "fn=(9)\n")
    put("in_callgrind", "hostile", "events: x\n" + "".join(f"fl={n}\nfn={n}\n1 2\n" for n in HOSTILE))
    put("in_callgrind", "large", "events: x\nfn=a\n" + "0 0xfffffffffffffff\n" * 4)


def words(size, *numbers):
    return b"".join(number.to_bytes(size, "little") for number in numbers)


def gperftools():
    maps = b"01000000-01001000 r-xp 00002000 fd:00 12 /usr/bin/x\nbad line\n7f-80 ---p 0 0:0 0\n"
    for name, size in [("whole", 8), ("narrow", 4)]:
        data = words(size, 0, 3, 0, 10000, 0, 5, 2, 0x1000500, 0x1000701, 2, 1, 0x99, 0, 1, 0)
        put("in_gperftools", name, data + maps)
    put("in_gperftools", "cut", words(8, 0, 3, 0, 10000, 0, 5, 2, 1))
    put("in_gperftools", "deep", words(8, 0, 3, 0, 10000, 0, 5, 2**63))
    put("in_gperftools", "many", words(8, 0, 3, 0, 10**9, 0, 2**62, 1, 7, 0, 1, 0))


def cpuprofile():
    nodes = [{"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1},
              "children": [2]},
             {"id": 2, "callFrame": {"functionName": "f", "url": "a.js", "lineNumber": 4}},
             {"callFrame": {"functionName": HOSTILE[0], "url": HOSTILE[1], "lineNumber": 1},
              "id": 3, "parent": 2}]  # fmt: skip
    file = {"nodes": nodes, "startTime": 100, "endTime": 900, "samples": [2, 3, 3],
            "timeDeltas": [10, 300, -5]}  # fmt: skip
    whole = json.dumps(file)
    put("in_cpuprofile", "whole", whole)
    put("in_cpuprofile", "cut", whole[:200])
    put("in_cpuprofile", "ring", whole.replace('"parent": 2', '"children": [1]').replace("[2]", "[3]"))
    put("in_cpuprofile", "outside", whole.replace("3, 3]", "3, 9]"))


def chrome():
    events = [{"ph": "M", "pid": 7, "tid": 8, "name": "thread_name", "args": {"name": HOSTILE[0]}},
              {"ph": "X", "pid": 7, "tid": 8, "ts": 10.5, "dur": 20, "name": "main (a.py:3)"},
              {"args": {"name": 1}, "ph": "X", "pid": 7, "tid": 8, "ts": 12, "dur": 30, "name": HOSTILE[1]},
              {"ph": "B", "pid": "p", "tid": "t", "ts": 1, "name": "f"},
              {"ph": "B", "pid": "p", "tid": "t", "ts": 2, "name": HOSTILE[2]},
              {"ph": "E", "pid": "p", "tid": "t", "ts": 3}, {"ph": "E", "pid": 1, "ts": 4},
              {"ph": "i", "ts": -1, "name": "mark"}]  # fmt: skip
    whole = json.dumps({"displayTimeUnit": "ms", "traceEvents": events})
    put("in_chrome", "whole", whole)
    put("in_chrome", "array", json.dumps(events)[:-1])
    put("in_chrome", "cut", whole[:200])
    put("in_chrome", "times", whole.replace("10.5", "1e300"))
    put("in_chrome", "early", whole.replace("10.5", "-8e15"))


def lprof():
    """As line_profiler pickles it: its class by name, and what that is set to."""
    state = {"timings": {("a.py", 3, HOSTILE[0]): [(4, 2, 1500), (5, 1 << 40, 0.5)], (HOSTILE[1], 0, "f"): []},
             "unit": 1e-6}  # fmt: skip
    for protocol in range(6):
        body = pickle.dumps(state, protocol)
        body = body[2:] if protocol >= 2 else body
        whole = b"\x80\x05cline_profiler.line_profiler\nLineStats\n)\x81" + body[:-1] + b"b."
        put("in_lprof", "whole" if protocol == 5 else f"protocol{protocol}", whole)
    put("in_lprof", "cut", whole[:120])
    put("in_lprof", "call", b"\x80\x02cposix\nsystem\nU\x04true\x85R.LineStats")
    put("in_lprof", "ring", b"\x80\x02cline_profiler.line_profiler\nLineStats\n)\x81}q\x00U\x07timingsh\x00sb.")


def gecko():
    """By column, as the Firefox profiler keeps it, and by row, as Gecko and perf write it."""
    shared = {"stringArray": ["main", "a.py", HOSTILE[0]], "sources": {"length": 1, "filename": [1]},
              "funcTable": {"name": [0, 2], "source": [0, None], "lineNumber": [3, None]},
              "frameTable": {"func": [0, 1], "line": [4, None]},
              "stackTable": {"frame": [0, 1], "prefix": [None, 0], "length": 2}}  # fmt: skip
    thread = {"name": "T", "pid": "7", "tid": 8, "processName": "p", "samples": {
        "stack": [0, 1, None], "time": [1, 2.5, 3], "weight": [1, 2, 1], "weightType": "samples"}}  # fmt: skip
    whole = json.dumps({"meta": {"interval": 1.5}, "threads": [thread], "shared": shared})
    rows = {"meta": {"interval": 1}, "libs": [], "threads": [{
        "name": "perf", "pid": 7, "tid": 8, "stringTable": ["main (in a.out)", "f"],
        "frameTable": {"schema": {"location": 0, "line": 4}, "data": [[0], [1, False, 0, None, 5]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1]]},
        "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 0.5], [0, 1.5], [None, 2]]}}]}  # fmt: skip
    put("in_gecko", "whole", whole)
    put("in_gecko", "packed", json.dumps(rows))
    put("in_gecko", "cut", whole[:200])
    put("in_gecko", "ring", whole.replace("[null, 0], \"length\"", "[1, 0], \"length\""))
    put("in_gecko", "outside", whole.replace("[0, 1, null]", "[0, 9e9, null]"))
    put("in_gecko", "below", whole.replace("[0, 1, null]", "[0, -7, null]"))
    put("in_gecko", "weights", whole.replace("[1, 2, 1]", "[1e300, -2, 0.5]"))


def mojo_number(value):
    out = [value & 0x3F]
    value >>= 6
    while value:
        out[-1] |= 0x80
        out.append(value & 0x7F)
        value >>= 7
    return bytes(out)


def mojo():
    """By the description of its events: texts, frames and stacks of a process, then their measures."""
    n = mojo_number

    def events(version):
        iid = n(0) if version >= 3 else b""
        ends = n(5) + n(1) + n(9) if version >= 2 else b""
        out = b"MOJ" + n(version) + b"\1mode\0wall\0"
        out += b"\2" + n(4711) + iid + b"MainThread\0" + b"\13" + n(70) + b"a.py\0" + b"\13" + n(7000) + b"main\0"
        out += b"\3" + n(9) + n(70) + n(7000) + n(5) + ends + b"\5" + n(9) + b"\11" + n(1500)
        out += b"\2" + n(4711) + iid + b"MainThread\0" + b"\5" + n(9) + b"\4\6schedule\0\7\11" + n(99)
        if version >= 4:
            out += b"\2" + n(4711) + iid + b"MainThread\0\15" + b"\11" + n(100) + b"\12" + n(3)
            out += b"\2" + n(4711) + iid + b"1f\0\16" + n(8) + n(0) + b"\5" + n(9) + b"\11" + n(7) + b"\17" + n(8) + n(9)
        return out

    for version in (1, 2, 3):
        put("in_mojo", f"version{version}", events(version))
    put("in_mojo", "whole", events(4))
    put("in_mojo", "cut", events(4)[:-1])
    put("in_mojo", "outside", events(4).replace(b"\5" + n(9), b"\5" + n(8)))


def gprof():
    flat = """Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 60.00      0.06     0.06       40     1.50     1.50  leaf(int, char const*)
 40.00      0.10     0.04                             main

"""
    graph = """\t\t     Call graph


granularity: each sample hit covers 2 byte(s) for 10.00% of 0.10 seconds

index % time    self  children    called     name
                                                 <spontaneous>
[1]    100.0    0.04    0.06                 main [1]
                0.06    0.00      40/40          leaf(int, char const*) [2]
                0.00    0.00       1/1           odd <cycle 1> [4]
-----------------------------------------------
                0.06    0.00      40/40          main [1]
[2]     60.0    0.06    0.00      40         leaf(int, char const*) [2]
-----------------------------------------------
[3]      0.0    0.00    0.00       1+9       <cycle 1 as a whole> [3]
                0.00    0.00       5+4           odd <cycle 1> [4]
-----------------------------------------------
                                   5             odd <cycle 1> [4]
                0.00    0.00       1/1           main [1]
[4]      0.0    0.00    0.00       5+4       odd <cycle 1> [4]
                                   4             odd <cycle 1> [4]
-----------------------------------------------

Index by function name

   [2] leaf(int, char const*) [1] main
"""
    put("in_gprof", "whole", flat + "\f\n" + graph)
    put("in_gprof", "flat", flat)
    put("in_gprof", "graph", graph)
    put("in_gprof", "cut", graph[:700])
    put("in_gprof", "hostile", flat.split(" 60.00")[0] + "".join(
        f" 1.00 0.01 0.01 {name}\n" for name in HOSTILE if "\n" not in name))
    put("in_gprof", "large", flat.split(" 60.00")[0] + " 1.00 0.01 99999999999999999999.00 a\n")


def perf():
    whole = """# captured by hand
python3 123/124 [001]  10.000250000:     250000 cpu-clock:u:
\t    55d0c0a1 leaf(int)+0x1a (/usr/bin/my prog)
\t    55d0c0b2 main+0x2f (/usr/bin/my prog)
\t           0 [unknown] ([unknown])

a name 99 11.5: cycles:
\tffffffff81a0 do_it+0x0 ([kernel.kallsyms])

swapper     0 [000] 12.25:          1 cycles:  ffffffff8104f45a native_write_msr ([kernel.kallsyms])
"""
    put("in_perf", "whole", whole)
    put("in_perf", "cut", whole[:150])
    put("in_perf", "hostile", "".join(f"{name} 1/2 1.5: 9 cpu-clock:\n\tff {name}+0x1 ({name})\n\n" for name in HOSTILE))
    put("in_perf", "large", "a 1 99999999999999999999.5: 1 cycles:\n\tff f (g)\n")
    put("in_perf", "times", "a 1 5.5: 1 cycles:\n\tff f (g)\n\na 1 0.5: 999999999999999999 task-clock:\n\tff f (g)\n")
    put("in_perf", "one", "a 1 cycles: ff f (g)\n")


def dtrace():
    whole = """CPU     ID                    FUNCTION:NAME
  1  29684                        :tick-60s


              libc.so.1`__write+0xa
              prog`main+0x1f
              0x7fff5fc01002
              30

              prog`main+0x1f
               12
"""
    put("in_dtrace", "whole", whole)
    put("in_dtrace", "cut", whole[:170])
    put("in_dtrace", "hostile", "".join(f"  {name}`{name}+0x1\n  1\n" for name in HOSTILE))
    put("in_dtrace", "large", "  a`b\n 999999999999999999\n  a`b\n 0\n `\n")


def hprof():
    whole = """JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024

Header for -agentlib:hprof
--------
THREAD START (obj=50000133, id = 200001, name="main", group="main")
TRACE 300001:
\tjava.lang.Math.sqrt(Math.java:12)
\tDemo.main(Demo.java:Unknown line)
TRACE 300002: (thread=200001)
\t<empty>
CPU SAMPLES BEGIN (total = 9) Mon Jan  1 00:00:01 2024
rank   self  accum   count trace method
   1 77.78% 77.78%       7 300001 java.lang.Math.sqrt
   2 22.22% 100.00%      2 300002 <empty>
CPU SAMPLES END
"""
    put("in_hprof", "whole", whole)
    put("in_hprof", "cut", whole[:300])
    put("in_hprof", "lost", whole.replace("TRACE 300002", "TRACE 300003"))
    put("in_hprof", "times", whole.replace("SAMPLES", "TIME (ms)"))
    put("in_hprof", "hostile", whole.replace("Demo.main", HOSTILE[2] + HOSTILE[5]).replace("       7", " 999999999999999999"))


def gprof2dot():
    whole = json.dumps({
        "version": 0, "costs": [{"description": "time", "unit": "s"}],
        "functions": [{"name": "leaf", "module": "m"}, {"name": "main", "process": "p"}],
        "events": [{"callchain": [0, 1], "cost": [3]}, {"callchain": [1], "cost": [1.5, 2]}],
    })  # fmt: skip
    put("in_gprof2dot", "whole", whole)
    put("in_gprof2dot", "behind", json.dumps(dict(reversed(json.loads(whole).items()))))
    put("in_gprof2dot", "cut", whole[:-20])
    put("in_gprof2dot", "wrong", whole.replace("[0, 1]", "[0, 2]"))
    put("in_gprof2dot", "large", whole.replace("[3]", "[1e300]"))
    put("in_gprof2dot", "hostile", json.dumps({
        "functions": [{"name": name, "module": name} for name in HOSTILE],
        "events": [{"callchain": list(range(len(HOSTILE))), "cost": [1]}],
    }))  # fmt: skip


def axe():
    rows = [
        "Index  % CPU Time:Total  CPU Time:Self  CPU Time:Children  Name  Index",
        "-----  ----------------  -------------  -----------------  ----  -----",
        "                         0.0            0.0                <spontaneous>",
        "[1]    100.0             0.5            1.5                main  [1]",
        "                         1.0            0.5                work  [2]",
        " ",
        "                         0.5            1.5                main  [1]",
        "[2]    75.0              1.0            0.5                work <cycle 1>  [2]",
        "                         0.5            0.0                leaf  [3]",
        " ",
        "[3]    25.0              0.5            0.0                leaf  [3]",
        " ",
        "[4]    75.0              1.5            0.0                <cycle 1 as a whole>  [4]",
        "                         1.0            0.5                work <cycle 1>  [2]",
        " ",
        "Index  Function",
        "-----  --------",
        "[1]    main",
    ]
    whole = "\n".join(rows) + "\n"
    put("in_axe", "whole", whole)
    put("in_axe", "cut", whole[:400])
    put("in_axe", "twice", whole.replace("[3]    25.0", "[1]    25.0").replace("leaf  [3]", "leaf  [1]"))
    put("in_axe", "large", whole.replace("1.5  ", "99999999999999.5  "))
    put("in_axe", "hostile", whole.replace("leaf", HOSTILE[2] + HOSTILE[5]))


def oprofile():
    whole = """CPU: Intel, speed 2000 MHz
samples  %        linenr info                 image name               app name  symbol name
-------------------------------------------------------------------------------
  4        40.0  main.c:3                    prog                     prog      main
6        60.0  work.c:7                    prog (tgid:12 range:0x1) prog      work(int, char)
  6        60.0  work.c:7                    prog (tgid:12 range:0x1) prog      work(int, char) [self]
-------------------------------------------------------------------------------
4        40.0  main.c:3                    prog                     prog      main
  6        60.0  work.c:7                    prog (tgid:12 range:0x1) prog      work(int, char)
  4        40.0  main.c:3                    prog                     prog      main [self]
-------------------------------------------------------------------------------
0             0  (no location information)   /lib/libc.so             prog      (no symbols)
-------------------------------------------------------------------------------
"""
    put("in_oprofile", "whole", whole)
    put("in_oprofile", "cut", whole[:500])
    put("in_oprofile", "columns", "samples  symbol name\n---\n3 f\n  2 g\n---\n2 g\n  3 f\n---\n")
    put("in_oprofile", "large", whole.replace("6  ", "999999999999999999  "))
    put("in_oprofile", "hostile", whole.replace("main.c", HOSTILE[2] + ":").replace("work", HOSTILE[5]))


def sleepy():
    symbols = 'sym0 "prog" "main" "main.cpp" 3\r\nsym1 "prog" "work<int>" "work.cpp" 7\r\nsym2 "" "0x12" "a.c" 9\r\nwords\r\n'

    def archive(stacks, symbols=symbols, how=zipfile.ZIP_DEFLATED, name="Callstacks.txt"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", how) as files:
            for path, text in (("Version 0.90 required", ""), ("Symbols.txt", symbols), (name, stacks)):
                files.writestr(zipfile.ZipInfo(path), text, how)
        return out.getvalue()

    stacks = "0.25 sym1 sym0\n0.5 sym0\n0.125 sym2 sym1 sym0\n"
    put("in_sleepy", "whole", archive(stacks))
    put("in_sleepy", "stored", archive(stacks.replace("0.", ""), how=zipfile.ZIP_STORED))
    put("in_sleepy", "cut", archive(stacks)[:200])
    put("in_sleepy", "sum", archive(stacks, how=zipfile.ZIP_STORED).replace(b"0.25 sym1", b"0.75 sym1"))
    put("in_sleepy", "lost", archive("1 sym7\n"))
    put("in_sleepy", "missing", archive(stacks, name="Other.txt"))
    put("in_sleepy", "hostile", archive(stacks, symbols.replace("main", HOSTILE[2] + "\0")))


def sysprof():
    whole = """<?xml version="1.0"?>
<!-- a > b -->
<profile>
  <num_samples>9</num_samples>
  <objects>
    <object id="1"><name>"[prog]"</name><total>9</total><self>0</self></object>
    <object id="2"><name>"main"</name><total>9</total><self>4</self></object>
    <object id="3"><name>"a&lt;b&#228;&gt;"</name><total>5</total><self>5</self></object>
  </objects>
  <nodes>
    <node id="5"><object>3</object><self>5</self><total>5</total><parent>4</parent></node>
    <node id="3"><object>1</object><self>0</self><toplevel/><parent>0</parent></node>
    <node id="4"><object>2</object><self>4</self><total>9</total><parent>3</parent></node>
  </nodes>
</profile>
"""
    whole = whole.replace("<toplevel/>", "<toplevel>1</toplevel>")
    put("in_sysprof", "whole", whole)
    put("in_sysprof", "cut", whole[:400])
    put("in_sysprof", "ring", whole.replace("<parent>0<", "<parent>5<"))
    put("in_sysprof", "lost", whole.replace("<object>3<", "<object>9<"))
    put("in_sysprof", "large", whole.replace(">5<", ">999999999999999999<"))
    put("in_sysprof", "entity", whole.replace("&lt;", "&zzzzzzzzzzzzzzzzz;"))
    put("in_sysprof", "short", whole.replace("<name>", "<name/><x y='2'/><name>"))


def xperf():
    whole = ("Process Name, Module, Function, Stack, Weight, Count\r\n"
             "prog.exe, prog.exe, main, [Root]/ntdll.dll!Start/prog.exe!main, 1.5, 2\r\n"
             "prog.exe, prog.exe, work, [Root]/ntdll.dll!Start/prog.exe!main, 1, 3\r\n"
             "other.exe, ?, ?, ?, 1, 4\r\n"
             "Idle, ntoskrnl.exe, Idle, ?, 1, 400\r\n")  # fmt: skip
    put("in_xperf", "whole", whole)
    put("in_xperf", "cut", whole[:130])
    put("in_xperf", "large", whole.replace("1.5", "9999999999999999999"))
    put("in_xperf", "root", whole.replace("[Root]", "[Leaf]"))
    put("in_xperf", "columns", whole.replace(", Count", ""))
    put("in_xperf", "hostile", whole.replace("main", HOSTILE[2] + "/!" + HOSTILE[5]))


for write in (axe, oprofile, sleepy, sysprof, xperf, perf, dtrace, hprof, gprof2dot, collapsed, pprof, speedscope, prof, callgrind, gperftools, gprof, cpuprofile, chrome, lprof, gecko,
              mojo):
    write()

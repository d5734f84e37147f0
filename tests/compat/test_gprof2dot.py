"""`cairn gprof2dot` beyond its seeds (seeds.txt): what it reads, and what it refuses."""
import importlib.util
import io
import json
import marshal
import os
import re
import sys
import zipfile

import pytest

from harness import execute

COLLAPSED = """main;parse;read 30
main;parse 20
main;solve;solve;step 40
main 10
"""


def nodes_of(dot):
    """{name: (total, self) in per cent} of the boxes."""
    found = re.findall(r'^\t\w+ \[.*?label="(.*?)"', dot, re.MULTILINE)
    rows = [label.split("\\n") for label in found if "%" in label and ")" in label]
    return {row[0].split(":")[-1]: (float(row[1][:-1]), float(row[2][1:-2])) for row in rows}


def test_stacks_from_a_pipe(cairn, folder):
    """gprof2dot guesses totals from who called whom; here they are those of the stacks."""
    ended = cairn("gprof2dot", "-f", "collapse", "-n", "0", "-e", "0", data=COLLAPSED.encode()).expect()
    nodes = nodes_of(ended.text)
    assert nodes == {"main": (100, 10), "parse": (50, 20), "read": (30, 30), "solve": (40, 0),
                     "step": (40, 40)}  # fmt: skip
    if importlib.util.find_spec("gprof2dot"):
        command = [sys.executable, "-m", "gprof2dot", "-f", "collapse", "-n", "0", "-e", "0"]
        peer = nodes_of(execute(command, COLLAPSED.encode(), cwd=folder).expect().text)
        assert {name: own for name, (_, own) in peer.items()} == {
            name: own for name, (_, own) in nodes.items()
        }


STACKS = [(["main", "parse", "read"], 3), (["main", "parse"], 2), (["main", "solve", "solve", "step"], 4),
          (["main"], 1)]  # fmt: skip


def perf_script():
    """What `perf script` would print of STACKS."""
    events = []
    for stack, count in STACKS:
        frames = "".join(f"\t  55d0c0a1 {name}+0x1a (/usr/bin/prog)\n" for name in reversed(stack))
        events += [f"prog 12/13 [000] 5.{len(events):06}: 250000 cpu-clock:u: \n{frames}\n"] * count
    return "# ========\n#\n" + "".join(events)


def dtrace():
    return "".join(
        "".join(f"              prog`{name}+0x1a\n" for name in reversed(stack)) + f"{count:16}\n\n"
        for stack, count in STACKS
    )


def hprof():
    traces = "".join(
        f"TRACE {300000 + i}:\n" + "".join(f"\t{name}(Prog.java:7)\n" for name in reversed(stack))
        for i, (stack, _) in enumerate(STACKS)
    )
    rows = "".join(f"{i + 1:4} 10.00% 10.00% {count:7} {300000 + i} {stack[-1]}\n"
                   for i, (stack, count) in enumerate(STACKS))  # fmt: skip
    return ("JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024\n\nHeader\n--------\n" + traces +
            "CPU SAMPLES BEGIN (total = 10) Mon\nrank   self  accum   count trace method\n" + rows +
            "CPU SAMPLES END\n")  # fmt: skip


def gprof2dot_json():
    names = ["main", "parse", "read", "solve", "step"]
    events = [{"callchain": [names.index(name) for name in reversed(stack)], "cost": [count]}
              for stack, count in STACKS]  # fmt: skip
    return json.dumps({"version": 0, "functions": [{"name": name} for name in names], "events": events})


def peers_nodes(dot):
    """The same of gprof2dot's boxes, which have the module above the name."""
    found = {}
    for label in re.findall(r'^\t(?:\w+|"[^"]*") \[.*?label="(.*?)"', dot, re.MULTILINE):
        rows = label.split("\\n")
        own = next((i for i, row in enumerate(rows) if re.fullmatch(r"\(.*%\)", row)), 0)
        if own:
            found[rows[own - 2]] = (float(rows[own - 1][:-1]), float(rows[own][1:-2]))
    return found


@pytest.mark.parametrize("name, text", [("perf", perf_script()), ("dtrace", dtrace()), ("hprof", hprof()),
                                        ("json", gprof2dot_json())], ids=lambda word: word[:6])  # fmt: skip
def test_formats_that_have_stacks(cairn, folder, name, text):
    """With --total callstacks gprof2dot's totals are those of the stacks, where it knows that option."""
    ended = cairn("gprof2dot", "-f", name, "-n", "0", "-e", "0", data=text.encode()).expect()
    nodes = nodes_of(ended.text)
    assert nodes == {"main": (100, 10), "parse": (50, 20), "read": (30, 30), "solve": (40, 0),
                     "step": (40, 40)}  # fmt: skip
    if not importlib.util.find_spec("gprof2dot"):
        pytest.skip("gprof2dot is not installed: tests/requirements.txt")
    command = [sys.executable, "-m", "gprof2dot", "-f", name, "--total=callstacks", "-n", "0", "-e", "0"]
    peer = peers_nodes(execute(command, text.encode(), cwd=folder).expect().text)
    if name in ("perf", "dtrace"):
        assert peer == nodes
    assert {name: own for name, (_, own) in peer.items()} == {name: own for name, (_, own) in nodes.items()}


TREE = [(["main", "parse", "read"], 3), (["main", "parse"], 2), (["main", "solve", "step"], 4),
        (["main", "solve"], 2), (["main"], 5)]  # fmt: skip


def oprofile():
    own = {stack[-1]: count for stack, count in TREE}
    calls = {}
    for stack, count in TREE:
        for pair in zip(stack, stack[1:]):
            calls[pair] = calls.get(pair, 0) + count
    rule = "-" * 79 + "\n"
    text = "CPU: none, speed 2000 MHz\nsamples  %        linenr info                 image name               " \
           "app name                 symbol name\n" + rule  # fmt: skip

    def row(indent, name, count, tail=""):
        return f"{indent}{count:<8} 10.0 {name}.c:3  /usr/bin/prog (tgid:7 range:0x1-0x2)  /usr/bin/prog  {name}{tail}\n"

    for name, count in own.items():
        text += "".join(row("  ", caller, n) for (caller, callee), n in calls.items() if callee == name)
        text += row("", name, count)
        text += "".join(row("  ", callee, n) for (caller, callee), n in calls.items() if caller == name)
        text += row("  ", name, count, " [self]") + rule
    return text.encode()


def sysprof():
    names = sorted({name for stack, _ in TREE for name in stack})
    own = {stack[-1]: count for stack, count in TREE}
    nodes = {tuple(stack): (i + 1, count) for i, (stack, count) in enumerate(TREE)}
    objects = "".join(f'<object id="{i + 1}"><name>"{name}"</name><total>9</total><self>{own[name]}</self></object>\n'
                      for i, name in enumerate(names))  # fmt: skip
    rows = "".join(f'<node id="{i}"><object>{names.index(stack[-1]) + 1}</object><self>{count}</self><total>9</total>'
                   f"<parent>{nodes[stack[:-1]][0] if len(stack) > 1 else 0}</parent></node>\n"
                   for stack, (i, count) in nodes.items())  # fmt: skip
    return (f'<?xml version="1.0"?>\n<profile>\n<num_samples>16</num_samples>\n<objects>\n{objects}</objects>\n'
            f"<nodes>\n{rows}</nodes>\n</profile>\n").encode()  # fmt: skip


def xperf():
    rows = ["Process Name, Process, Module, Function, Stack, Weight, Count, TimeStamp"]
    for stack, count in TREE:
        whole = "/".join(f"prog.exe!{name}" for name in stack)
        rows.append(f"prog.exe, prog.exe (12), prog.exe, {stack[-1]}, [Root]/{whole}, 0.5, {2 * count}, 17.5")
    rows.append("Idle, Idle (0), ntoskrnl.exe, KiIdle, [Root]/ntoskrnl.exe!KiIdle, 1, 900, 18")
    return "\r\n".join(rows).encode() + b"\r\n"


def sleepy(point="0.5"):
    names = sorted({name for stack, _ in TREE for name in stack})
    symbols = "".join(f'sym{i} "prog" "{name}" "{name}.cpp" 3\r\n' for i, name in enumerate(names))
    stacks = "".join(f"{count * float(point):g}".ljust(8) +
                     " ".join(f"sym{names.index(name)}" for name in reversed(stack)) + "\r\n"
                     for stack, count in TREE)  # fmt: skip
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Version 0.90 required", "")
        archive.writestr("symbols.txt", symbols)
        archive.writestr("callstacks.txt", stacks)
    return out.getvalue()


def axe():
    names = ["main", "parse", "read", "solve", "step"]
    rows = {"main": (100, 5, 11), "parse": (31.25, 2, 3), "read": (18.75, 3, 0), "solve": (37.5, 2, 4),
            "step": (25, 4, 0)}  # fmt: skip
    calls = [("main", "parse"), ("main", "solve"), ("parse", "read"), ("solve", "step")]

    def line(name):
        _, own, below = rows[name]
        return f"{'':25}{float(own):<16}{float(below):<19}{name:<18}[{names.index(name) + 1}]\n"

    text = "Index  % CPU Time:Total  CPU Time:Self  CPU Time:Children  Name  Index\n-----  ----  ----  ----  ----  --\n"
    for i, name in enumerate(names):
        above = [line(caller) for caller, callee in calls if callee == name]
        share, own, below = rows[name]
        text += "".join(above) or f"{'':25}{0.0:<16}{0.0:<19}<spontaneous>\n"
        text += f"{f'[{i + 1}]':7}{float(share):<18}{float(own):<16}{float(below):<19}{name:<18}[{i + 1}]\n"
        text += "".join(line(callee) for caller, callee in calls if caller == name) + " \n"
    return (text + "Index  Function\n-----  --------\n[1]    main\n").encode()


def edges_of(dot):
    """{(caller, callee): per cent} of the arrows."""
    found = re.findall(r'^\t("[^"]*"|\w+) \[.*?label="(.*?)"', dot, re.MULTILINE)
    names = {}
    for box, label in found:
        rows = label.split("\\n")
        own = next((i for i, row in enumerate(rows) if re.fullmatch(r"\(.*%\)", row)), 0)
        if own:
            names[box] = rows[own - 2].split(":")[-1]
    arrows = re.findall(r'^\t("[^"]*"|\w+) -> ("[^"]*"|\w+) \[.*?label="(.*?)%', dot, re.MULTILINE)
    return {(names[caller], names[callee]): float(share) for caller, callee, share in arrows}


@pytest.mark.parametrize("form, data, stacks", [("axe", axe(), "inferred"), ("oprofile", oprofile(), "inferred"),
                                                ("sleepy", sleepy(), "recorded"), ("sleepy", sleepy("3"), "recorded"),
                                                ("sysprof", sysprof(), "recorded"), ("xperf", xperf(), "recorded")],
                         ids=["axe", "oprofile", "sleepy", "sleepy-samples", "sysprof", "xperf"])  # fmt: skip
def test_graphs_of_profilers_that_are_rare(cairn, folder, form, data, stacks):
    """Where every function has one caller nothing is to be guessed: the boxes and arrows are gprof2dot's."""
    (folder / "x").write_bytes(data)
    mine = cairn("gprof2dot", "-f", form, "-n", "0", "-e", "0", "x").expect().text
    assert nodes_of(mine) == {"main": (100, 31.25), "parse": (31.25, 12.5), "read": (18.75, 18.75),
                              "solve": (37.5, 12.5), "step": (25, 25)}  # fmt: skip
    assert edges_of(mine) == {("main", "parse"): 31.25, ("parse", "read"): 18.75, ("main", "solve"): 37.5,
                              ("solve", "step"): 25}  # fmt: skip
    quality = cairn.report("x", "--idle")["quality"]
    assert quality["imported"] == form and quality["stacks"] == stacks
    cairn("html", "-o", "x.html", "x").expect()
    assert "solve" in (folder / "x.html").read_text()
    cairn("import", "-o", "y.cairn", "x").expect()
    assert cairn.report("y.cairn", "--idle")["rows"] == cairn.report("x", "--idle")["rows"]
    if not importlib.util.find_spec("gprof2dot"):
        pytest.skip("gprof2dot is not installed: tests/requirements.txt")
    command = [sys.executable, "-m", "gprof2dot", "-f", form, "-n", "0", "-e", "0", "x"]
    real = execute(command, cwd=folder).expect().text
    assert peers_nodes(real) == nodes_of(mine) and edges_of(real) == edges_of(mine)


@pytest.mark.parametrize("form, data, said", [
    ("sleepy", sleepy()[:-30], "byte"),
    ("sleepy", sleepy().replace(b"callstacks", b"otherstack"), "no Callstacks.txt"),
    ("sysprof", sysprof().replace(b"<parent>0<", b"<parent>5<"), "byte"),
    ("xperf", xperf().replace(b"[Root]", b"[Tree]"), "line 2"),
    ("oprofile", oprofile() + b"words\n", "line"),
    ("axe", axe().replace(b"[3]    18.75", b"[1]    18.75").replace(b"[3]\n \n", b"[1]\n \n"), "line"),
])  # fmt: skip
def test_what_is_no_such_profile_is_told(cairn, folder, form, data, said):
    (folder / "x").write_bytes(data)
    ended = cairn("import", "-o", "y.cairn", "x").expect(123)
    assert f"no {form} file" in ended.talk and said in ended.talk and not (folder / "y.cairn").exists()


JSON = '{"functions": [{"name": "main"}, {"name": "work"}], "events": [{"callchain": [1, 0], "cost": [3]}]}'


def test_json_needs_no_format(cairn, folder):
    """It begins as a file of cProfile does, and is none."""
    (folder / "x.json").write_text(JSON)
    wanted = cairn("gprof2dot", "-f", "json", "x.json").expect().text
    assert cairn("gprof2dot", "x.json").expect().text == wanted and "work" in wanted
    (folder / "y.json").write_text('{"start_time": 1, "start_call_stack": []}')
    for words in (["y.json"], ["-f", "json", "y.json"]):
        ended = cairn("gprof2dot", *words).expect(123)
        assert "pyinstrument" in ended.talk and "damaged" not in ended.talk, ended.talk
    ended = cairn("gprof2dot", "-f", "pstats", "x.json").expect(123)
    assert "not what cProfile writes" in ended.talk and "JSON" in ended.talk


def test_what_perf_script_says_of_threads_and_times(cairn, folder):
    (folder / "x.perf").write_text(perf_script())
    report = cairn.report("x.perf", "--idle")
    assert report["quality"]["imported"] == "perf" and report["quality"]["samples"] == 10
    assert {row["name"]: row["self_s"] for row in report["rows"] if row["self_s"]} == pytest.approx(
        {"main": 0.00025, "parse": 0.0005, "read": 0.00075, "step": 0.001}
    )
    (thread,) = cairn.report("x.perf", "--by", "thread", "--idle")["rows"]
    assert (thread["pid"], thread["tid"]) == (12, 13)


def test_a_line_that_is_no_frame_is_named(cairn, folder):
    (folder / "x.perf").write_text(perf_script() + "prog\n")
    ended = cairn("import", "-o", "y.cairn", "x.perf").expect(123)
    lines = len(perf_script().splitlines()) + 1
    assert f"line {lines} is neither an event nor a frame" in ended.talk
    assert not (folder / "y.cairn").exists()


LONG = [
    "<method 'acquire' of '_thread.lock' objects>", "<built-in method builtins.__build_class__>",
    "std::map<int, std::vector<std::pair<a, b> > >::operator[](int const&, allocator<a> > > const&)",
    "a" * 40, "one-two three-four-five six- -seven eight--nine ten 1-2 x-y-z " * 3, "f(" + "a, " * 20 + "b)",
    "  blanks   in   between   and   in   front   of   it  ", "ünïcödé nämes with-ümläute in them, and a lot " * 2,
    "exactly thirty-two characters__", "short, name",
]  # fmt: skip


def test_long_names_are_broken_as_gprof2dot_does(cairn, folder):
    pytest.importorskip("gprof2dot", reason="gprof2dot is not installed: tests/requirements.txt")
    rows = {("~", 0, name): (1, 1, 1.0 + i, 1.0 + i, {}) for i, name in enumerate(LONG)}
    (folder / "x.prof").write_bytes(marshal.dumps(rows, 2))
    words = ["-f", "pstats", "-w", "-n", "0", "-e", "0", "x.prof"]
    real = execute([sys.executable, "-m", "gprof2dot", *words], cwd=folder,
                   env={**os.environ, "PYTHONUTF8": "1"}).expect()  # fmt: skip
    assert cairn("gprof2dot", *words).expect().text == real.text


def row(own, total, calls=1, **callers):
    return (calls, calls, own, total, {KEYS[name]: (n, n, o, t) for name, (n, o, t) in callers.items()})


KEYS = {name: (f"/srv/{name}.py", 3 + i, name)
        for i, name in enumerate(["main", "load", "work", "deep", "save", "gone", "came", "even"])}
BEFORE = {
    "main": row(0.1, 2.0), "load": row(0.4, 0.4, 3, main=(3, 0.4, 0.4)), "work": row(0.35, 0.8, 4, main=(4, 0.35, 0.8)),
    "deep": row(0.45, 0.45, 9, work=(8, 0.4, 0.4), deep=(1, 0.05, 0.05)), "save": row(0.2, 0.2, 2, main=(2, 0.2, 0.2)),
    "even": row(0.25, 0.25, 1, main=(1, 0.25, 0.25)), "gone": row(0.25, 0.25, 5, save=(5, 0.25, 0.25)),
}  # fmt: skip
AFTER = {
    "main": row(0.1, 2.5), "load": row(0.123456789, 0.123456789, 3, main=(3, 0.123456789, 0.123456789)),
    "work": row(0.9, 1.6, 5, main=(5, 0.9, 1.6)), "deep": row(0.7, 0.7, 10, work=(9, 0.6, 0.6), deep=(1, 0.1, 0.1)),
    "save": row(0.2, 0.2, 2, main=(2, 0.2, 0.2)), "even": row(0.3125, 0.3125, 2, main=(2, 0.3125, 0.3125)),
}  # fmt: skip


def write_tables(folder, **tables):
    for name, rows in tables.items():
        (folder / f"{name}.prof").write_bytes(marshal.dumps({KEYS[key]: value for key, value in rows.items()}, 2))


@pytest.mark.parametrize("words", [
    [], ["-n", "0", "-e", "0"], ["--compare-only-slower"], ["--compare-only-faster"],
    ["--compare-only-slower", "--compare-only-faster"], ["--compare-color-by-difference"],
    ["--compare-color-by-difference", "--compare-only-faster", "-c", "pink", "--skew", "0.1"],
    ["--compare-tolerance", "0.5"], ["--compare-tolerance", "1"], ["--compare-tolerance", "10"],
    ["--compare-tolerance", "1e-9"], ["--compare-tolerance", "250"], ["-c", "print"], ["-c", "bw", "-n", "20"],
    ["--color-nodes-by-selftime"], ["-w", "-s"], ["-z", "*:work", "--depth", "1"], ["-p", "/srv/w", "-p", "/srv/m"],
    ["--node-label", "total-time", "--node-label", "self-time-percentage"],
    ["--node-label", "self-time", "--time-format", "%.2f s", "--compare-color-by-difference"],
], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("files", ["before after", "after before", "before before"])
def test_two_profiles_are_compared_as_gprof2dot_does(cairn, folder, words, files):
    pytest.importorskip("gprof2dot", reason="gprof2dot is not installed: tests/requirements.txt")
    write_tables(folder, before=BEFORE, after=AFTER)
    words = ["-f", "pstats", *words, "--compare", *(f"{name}.prof" for name in files.split())]
    real = execute([sys.executable, "-m", "gprof2dot", *words], cwd=folder,
                   env={**os.environ, "PYTHONUTF8": "1"}).expect()  # fmt: skip
    ours = cairn("gprof2dot", *words).expect().text
    assert ours == real.text and ours.count("->") >= 1


def test_what_one_of_two_profiles_lacks_is_compared_with_nothing(cairn, folder):
    """gprof2dot takes the calls of what it met before, and ends in a traceback where that is nothing."""
    rows = {"save": BEFORE["save"], "came": row(0.4, 0.6, main=(1, 0.4, 0.6)), "main": BEFORE["main"],
            "load": row(0.2, 0.2, 2, came=(2, 0.2, 0.2))}  # fmt: skip
    write_tables(folder, before=rows, after=AFTER)
    dot = cairn("gprof2dot", "-n", "0", "-e", "0", "--compare", "before.prof", "after.prof").expect().text
    labels = dict(re.findall(r'^\t(\d+) \[.*?label="(.*?)"', dot, re.MULTILINE))
    number = {label.split("\\n")[0].split(":")[-1]: number for number, label in labels.items()}
    assert labels[number["came"]] == "came:9:came\\n30.00%\\n(44.44%)\\n1×"
    assert " ×/ " in labels[number["load"]]
    edge = re.search(rf'^\t{number["came"]} -> {number["load"]} \[.*label="(.*?)"', dot, re.MULTILINE)
    assert edge[1] == "10.00%\\n2×"


def test_a_recording_and_its_exports_are_one_graph(cairn, busy_recording, folder):
    file, _ = busy_recording
    cairn("export", "-f", "pstats", "-o", "out.prof", file).expect()
    wanted = cairn("gprof2dot", "-f", "pstats", "out.prof").expect().text
    assert "heavy" in wanted and cairn("gprof2dot", file).expect().text == wanted
    assert cairn("export", "-f", "dot", file).expect().text == wanted


def test_names_are_listed(cairn, busy_recording):
    listed = cairn("gprof2dot", "--list-functions", "*heavy", busy_recording[0]).expect().text
    assert re.fullmatch(r"busy:\d+:heavy\n", listed)
    every = cairn("gprof2dot", "-n", "0", "--list-functions", "+", busy_recording[0]).expect().text
    assert listed in every and len(every.splitlines()) > 5
    below = ["-n", "0", "-e", "0", "--root", "*heavy", "--list-functions", "+"]
    below = cairn("gprof2dot", *below, busy_recording[0]).expect().text
    assert listed in below and len(below) < len(every)
    assert cairn("gprof2dot", "--list-functions", "nobody", busy_recording[0]).expect().text == ""


def test_empty_words_are_none(cairn, busy_recording):
    wanted = cairn("gprof2dot", busy_recording[0]).expect().text
    assert cairn("gprof2dot", "--root", "", "--leaf", "", busy_recording[0]).expect().text == wanted


@pytest.mark.parametrize("words, status, says", [
    (["-f", "exe", "x"], 122, "there is no FORMAT 'exe'"),
    (["--total", "callratios"], 122, "there is no METHOD 'callratios'"),
    (["-z", "*nothing_like_it"], 127, "root node *nothing_like_it not found"),
    (["-l", "*nothing_like_it"], 127, "leaf node *nothing_like_it not found"),
    (["--skew", "inf"], 122, "--skew: 'inf' is no number above 0"),
    (["--skew", "-1"], 122, "--skew: '-1' is no number above 0"),
    (["--node-label", "name"], 122, "there is no MEASURE 'name'"),
    (["-c", "sepia"], 122, "there is no THEME 'sepia'"),
    (["--compare"], 122, "--compare is of two files, and 1 are named"),
    (["--time-format", "%s"], 122, "--time-format: '%s' writes no number"),
    (["--time-format", "%f %n"], 122, "writes no number"),
    (["--time-format", "%*d"], 122, "writes no number"),
    (["--time-format", "%"], 122, "writes no number"),
])  # fmt: skip
def test_what_cannot_be_is_said(cairn, busy_recording, words, status, says):
    ended = cairn("gprof2dot", *words, busy_recording[0]).expect(status)
    assert says in ended.talk and ended.out == b""


@pytest.mark.parametrize("words, says", [
    (["--compare-tolerance", "0"], "--compare-tolerance: '0' is no number above 0"),
    (["--compare-tolerance", "x"], "--compare-tolerance: 'x' is no number above 0"),
    (["--list-functions", "+"], "--list-functions is of one graph"),
])  # fmt: skip
def test_what_cannot_be_compared_is_said(cairn, folder, words, says):
    write_tables(folder, before=BEFORE)
    ended = cairn("gprof2dot", "--compare", *words, "before.prof", "before.prof").expect(122)
    assert says in ended.talk and ended.out == b""


def test_what_is_no_profile_is_said(cairn, folder):
    (folder / "x.prof").write_text("no profile\n")
    assert "x.prof" in cairn("gprof2dot", "-f", "pstats", "x.prof").expect(123).talk
    assert "gone.prof" in cairn("gprof2dot", "-f", "pstats", "gone.prof").expect(127).talk


def test_calls_are_those_that_a_file_counts(cairn, folder):
    """Stacks of callgrind's and gprof's files are inferred: how many there are says nothing of calls."""
    (folder / "c.out").write_text("events: Ir\nfn=main\n1 5\ncfn=work\ncalls=1234 1\n2 95\nfn=work\n1 95\n")
    dot = cairn("gprof2dot", "-f", "callgrind", "c.out").expect().text
    assert "work\\n95.00%\\n(95.00%)\\n1234×" in dot and 'label="95.00%\\n1234×"' in dot


def test_a_file_of_another_format_than_named_is_refused(cairn, folder):
    """As gprof2dot's parsers do."""
    (folder / "x").write_text("a;b 3\na 2\n")
    for form in ("callgrind", "json", "pstats", "perf"):
        ended = cairn("gprof2dot", "-f", form, "x").expect(123)
        assert not ended.out and " no" in ended.talk and "The file is x" in ended.talk or "x is no" in ended.talk
    assert "digraph" in cairn("gprof2dot", "-f", "collapse", "x").expect().text

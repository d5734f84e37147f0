"""`cairn export`: every format opens, and its sum is the model's."""
import gzip
import json
import marshal
import xml.etree.ElementTree as ElementTree

import fastjsonschema
import pytest

import harness
from harness import Frame, parse_pprof

METRICS = ["wall", "cpu"]


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    """Threads, processes and states enough that a label put on the wrong stack would show."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("export"))
    file, ended = cairn.record(python, "states.py", 0.8)
    return cairn.need_sight(file, ended), ended.last_json()


def metric_total_us(cairn, file, metric):
    rows = cairn.report(file, "--metric", metric, "--by", "thread", "--idle")["rows"]
    return sum(row["self_s"] for row in rows) * 1e6


@pytest.mark.parametrize("metric", METRICS)
def test_collapsed_sums_to_the_model(cairn, recording, metric):
    stacks = cairn.collapsed(recording[0], "--metric", metric)
    total = metric_total_us(cairn, recording[0], metric)
    assert total > 0
    assert abs(sum(stacks.values()) - total) <= len(stacks), "rounded once per stack"


@pytest.mark.parametrize("metric", METRICS)
def test_collapsed_with_threads_and_processes_is_the_same_split_finer(cairn, recording, metric):
    file = recording[0]
    plain = cairn.collapsed(file, "--metric", metric)
    fine = cairn.collapsed(file, "--metric", metric, "--threads", "--processes")
    merged = {}
    for stack, value in fine.items():
        kinds = [frame.name.split(":")[0] for frame in stack[:2]]
        assert sorted(kinds) == ["process", "thread"], stack
        merged[stack[2:]] = merged.get(stack[2:], 0) + value
    assert set(merged) == set(plain)
    for stack, value in merged.items():
        assert abs(value - plain[stack]) <= len(fine)
    threads = {f.name for stack in fine for f in stack[:2] if f.name.startswith("thread:")}
    rows = cairn.report(file, "--metric", metric, "--by", "thread", "--idle")["rows"]
    told = {f"thread:{row['name']}" for row in rows if row["self_s"] > 0}
    assert "thread:busy" in threads <= told
    if metric == "wall":  # who sleeps may need less of a processor than can be told
        assert {"thread:sleeper", "thread:waiter"} <= threads


def test_collapsed_is_the_same_every_time_and_to_a_file(cairn, recording, folder):
    first = cairn("export", "-f", "collapsed", recording[0]).expect().out
    assert cairn("export", "-f", "collapsed", recording[0]).expect().out == first
    ended = cairn("export", "-f", "collapsed", "-o", "out.txt", recording[0]).expect()
    assert ended.out == b"" and (folder / "out.txt").read_bytes() == first


def test_a_dash_is_stdout(cairn, recording, folder):
    plain = cairn("export", "-f", "collapsed", recording[0]).expect().out
    assert plain and cairn("export", "-f", "collapsed", "-o", "-", recording[0]).expect().out == plain
    assert not (folder / "-").exists()


def pprof_of(cairn, file, *options):
    return parse_pprof(cairn("export", "-f", "pprof", *options, file).expect().out)


def test_pprof_sums_to_the_model(cairn, recording):
    file = recording[0]
    profile = pprof_of(cairn, file)
    units = dict(profile.types)
    assert units["wall"] == "nanoseconds" and "count" in units.values()
    wall = [kind for kind, _ in profile.types].index("wall")
    total_us = sum(values[wall] for _, values, _ in profile.samples) / 1000
    stacks = cairn.collapsed(file)
    assert abs(total_us - sum(stacks.values())) <= len(stacks)
    count = [unit for _, unit in profile.types].index("count")
    samples = sum(values[count] for _, values, _ in profile.samples)
    assert samples == cairn.report(file)["quality"]["samples"]
    for locations, values, labels in profile.samples:
        assert len(values) == len(profile.types)
        assert {"thread", "state", "process"} <= set(labels), labels
        assert all(location in profile.functions for location in locations)


def test_pprof_labels_lie_on_the_right_stacks(cairn, recording):
    profile = pprof_of(cairn, recording[0])
    wanted = {"sleep_through": "sleeper", "wait_for_lock": "waiter", "spin": "busy"}
    seen = set()
    for locations, _, labels in profile.samples:
        names = {name for location in locations for name in profile.functions[location]}
        for function in names & set(wanted):
            assert labels["thread"] == wanted[function]
            seen.add(function)
    assert seen == set(wanted)


def test_pprof_stacks_are_leaf_first(cairn, recording):
    profile = pprof_of(cairn, recording[0])
    for locations, _, _ in profile.samples:
        names = [name for location in locations for name in profile.functions[location]]
        if "spin" in names and "told" in names:
            assert names.index("spin") < names.index("told")
            return
    raise AssertionError("no stack with spin under told")


PER_SECOND = {"seconds": 1, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}


def test_speedscope_sums_to_the_model(cairn, recording):
    file = recording[0]
    document = json.loads(cairn("export", "-f", "speedscope", file).expect().out)
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    total_s = 0.0
    for profile in document["profiles"]:
        assert profile["type"] == "sampled"
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= i < len(frames) for stack in profile["samples"] for i in stack)
        total_s += sum(profile["weights"]) / PER_SECOND[profile["unit"]]
    stacks = cairn.collapsed(file)
    assert abs(total_s * 1e6 - sum(stacks.values())) <= len(stacks) + 1
    assert {"spin", "sleep_through", "wait_for_lock"} <= {frame["name"] for frame in frames}
    names = {profile["name"] for profile in document["profiles"]}
    assert any("busy" in name for name in names), names


SPEEDSCOPE = "1.25.0"


@pytest.fixture(scope="session")
def speedscope_schema():
    """The schema in the npm package of the viewer itself."""
    package = harness.npm_package("speedscope", SPEEDSCOPE)
    return json.loads((package / "dist" / "release" / "file-format-schema.json").read_text())


def test_speedscope_holds_to_its_schema(cairn, recording, speedscope_schema):
    validate = fastjsonschema.compile(speedscope_schema)
    document = json.loads(cairn("export", "-f", "speedscope", recording[0]).expect().out)
    validate(document)
    document["profiles"][0]["unit"] = "parsecs"
    with pytest.raises(fastjsonschema.JsonSchemaException):
        validate(document)


SVG = "{http://www.w3.org/2000/svg}"


def test_flamegraph_is_one_static_file(cairn, recording, folder):
    out = folder / "flame.svg"
    cairn("export", "-f", "flamegraph", "-o", out, recording[0]).expect()
    root = ElementTree.parse(out).getroot()
    assert root.tag == SVG + "svg"
    texts = "\n".join(root.itertext())
    assert all(name in texts for name in ("spin", "sleep_through", "wait_for_lock"))
    assert "earch" in texts, "it can be searched"
    references = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
    assert all(ref.startswith("#") for ref in references), "it needs nothing but itself"
    assert b"http" not in out.read_bytes().replace(b"http://www.w3.org/", b"")


def test_hard_names_survive_every_format(cairn, python):
    file, ended = cairn.record(python, "names.py", 0.9, 9)
    facts = ended.last_json()
    document = json.loads(cairn("export", "-f", "speedscope", file).expect().out)
    frames = {(frame["name"], frame.get("file")) for frame in document["shared"]["frames"]}
    assert {(name, facts["file"]) for name in facts["functions"]} <= frames
    names = {name for functions in pprof_of(cairn, file).functions.values() for name in functions}
    shown = {name.replace("\0", "\\x00") for name in facts["functions"]}
    assert shown <= names, "protobuf has no room for NUL"
    svg = cairn("export", "-f", "flamegraph", file).expect().out
    texts = "\n".join(ElementTree.fromstring(svg).itertext())
    assert 'quote"<tag>&amp;' in texts and "größe_λ" in texts


def test_torn_and_not_python_are_exported_too(cairn, recording):
    leaf = {stack[-1] for stack in cairn.collapsed(recording[0])}
    assert Frame("[not python]") in leaf, "the time before the interpreter is there"


def test_that_nothing_is_left_is_told(cairn, recording):
    file, _ = recording
    told = cairn("export", "-f", "collapsed", "--thread", "nosuch", file).expect()
    assert told.out == b"" and "no sample is left" in told.talk
    assert "no sample is left" not in cairn("export", "-f", "collapsed", file).expect().talk


def test_an_unknown_format_names_those_there_are(cairn, recording):
    ended = cairn("export", "-f", "papyrus", recording[0]).expect(harness.USAGE)
    assert ended.out == b"" and "papyrus" in ended.talk
    assert all(name in ended.talk for name in ("collapsed", "speedscope", "pprof", "flamegraph"))


def test_an_output_that_cannot_be_written_is_one_clear_answer(cairn, recording, folder):
    ended = cairn("export", "-f", "collapsed", "-o", folder / "no" / "out", recording[0])
    assert ended.status == harness.CAIRN_FAILED and str(folder / "no") in ended.talk


def test_a_full_disk_is_one_clear_answer(cairn, recording):
    with open("/dev/full", "wb") as full:
        ended = cairn("export", "-f", "collapsed", recording[0], stdout=full)
    assert ended.status == harness.CAIRN_FAILED and "space" in ended.talk


def test_without_a_format_all_are_listed(cairn):
    told = cairn("export").expect(122).err.decode()
    listed = [line.split()[0] for line in told.splitlines()[1:]]
    known = cairn("help", "export").text.split("what to write: ")[1].split("There is")[0]
    assert sorted(listed) == sorted(known.replace(",", " ").split())


def test_redacted_no_format_says_who_and_where(cairn, python, folder):
    home = folder / "home" / "zaphod"
    (home / "secret-project").mkdir(parents=True)
    script = home / "secret-project" / "work.py"
    script.write_text("import threading, time\n"
                      "def work(until):\n"
                      "    while time.monotonic() < until: pass\n"
                      "def fifo():\n"
                      "    import os\n"
                      "    os.mkfifo(__file__ + '.fifo')\n"
                      "    threading.Timer(.3, lambda: open(__file__ + '.fifo', 'w').close()).start()\n"
                      "    open(__file__ + '.fifo').close()\n"
                      "t = threading.Thread(target=work, args=[time.monotonic() + .3], "
                      "name='zaphod at work')\n"
                      "t.start(); fifo(); t.join()\n")
    env = {"HOME": str(home), "USER": "zaphod"}
    cairn("run", "--exact", "--timeline", "-o", folder / "run.cairn", "--",
          python.executable, script, "--password=hunter2", env=env).expect()
    for name in ("collapsed speedscope pprof pstats perfetto chrome firefox cpuprofile dot "
                 "callgrind flamegraph csv").split():
        for options in ([], ["--by", "process"]) if name == "csv" else ([],):
            told, shared = (unpacked(cairn("export", "-f", name, *options, *more,
                                           folder / "run.cairn", env=env).expect().out)
                            for more in ([], ["--redact"]))
            for word in (str(home), str(folder), "secret-project", "hunter2", "/lib/python"):
                assert word.encode() not in shared, (name, word)
            assert str(home).encode() in told or name in ("cpuprofile", "perfetto"), name
            assert b"work.py" in shared, name
    whole, shared = (cairn.collapsed(folder / "run.cairn", *more).values()
                     for more in ([], ["--redact"]))
    assert sum(whole) == pytest.approx(sum(shared), abs=len(whole))


def test_redacted_paths_of_windows_and_names_that_are_command_lines_are_cut(cairn, folder):
    (folder / "c.txt").write_text("main (/home/bob/p/a.py:10);win (C:\\Users\\dave\\proj\\a.py:4);"
                                  "unc (\\\\srv\\bobby\\x.py:3) 50\n")
    assert cairn("export", "-f", "collapsed", "--redact", "c.txt").expect().text == \
        "main (a.py:10);win (a.py:4);unc (x.py:3) 50\n"
    events = []
    for pid, name in (12, "Process 12: python ~/x/m.py --token abc"), (13, "C:\\q\\t.exe -x abc"):
        events += [{"ph": "M", "name": "process_name", "pid": pid, "tid": 1, "args": {"name": name}},
                   {"ph": "X", "name": "f", "pid": pid, "tid": 1, "ts": 0, "dur": 1000}]
    (folder / "t.json").write_text(json.dumps(events))
    for name in "pprof perfetto chrome firefox speedscope".split():
        shared = unpacked(cairn("export", "-f", name, "--redact", "t.json").expect().out)
        assert b"abc" not in shared and b"q\\" not in shared, name
    assert b"Process 12: m.py" in \
        unpacked(cairn("export", "-f", "pprof", "--redact", "t.json").expect().out)


NO_STACKS = {"a.prof": marshal.dumps({("a.py", 1, "main"): (1, 1, 0.5, 2.0, {}), ("a.py", 5, "work"): (
    3, 3, 1.5, 1.5, {("a.py", 1, "main"): (3, 3, 1.5, 1.5)})}),
    "a.callgrind": b"events: ns\nfl=a.py\nfn=main\n1 500\ncfn=work\ncalls=3 5\n1 1500\nfn=work\n5 1500\n"}


@pytest.mark.parametrize("file", NO_STACKS)
def test_it_is_told_that_stacks_are_inferred(cairn, folder, file):
    (folder / file).write_bytes(NO_STACKS[file])
    for name in ("collapsed speedscope pprof perfetto chrome firefox cpuprofile flamegraph csv "
                 "pstats callgrind dot").split():
        ended = cairn("export", "-f", name, file).expect()
        inferred = name not in ("csv", "pstats", "callgrind", "dot")
        assert ended.talk.count("are inferred") == inferred, (name, ended.talk)
        assert ended.talk.count(f"{name} does not hold") >= 1
    by_line = cairn("export", "-f", "csv", "--by", "line", file).expect()
    assert by_line.talk.count("are inferred") == 1
    # Among what stands above; the first line of that names the box of a graph's legend as well.
    for words, times in (["-top"], 1), (["-traces"], 1), (["-raw"], 1), (["-dot"], 2), (["-weblist=."], 1):
        ended = cairn("pprof", *words, file).expect()
        assert ended.text.count("are inferred") == times and not ended.talk, words
    for words in ["-top", "-compact_labels"], ["-tags"], ["-list=."], ["-callgrind"]:
        assert cairn("pprof", *words, file).expect().talk.count("are inferred") == 1, words
    told = cairn("pprof", "-comments", file).expect()
    assert "are inferred" in told.text and "inferred" not in told.talk
    (folder / "again.pb.gz").write_bytes(cairn("export", "-f", "pprof", file).expect().out)
    assert cairn("pprof", "-comments", "again.pb.gz").expect().text == told.text


def test_of_true_stacks_nothing_is_said_to_be_inferred(cairn, folder):
    (folder / "x").write_text("a;b 3\na 2\n")
    for words in ["export", "-f", "collapsed"], ["export", "-f", "pprof"], ["pprof", "-top"]:
        assert "inferred" not in cairn(*words, "x").expect().talk
    assert cairn("pprof", "-comments", "x").expect().text == ""


def unpacked(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data

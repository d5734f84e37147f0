"""`cairn pprof` prints what google/pprof prints: of a small profile whose reports are kept here
(golden/pprof; tools: `python tests/compat/test_pprof.py` asks the real tool again), and where Go is
installed, of real recordings."""
import gzip
import html
import http.client
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from profile_proto import one_sample, profile_classes

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "pprof"
LINES = {  # the golden file, and the words that it is of
    "top": "-top",
    "top_cum": "-top -cum -nodecount=4",
    "top_lines": "-lines -text",
    "top_filefunctions": "--top --filefunctions --nodefraction=0.2",
    "top_unit": "-top -unit=ms -divide_by 4",
    "top_focus": "-top -focus load -ignore=^nothing -hide read",
    "top_relative": "-top -focus=io.py -relative_percentages",
    "top_show_from": "-top -show_from solve -prune_from=step -compact_labels",
    "top_diff_base": "-top -diff_base before.pb.gz",
    "top_base": "-top -base=before.pb.gz",
    "top_normalize": "-top -normalize -base before.pb.gz",
    "top_drop_negative": "-top -drop_negative -base before.pb.gz",
    "tree": "-tree",
    "tree_small": "-tree -nodecount 2 -edgefraction=0.2",
    "tree_lines": "-tree -lines -cum",
    "peek": "-peek solve|load",
    "traces": "-traces",
    "traces_lines": "-traces -lines -taghide=state",
    "list": "-list=step|read -source_path=/nowhere",
    "callgrind": "-callgrind",
    "callgrind_cum": "-callgrind -cum -unit=ms -divide_by=4 -nodecount=2",
    "callgrind_base": "-callgrind -focus=solve -base before.pb.gz",
}
TOPS = {"topproto": "-topproto", "topproto_lines": "-topproto -lines -cum -nodecount=4 -unit=us"}
REAL = ["go", "tool", "pprof"]


def real(words, folder):
    # No profile of its own is kept, no server is asked: nothing but the files.
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "TZ": "UTC"}
    command = [shutil.which("go"), *REAL[1:], *map(str, words)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


def without_time(text):
    return re.sub(r"(?m)^Time: .*\n", "", text)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    import harness
    folder = tmp_path_factory.mktemp("pprof")
    cairn = harness.Cairn(folder)
    for name in ("stacks", "before"):
        shutil.copy(GOLDEN / f"{name}.txt", folder)
        cairn("export", "-f", "pprof", "-o", f"{name}.pb.gz", f"{name}.txt").expect()
    return cairn


@pytest.mark.parametrize("name", LINES)
def test_it_prints_what_pprof_printed(place, name):
    words = LINES[name].split()
    assert place("pprof", *words, "stacks.pb.gz").expect().text == (GOLDEN / f"{name}.out").read_text()


def test_the_goldens_are_those_of_the_real_one(place):
    if not shutil.which("go"):
        pytest.skip("Go, which has pprof, is not installed")
    for name in ("top", "tree", "peek", "traces", "top_diff_base"):
        assert real([*LINES[name].split(), "stacks.pb.gz"], place.folder) == (GOLDEN / f"{name}.out").read_text()


def entries_of(data):
    """What a profile says, whatever the order of its messages: sample types, and each sample by name."""
    profile = profile_of(data)
    names = profile.string_table
    functions = {function.id: function for function in profile.function}
    places = {place.id: (functions[place.line[0].function_id], place.line[0].line) for place in profile.location}
    assert len(functions) == len(profile.function) and len(places) == len(profile.location)
    rows = [(list(sample.value), [(names[function.name], names[function.filename], line, function.start_line)
                                  for function, line in map(places.get, sample.location_id)])
            for sample in profile.sample]  # fmt: skip
    types = [(names[kind.type], names[kind.unit]) for kind in profile.sample_type]
    return types, rows, profile.time_nanos, profile.duration_nanos


@pytest.mark.parametrize("name", TOPS)
def test_what_is_on_top_is_a_profile_as_pprof_writes_it(place, name):
    ours = place("pprof", *TOPS[name].split(), "stacks.pb.gz").expect().out
    wanted = entries_of((GOLDEN / f"{name}.pb.gz").read_bytes())
    assert entries_of(ours) == wanted and len(wanted[1]) >= 4


COMMENTED = {"made.pb": ["of Tuesday", "#not above a report", "two"], "other.pb": ["two", "", "more"]}


@pytest.mark.parametrize("words", ["-top made.pb", "-traces made.pb", "-dot made.pb", "-comments made.pb", "-raw made.pb",
                                   "-top -diff_base made.pb other.pb", "-comments made.pb other.pb",
                                   "-top -compact_labels made.pb", "-top -add_comment=mine made.pb"])  # fmt: skip
def test_comments_stand_where_pprof_has_them(place, words):
    for name, comments in COMMENTED.items():
        profile = one_sample("alloc", "microseconds", 5)
        for comment in comments:
            profile.comment.append(len(profile.string_table))
            profile.string_table.append(comment)
        (place.folder / name).write_bytes(profile.SerializeToString())
    text = place("pprof", *words.split()).expect().text
    assert ("of Tuesday" in text) == ("compact" not in words)
    assert ("#not above" in text) == ("-comments" in words or "-raw" in words)
    if shutil.which("go") and "-dot" not in words and "-raw" not in words:  # which differ: docs/compat.md
        assert text == real(words.split(), place.folder)


def test_functions_of_one_name_are_told_apart_for_kcachegrind(place):
    """pprof numbers them where they are called, and not where they are: there their calls are lost."""
    profile = one_sample("wall", "microseconds", 5)
    profile.string_table.extend(["g"])
    profile.function[0].start_line = 1
    profile.function.add(id=2, name=3, filename=4, start_line=7)
    profile.function.add(id=3, name=5, filename=4)
    profile.location.add(id=2).line.add(function_id=2, line=8)
    profile.location.add(id=3).line.add(function_id=3, line=12)
    profile.sample.add(location_id=[1, 3], value=[3])
    profile.sample.add(location_id=[2, 3], value=[2])
    (place.folder / "twins.pb").write_bytes(profile.SerializeToString())
    text = place("pprof", "-callgrind", "twins.pb").expect().text
    assert text.startswith("positions: instr line\nevents: wall(us)\n\nob=\nfl=(1) f.py\nfn=(1) f [1/2]\n0x0 2 8\n")
    assert "fn=(2) f [2/2]\n* 8 2\n" in text and "cfn=(1)\ncalls=0 * 2\n* * 3\n" in text
    assert "cfn=(2)\ncalls=0 * 8\n* * 2\n" in text and "fn=(3) g\n" in text


def test_callgrind_annotate_reads_it(place, tmp_path):
    if not shutil.which("callgrind_annotate"):
        pytest.skip("valgrind is not installed, and callgrind_annotate comes with it")
    place("pprof", "-callgrind", "-output", "calls.out", "stacks.pb.gz").expect()
    done = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", "calls.out"], cwd=place.folder,
                          capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    own = {name: int(value.replace(",", "")) for value, name in
           re.findall(r"^ *([\d,]+) \(.*?\)  .*?:(\S+)", done.stdout, re.MULTILINE)}  # fmt: skip
    assert own["step"] == 500_000 and own["read"] == 365_000 and own["tidy"] == 350


def test_of_a_recording_it_prints_what_pprof_prints_of_its_export(cairn, busy_recording, folder):
    if not shutil.which("go"):
        pytest.skip("Go, which has pprof, is not installed")
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", busy_recording[0]).expect()
    for line in ("-top", "-tree -lines", "-peek=.", "-traces", "-list=heavy", "-top -sample_index=samples",
                 "-callgrind", "-callgrind -cum", "-mean -cum -top", "-top -sample_index=2 -tagfocus=state=running"):  # fmt: skip
        mine = cairn("pprof", *line.split(), busy_recording[0]).expect().text
        assert without_time(mine) == real([*line.split(), "out.pb.gz"], folder), line


def profile_of(data):
    """A profile.proto as the protobuf library reads it."""
    return profile_classes().FromString(gzip.decompress(data))


def labels_of(profile, sample):
    texts, numbers = {}, {}
    for label in sample.label:
        key = profile.string_table[label.key]
        if label.str:
            texts[key] = profile.string_table[label.str]
        elif label.num:
            numbers[key] = label.num
    return texts, numbers


def raw_of(profile):
    """What pprof prints with -raw, by profile.go: numbers in the order in which samples ask for them."""
    names = profile.string_table
    functions = {function.id: function for function in profile.function}
    lines = {place.id: place.line[0] for place in profile.location}
    numbers, samples = {}, {}
    for sample in profile.sample:
        if not any(sample.value):
            continue
        ids = ""
        for place in sample.location_id:
            line = lines[place]
            function = functions[line.function_id]
            what = (names[function.name], names[function.filename], line.line, function.start_line)
            if what not in numbers:
                numbers[what] = len(numbers) + 1
            ids += f"{numbers[what]} "
        labels = [" ".join(sorted(f"{key}:[{value}]" for key, value in part.items()))
                  for part in labels_of(profile, sample) if part]  # fmt: skip
        values = samples.setdefault((ids, *labels), [0] * len(sample.value))  # those that are alike are one
        samples[ids, *labels] = [a + b for a, b in zip(values, sample.value)]
    rows = []
    for (ids, *labels), values in samples.items():
        rows.append("".join(f" {value:10}" for value in values) + ": " + ids)
        rows += [" " * 16 + part for part in labels]
    types = [f"{names[kind.type]}/{names[kind.unit]}" + "[dflt]" * (kind.type == profile.default_sample_type)
             for kind in profile.sample_type]  # fmt: skip
    return [" ".join(types), *rows, "Locations",
            *(f"{n + 1:6}: 0x0 M=1 {name} {file}:{line}:0 s={first}()"
              for n, (name, file, line, first) in enumerate(numbers)),
            "Mappings", "1: 0x0/0x0/0x0   "]  # fmt: skip


def tags_of(profile, column):
    """What pprof prints with -tags, by report.go, in ns of a column."""
    sums, total = {}, sum(abs(sample.value[column]) for sample in profile.sample)
    for sample in profile.sample:
        for labels in labels_of(profile, sample):
            for key, value in labels.items():
                mine = sums.setdefault(key, {})
                mine[str(value)] = mine.get(str(value), 0) + sample.value[column]
    return total, sums


def test_raw_is_the_profile_as_it_is(cairn, busy_recording, folder):
    file, _ = busy_recording
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", file).expect()
    profile = profile_of((folder / "out.pb.gz").read_bytes())
    lines = cairn("pprof", "-raw", file, env={"TZ": "UTC"}).expect().text.splitlines()
    assert lines[0] == "Period: 0" and re.fullmatch(r"Time: \S+ \S+ \+0000 UTC", lines[1])
    assert re.fullmatch(r"Duration: .{1,4}", lines[2]) and lines[3] == "Samples:"
    assert lines[4:] == raw_of(profile)
    focused = cairn("pprof", "-raw", "-focus=heavy", "-taghide=.", file).expect().text.splitlines()
    assert 0 < len(focused) < len(lines) and not any("thread:[" in line for line in focused)


@pytest.mark.parametrize("ns, shown", [(886_850_000, "886."), (2_500_000_000, "2.5s"), (90_000_000_000, "1m30"),
                                       (3_661_000_000_000, "1h1m"), (1_500, "1.5\u00b5")])  # fmt: skip
def test_a_duration_is_as_go_has_it_cut_off(place, ns, shown):
    profile = one_sample("wall", "microseconds", 5)
    profile.duration_nanos = ns
    (place.folder / "d.pb").write_bytes(profile.SerializeToString())
    assert f"Duration: {shown}\n" in place("pprof", "-raw", "d.pb").expect().text


def test_proto_is_what_the_filters_leave(cairn, busy_recording, folder):
    file, _ = busy_recording

    def stacks(profile):
        names = {f.id: profile.string_table[f.name] for f in profile.function}
        frames = {p.id: (names[p.line[0].function_id], p.line[0].line) for p in profile.location}
        rows = {}
        for sample in profile.sample:
            labels = [sorted(part.items()) for part in labels_of(profile, sample)]
            key = (tuple(frames[p] for p in sample.location_id), str(labels))
            rows[key] = [a + b for a, b in zip(rows.get(key, [0] * 5), sample.value)]
        return rows

    cairn("export", "-f", "pprof", "-o", "out.pb.gz", file).expect()
    wanted = stacks(profile_of((folder / "out.pb.gz").read_bytes()))
    ended = cairn("pprof", "-proto", "-output=all.pb.gz", file).expect()
    assert "Generating report in all.pb.gz" in ended.talk and ended.out == b""
    assert stacks(profile_of((folder / "all.pb.gz").read_bytes())) == wanted
    cairn("pprof", "-proto", "-focus=heavy", "-divide_by=2", "-output", "some.pb.gz", file).expect()
    part = {key: [int(value / 2) for value in values] for key, values in wanted.items()
            if any(name == "heavy" for name, _ in key[0])}  # fmt: skip
    assert part and stacks(profile_of((folder / "some.pb.gz").read_bytes())) == part
    assert cairn("pprof", "-proto", file).expect().out == (folder / "all.pb.gz").read_bytes()


def test_tags_have_what_their_samples_have(cairn, busy_recording, folder):
    file, _ = busy_recording
    cairn("export", "-f", "pprof", "-o", "out.pb.gz", file).expect()
    total, sums = tags_of(profile_of((folder / "out.pb.gz").read_bytes()), 1)
    text = cairn("pprof", "-tags", "-unit=ns", file).expect().text
    got, key = {}, None
    for line in text.splitlines():
        head = re.fullmatch(r" (\S+): Total (\d+)ns of (\d+)ns \(.*\)", line)
        row = re.fullmatch(r" +(\d+)(?:ns)? \(.*%\): (.*)", line)
        if head:
            key = head[1]
            got[key] = {}
            assert int(head[2]) == sum(sums[key].values()) and int(head[3]) == total
        elif row:
            # A number without a unit of its own is given the one that is asked for.
            got[key][row[2].removesuffix("ns") if key in ("tid", "pid") else row[2]] = int(row[1])
    assert list(got) == sorted(sums) and got == sums


def test_tags_stand_in_columns_as_pprof_has_them(place):
    """By report.go, the text of its testdata: right-aligned, the most first, a blank line behind."""
    (place.folder / "t.txt").write_text("thread:one;f 1000\nthread:tw;f 100000\nthread:tw;g 19000\n")
    text = place("pprof", "-tags", "-tagshow=thread", "t.txt").expect().text
    assert text == (" thread: Total 120ms of 120ms (  100%)\n"
                    "         119ms (99.17%): tw\n"
                    "           1ms ( 0.83%): one\n"
                    "\n")  # fmt: skip


def test_comments_come_with_the_file(place):
    profile = one_sample("wall", "microseconds", 5)
    profile.string_table.extend(["#hidden comment", "two\x1b[31m"])
    count = len(profile.string_table)
    profile.comment.extend([count - 2, count - 1])
    (place.folder / "c.pb").write_bytes(profile.SerializeToString())
    shown = place("pprof", "-comments", "-add_comment=mine", "c.pb").expect().text
    assert shown == "#hidden comment\ntwo\\x1b[31m\nmine\n"
    assert "Comment: mine\n" in place("pprof", "-raw", "-add_comment", "mine", "c.pb").expect().text
    place("pprof", "-proto", "-add_comment=mine", "-output=again.pb.gz", "c.pb").expect()
    assert place("pprof", "-comments", "again.pb.gz").expect().text == shown
    assert place("pprof", "-comments", "stacks.pb.gz").expect().text == ""


def test_addresses_and_call_trees_of_text(place):
    wanted = place("pprof", "-top", "-lines", "stacks.pb.gz").expect().text
    assert place("pprof", "-top", "-addresses", "-call_tree", "-timeout=5", "stacks.pb.gz").expect().text == wanted


def test_any_file_is_read_and_a_program_in_front_is_passed_over(place):
    wanted = place("pprof", "-top", "stacks.pb.gz").expect().text
    assert place("pprof", "stacks.pb.gz", "-top").expect().text == wanted
    assert place("pprof", "-top", sys.executable, "stacks.pb.gz").expect().text == wanted
    assert place("pprof", "-top", "stacks.txt").expect().text.splitlines()[-8:] == wanted.splitlines()[-8:]
    place("pprof", "-top", "-output=top.txt", "stacks.pb.gz").expect()
    assert (place.folder / "top.txt").read_text() == wanted


def test_source_stands_beside_its_numbers(cairn, folder):
    (folder / "program.py").write_text("def heavy():\n\tx = 1\n    # end\n\n\n\n\n\n\n# far\n")
    (folder / "s.txt").write_text(f"heavy ({folder}/program.py:2) 5000\n")
    listed = cairn("pprof", "-list", "heavy", "s.txt").expect().text
    assert f"ROUTINE ======================== heavy in {folder}/program.py\n" in listed
    assert "       5ms        5ms      2:\tx = 1\n" in listed and "far" not in listed


def test_a_graph_has_the_nodes_and_edges(place):
    drawn = place("pprof", "-dot", "stacks.pb.gz").expect().text
    assert drawn.startswith("digraph") and re.search(r'^N\d+ \[label="step\\n500ms \(56\.38%\)"', drawn, re.MULTILINE)
    assert 'tooltip="solve -> step (500ms)"' in drawn and "tidy" not in drawn
    if shutil.which("dot"):
        assert b"<svg" in place("pprof", "-svg", "stacks.pb.gz").expect().out
    ended = place("pprof", "-svg", "stacks.pb.gz", env={"PATH": "/nowhere"}).expect(127)
    assert "graphviz" in ended.talk and ended.out == b""


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "-top"),
        (["-tpo"], "-top"),
        (["-top", "-tree"], "at most one"),
        (["-disasm=x"], "machine code of a binary"),
        (["-disasm=x"], "cairn dis"),
        (["-dot", "-call_tree"], "-call_tree"),
        (["-tags", "-tagshow=("], "-tagshow"),
        (["-top", "-focus=("], "-focus"),
        (["-top", "-nodecount=few"], "few"),
        (["-top", "-lines", "-files"], "conflicting"),
        (["-top", "-sample_index=heap"], "wall"),
        (["-top", "-base", "before.pb.gz", "-diff_base=before.pb.gz"], "both"),
        (["-http=8080"], "HOST:PORT"),
        (["-top", "-output"], "-output"),
    ],
)
def test_bad_words_are_named(place, words, said):
    import harness
    assert said in place("pprof", "stacks.pb.gz", *words).expect(harness.USAGE).talk


def test_what_is_not_there_is_named(place):
    (place.folder / "cut.pb.gz").write_bytes((place.folder / "stacks.pb.gz").read_bytes()[:60])
    assert "cut.pb.gz" in place("pprof", "-top", "cut.pb.gz").expect(123).talk
    assert "gone.pb" in place("pprof", "-top", "gone.pb").expect(127).talk
    assert "nobody" in place("pprof", "-peek=nobody", "stacks.pb.gz").expect(127).talk
    assert "Focus" in place("pprof", "-top", "-focus=nobody", "stacks.pb.gz").expect().talk


@pytest.mark.parametrize("module", [False, True])
def test_http_has_the_page(place, module):
    import harness
    words = ["-http=127.0.0.1:", "-no_browser", "stacks.pb.gz"]
    if module:
        env = {**place.environment(), "PYTHONPATH": str(harness.cairn_binary().parent / "python")}
        command = [sys.executable, "-m", "cairn.pprof", *words]
        process = harness.spawn(command, env=env, cwd=place.folder, stderr=subprocess.STDOUT)
    else:
        process = place.spawn("pprof", *words, stderr=subprocess.STDOUT)
    try:
        line = harness.read_line(process)
        port, token = re.fullmatch(r"Serving web UI on http://127\.0\.0\.1:(\d+)/\?t=(\w+)", line.strip()).groups()
        asked = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        asked.request("GET", "/api/table", headers={"Cookie": f"cairn-{port}={token}"})
        assert "solve" in asked.getresponse().read().decode()
        asked.close()
    except BaseException:
        harness.end_group(process)
        raise
    process.send_signal(signal.SIGINT)
    assert harness.finish(process).status == 0


if __name__ == "__main__":  # CAIRN=build/cairn: the real tool's words, anew
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as work:
        for stem in ("stacks", "before"):
            made = [os.environ["CAIRN"], "export", "-f", "pprof", "-o", f"{work}/{stem}.pb.gz", GOLDEN / f"{stem}.txt"]
            subprocess.run(made, check=True)
        for stem, line in LINES.items():
            (GOLDEN / f"{stem}.out").write_text(real([*line.split(), "stacks.pb.gz"], Path(work)))
        for stem, line in TOPS.items():
            real([*line.split(), "-output", GOLDEN / f"{stem}.pb.gz", "stacks.pb.gz"], Path(work))


def shown_lines(page):
    """What stands in the lines of a page of sources, without its marks."""
    return [html.unescape(re.sub("<[^>]*>", "", line)).rstrip()
            for line in page.splitlines() if line.startswith("<span class=line>")]


def test_weblist_is_the_list_as_a_page(cairn, folder):
    """The form of the lines is that of Go 1.19's pprof; the numbers are those of -list."""
    (folder / "program.py").write_text("def heavy():\n\tx = '</pre><script>'\n    return 1\n")
    (folder / "s.txt").write_text(f"heavy ({folder}/program.py:2) 5000\nheavy ({folder}/program.py:3) 1000\n")
    page = cairn("pprof", "-weblist", "heavy", "s.txt").expect().text
    assert shown_lines(page) == [
        "      1            .          .           def heavy():",
        "      2          5ms        5ms           \tx = '</pre><script>'",
        "      3          1ms        1ms               return 1"]
    assert "<script" not in page and "<h2><bdi>heavy</bdi></h2>" in page
    assert "  Total:         6ms        6ms (flat, cum)   100%" in page
    assert page.rstrip().endswith("</html>") and "Without machine code" in page
    (folder / "program.py").unlink()
    assert "could not find file program.py" in cairn("pprof", "-weblist=heavy", "s.txt").expect().text
    cairn("pprof", "-weblist=none", "s.txt").expect(127)

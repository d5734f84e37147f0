"""`cairn pstats` says what `python -m pstats` says, byte for byte, of the files of every CPython."""
import json
import marshal
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

import harness
from harness import execute

ENVIRONMENT = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": os.environ["PATH"]}

SESSIONS = {
    "help": """help
? read
?
help sort
help stats
help callers
help add
help strip
help reverse
help read
help quit
help EOF
help help
help nosuch
help sort stats
!ls
? !ls
5
foo bar
stats5
helping
 help   quit
""",
    "sort": """sort
sort time
stats 5
sort cumulative name
stats 5

stats 3
sort 1
sort -1
sort time nosuch
sort c
sort n
sort t
sort cu
stats 3
sort p
stats 3
sort f
stats 3
sort m line
stats
sort nfl
stats
sort stdname
stats
sort s
stats 3
sort calls pcalls cumtime tottime ncalls module filename name nfl
stats
reverse
stats 5
reverse
stats 5
sort calls
reverse
callers 3
""",
    "limits": """sort stdname
stats 5
stats 0
stats -3
stats +3
stats 1_0
stats 007
stats 99999999999999999999999
stats .1
stats 0.25
stats 1e-1
stats 1.0
stats 1.5
stats -.5
stats -0.0
stats nan
stats inf
stats 0.123456789012345678
stats 1e-05
stats 20 .5 json 2
stats json 0
stats 0x3
stats 1__0
stats _1
stats 7.5 recursive
stats recursive 7.5
callers 2
callers .05
callees 2
""",
    "regex": """stats recursive
stats json|wrap
stats ^\\S+:\\d+\\(m
stats \\(main\\)$
stats r.c\\w+\\b
stats {built
stats {built-in
stats (
stats [
stats *
stats a**
stats a{2}{3}
stats [[:alpha:]]
stats [[a]
stats [^]]+$
stats []{]
stats [a-z]{3,5}\\.py
stats o{,2}p
stats {,}
stats x{
stats \\h
stats \\p{L}
stats \\Qa\\E
stats \\x6ason
stats \\x6
stats \\u006ason
stats \\152son
stats (json).*\\1
stats (?P<who>json).*(?P=who)
stats (?i)JSON
stats (?i:JSON)
stats (?x)j\\x20*son
stats (?|json)
stats (?R)
stats (*UTF)json
stats (?<=js)on
stats (?<!js)on
stats (?=js)js
stats (?#comment)json
stats größe
stats größe_\\w\\(
stats 'quoted"
stats it's
stats back\\\\slash
stats \\Z
stats \\A
stats <
stats .
""",
    "regex of 3.11": """stats json(?i)
stats j(?>s)on
stats js*+on
""",
    "regex of 3.14": """stats \\)\\z
stats [\\z]
""",
    "callers and callees": """callers
callees
sort tottime
callers
callees
callers recursive
callees recursive
callers main
callees nosuch
sort name
callers (even|odd)
callees (even|odd)
""",
    "strip": """stats
strip
stats
callers
callees
sort file
stats
sort module line name
callers 10
callees 10
strip
stats 3
callees
""",
    "files": """add
add nosuch
add /
read nosuch
stats 2
read
stats 2
read /
sort calls
add FILE
stats
callers
callees
strip
add FILE
stats
callees
read FILE
stats 4
callees 4
add FILE
callees
""",
    "end": "stats 1\nquit\nstats 1\n",
    "end of file": "stats 1",
    "EOF": "EOF\nstats\n",
    "nothing": "",
}


SINCE = {"regex of 3.11": (3, 11), "regex of 3.14": (3, 14)}  # the newest one decides


class Place:
    """A folder that an interpreter and Cairn know by one path, though one of them is in a chroot;
    files in it are the same to the second."""

    def __init__(self, interpreter, folder):
        self.interpreter = interpreter
        self.folder = folder
        self.inside = folder
        if interpreter.chroot:
            self.inside = Path(interpreter.chroot + str(folder))
            self.inside.mkdir()
        self.prefix = ["chroot", interpreter.chroot] if interpreter.chroot else []

    def close(self):
        for folder in {self.inside, self.folder}:
            shutil.rmtree(folder, ignore_errors=True)

    def profile(self, name, tool="cProfile"):
        """A file that the interpreter itself makes, of a time that is no moment of this test."""
        out = self.folder / f"{tool}-{name}"
        if out.exists():
            return out
        execute(self.interpreter.command("profiled.py", out, tool)).expect()
        return self.show(out, self.inside / out.name)

    def show(self, out, made=None):
        """Puts one of the two copies where the other one is."""
        made = made or out
        os.utime(made, (1_700_000_000, 1_700_000_000))
        for other in {out, self.inside / out.name} - {made}:
            shutil.copy2(made, other)
        return out

    def real(self, *files, data):
        """What the interpreter's own pstats says."""
        command = [*self.prefix, self.interpreter.executable, "-m", "pstats", *files]
        # What it warns of is not its text.
        return execute(command, data, env=ENVIRONMENT, cwd=self.folder).expect().out

    def python(self, code, *args):
        command = [*self.prefix, self.interpreter.executable, "-c", code, *args]
        return execute(command, env=ENVIRONMENT, cwd=self.folder).expect().out


@pytest.fixture(scope="module")
def place(interpreter):
    place = Place(interpreter, Path(tempfile.mkdtemp(prefix="cairn-test-", dir="/tmp")))
    yield place
    place.close()


def browse(*files, data, folder):
    command = [harness.cairn_binary(), "pstats", *files]
    return execute(command, data, env=ENVIRONMENT, cwd=folder)


def check(place, *files, data):
    ended = browse(*files, data=data, folder=place.folder).expect()
    assert ended.out.decode() == place.real(*files, data=data).decode()
    return ended


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("tool", ["cProfile", "profile"])
def test_a_session_says_what_the_real_one_says(place, session, tool):
    if place.interpreter.version < SINCE.get(session, ()):
        pytest.skip("this Python takes other expressions: docs/compat.md")
    file = place.profile("a.prof", tool)
    data = SESSIONS[session].replace("FILE", str(file)).encode()
    ended = check(place, file, data=data)
    assert ended.err == b"" and ended.text.endswith("Goodbye.\n")


def test_several_files_are_added_up(place):
    first, second = place.profile("a.prof"), place.profile("b.prof")
    data = b"sort calls\nstats\ncallers\ncallees\nstrip\nstats\n"
    check(place, first, second, data=data)
    check(place, first, place.folder / "nosuch", second, data=data)


def test_a_file_that_is_not_there_is_an_empty_browser(place):
    missing = place.folder / "nosuch"
    data = b"stats\nsort time\nsort\nstrip\nreverse\ncallers 3\ncallees 1.5\nadd x\nread\nhelp\n"
    check(place, missing, data=data)
    check(place, data=data)
    check(place, missing, place.profile("a.prof"), data=data)


def test_an_empty_profile_is_none(place):
    if place.interpreter.version >= (3, 15):
        pytest.skip("3.15 names an object of its own by its address there: docs/compat.md")
    empty = place.folder / "empty.prof"
    empty.write_bytes(b"{0")
    check(place, place.show(empty), data=b"stats\n")


def test_samples_are_called_samples(place):
    if place.interpreter.version < (3, 15):
        pytest.skip("pstats does not know of samples before 3.15")
    file = place.profile("a.prof", "sampled")
    data = b"stats\nsort nsamples\nstats 5\nsort psamples samples\ncallers 5\nsort cumtime\nstats 3\n"
    check(place, file, data=data + b"sort\nsort nosuch\nreverse\nstats 2\ncallees 4\n")


def test_numbers_and_names_at_their_ends(place):
    """Made by hand: what programs hardly ever have."""
    code = """
import marshal, sys
big = 2 ** 40
def key(n): return ("/very/long/" + "x" * 300 + "/file.py", n, "f%d" % n)
stats = {
    ("~", 0, "<built-in method a>"): (big, big * 3, 1e6, 1e7, {key(1): (big * 3, big, 1e6, 1e7)}),
    key(1): (1, 1, -0.5, 123456789.123456, {}),
    key(2): (0, 0, 0, 0, {key(2): (0, 0, 0.0, 0.0)}),
    key(3): (0, 5, 1, 2, {key(1): (1, 1, 1e-9, 1e-9), ("~", 0, "<"): (2, 1, 3, 4)}),
    ("~", 0, "<"): (1, 1, 0.0005, 0.0015, {}),
    ("~", 0, ""): (1, 1, 0.0025, 2.5, {}),
    ("~", 0, "plain"): (1, 1, 1e300, 1e-300, {}),
    ("~", -7, "<x>"): (1, 1, 1.0, 1.0, {}),
    ("", 0, ""): (1, 1, 0.1, 0.1, {}),
    ("日本語.py", 1, "名前"): (1, 1, 0.1, 0.1, {("日本語.py", 1, "名前"): (1, 1, 0.1, 0.1)}),
    ("/a/one.py", 1, "same"): (1, 2, 0.1, 0.1, {("/a/x.py", 1, "c"): (1, 1, 1.0, 1.0),
                                               ("/b/x.py", 1, "c"): (2, 2, 2.0, 2.0)}),
    ("/b/one.py", 1, "same"): (1, 2, 0.1, 0.1, {("/c/x.py", 1, "c"): (4, 4, 4.0, 4.0)}),
    ("/a/x.py", 1, "c"): (1, 1, 0.1, 0.1, {}),
    ("/c/x.py", 1, "c"): (1, 1, 0.1, 0.1, {}),
}
for version in range(2, marshal.version + 1):
    with open("%s/%d.prof" % (sys.argv[1], version), "wb") as file:
        marshal.dump(stats, file, version)
"""
    place.python(code, str(place.folder))
    data = "stats\ncallers\ncallees\nsort {}\nstats\ncallers\ncallees\nstrip\nstats\ncallers\ncallees\n"
    versions = sorted(path.name for path in place.inside.glob("[0-9].prof"))
    assert len(versions) >= 3
    for number, name in enumerate(versions):
        made = place.inside / name
        key = ["time", "stdname", "cum name", "nfl", "calls line"][number % 5]
        check(place, place.show(place.folder / name, made), data=data.format(key).encode())


def test_a_file_of_profile_with_the_code_of_its_script(place):
    """Its name has an address in it, which is left out; 3.8 to 3.10 write what only they read."""
    file = place.profile("a.prof", "script")
    told = browse(file, data=b"stats\n", folder=place.folder).expect().text
    assert 'profile:0(<code object <module>, file "script.py", line 1>)' in told
    assert "profiled.py" in told and "(recursive)" in told
    real = place.real(file, data=b"stats\n").decode()
    assert len(told.splitlines()) == len(real.splitlines())


READ = """
import json, pstats, sys
stats = pstats.Stats(sys.argv[1])
print(json.dumps([stats.total_tt, stats.total_calls, stats.prim_calls, sorted(
    [*key, cc, nc, tt, ct, sorted([*caller, *value] for caller, value in callers.items())]
    for key, (cc, nc, tt, ct, callers) in stats.stats.items())]))
"""


def test_every_python_reads_what_is_exported(place, cairn, busy_recording):
    """And reads the same out of it; its sum is the model's."""
    file, _ = busy_recording
    out = place.folder / "out.prof"
    ended = cairn("export", "-f", "pstats", "-o", out, file).expect()
    assert ended.out == b"" and "callers" in ended.talk and "samples" in ended.talk
    total, calls, primitive, rows = json.loads(place.python(READ, place.show(out)))
    recorded = cairn.report(file, "--idle", "--by", "thread")["rows"]
    assert abs(total - sum(row["self_s"] for row in recorded)) < 1e-6
    assert calls == primitive == sum(row[3] for row in rows)
    by_name = {row["name"]: row for row in cairn.report(file, "--idle")["rows"]}
    for name in ("light", "medium", "heavy"):
        row = next(row for row in rows if row[2] == name)
        assert abs(row[5] - by_name[name]["self_s"]) < 1e-6
        assert abs(row[6] - by_name[name]["total_s"]) < 1e-6
        assert row[3] == row[4] == by_name[name]["samples"]
        assert [caller[2] for caller in row[7]] == ["main"]
        assert abs(row[7][0][5] - row[5]) < 1e-9, "all of it came from main"
    check(place, out, data=b"sort tottime\nstats\ncallers\ncallees\nstrip\nstats 5\n")


TABLE = """
import json, pstats, re, sys
def name(key): return re.sub(" at 0x[0-9a-f]+", "", " ".join(map(str, key)))
print(json.dumps({name(key): [*numbers, {name(caller): value for caller, value in callers.items()}]
                  for key, (*numbers, callers) in pstats.Stats(sys.argv[1]).stats.items()}))
"""


def table(place, file):
    """What this Python's own pstats reads; code objects by the text that is written of them."""
    return json.loads(place.python(TABLE, place.show(file)))


@pytest.mark.parametrize("tool", ["cProfile", "profile"])
@pytest.mark.parametrize("way", ["file", "recording"])
def test_a_profile_comes_back_to_the_last_bit(place, cairn, tool, way):
    """Calls, primitive calls and times of each function and of each of its callers: through a recording,
    or given as it is, they are what they were."""
    file, out = place.profile("a.prof", tool), place.folder / f"{tool}-{way}.prof"
    if way == "recording":
        cairn("import", "--force", "-o", "a.cairn", file).expect()
    cairn("export", "-f", "pstats", "-o", out, "a.cairn" if way == "recording" else file).expect()
    wanted = table(place, file)
    assert table(place, out) == wanted and len(wanted) > 20
    assert any(cc != nc for cc, nc, *_ in wanted.values()), "something recurses"
    assert sum(len(callers) for *_, callers in wanted.values()) > 20


@pytest.mark.parametrize("data", [b"", b"{", b"\x80\x04\x95", b"{i\1\0\0\0", b"GIF89a", b"{" * 999])
def test_what_is_no_profile_is_one_clear_answer(folder, data):
    bad = folder / "bad.prof"
    bad.write_bytes(data)
    ended = browse(bad, data=b"stats\n", folder=folder).expect(harness.DAMAGED)
    assert ended.out == b"" and str(bad) in ended.talk and len(ended.talk.splitlines()) <= 4


def test_an_endless_search_is_given_up(folder):
    name = "a" * 64
    stats = {("x.py", 1, name): (1, 1, 1.0, 1.0, {})}
    (folder / "a.prof").write_bytes(marshal.dumps(stats, 2))
    data = b"stats (a|aa|aaa)+$(?<!a)\nstats 1\n"
    told = browse("a.prof", data=data, folder=folder).expect().text
    assert "too long" in told and told.count(name) == 1


def test_in_the_browser_a_bad_file_is_told_and_what_was_there_stays(place):
    good, bad = place.profile("a.prof"), place.folder / "bad.prof"
    bad.write_bytes(good.read_bytes()[:-9])
    data = f"read {bad}\nadd {bad}\nread nosuch\nstats 1\n".encode()
    told = browse(good, data=data, folder=place.folder).expect().text
    assert told.count("bad.prof") == 2 and "damaged" in told
    assert told.endswith(browse(good, data=b"stats 1\n", folder=place.folder).text[-300:])


def test_a_recording_is_browsed_too(cairn, busy_recording, folder):
    file, _ = busy_recording
    data = b"sort calls\nstats 3\nsort nsamples\nstats 3\ncallers heavy\n"
    ended = browse(file, data=data, folder=folder).expect()
    assert "nsamples  tottime persample" in ended.text and "was sampled" in ended.talk
    assert "(heavy)" in ended.text and "(main)" in ended.text
    cut = browse("--from", "500ms", file, data=b"stats 1\n", folder=folder).expect().text
    whole, part = (
        float(re.search(r"in (\d+\.\d+) seconds", text)[1]) for text in (ended.text, cut)
    )
    assert part < whole - 0.4
    damaged = folder / "damaged.cairn"
    damaged.write_bytes(file.read_bytes()[:8])
    browse(damaged, data=b"", folder=folder).expect(harness.DAMAGED)


def test_of_counted_calls_nobody_says_that_they_were_sampled(python, cairn, folder):
    if not python.has_engine():
        pytest.skip("no module was built for it")
    file, _ = cairn.record(python, "busy.py", 0.2, options=["--exact"])
    ended = browse(file, data=b"stats 3\n", folder=folder).expect()
    assert "ncalls  tottime  percall" in ended.text and "sampled" not in ended.talk + ended.text


def test_a_full_disk_is_said(place):
    file = place.profile("a.prof")
    command = [harness.cairn_binary(), "pstats", file]
    with open("/dev/full", "wb") as full:
        ended = execute(command, b"stats\n", env=ENVIRONMENT, cwd=place.folder, stdout=full)
    assert "No space left" in ended.expect(harness.CAIRN_FAILED).talk


def test_a_reader_that_goes_away_ends_it_quietly(place):
    file = place.profile("a.prof")
    words = f'yes stats | "{harness.cairn_binary()}" pstats "{file}" | head -n 3'
    ended = execute(["bash", "-c", words], env=ENVIRONMENT, cwd=place.folder).expect()
    assert ended.err == b"" and len(ended.out.splitlines()) == 3


def test_ctrl_c_at_the_prompt_is_a_quiet_end(place):
    file = place.profile("a.prof")
    process = harness.spawn([harness.cairn_binary(), "pstats", file], env=ENVIRONMENT)
    assert harness.read_line(process).startswith("Welcome")
    prompt = b""
    while not prompt.endswith(b"% "):
        prompt += os.read(process.stdout.fileno(), 1)
    process.send_signal(signal.SIGINT)
    ended = harness.finish(process).expect(0)
    assert ended.out == ended.err == b""


STATS = """
import io, sys
from cairn import pstats
import pstats as real
stats = pstats.Stats(sys.argv[1], stream=io.StringIO())
assert isinstance(stats, real.Stats) and pstats.SortKey is real.SortKey
before = stats.total_tt
stats.add(sys.argv[1]).strip_dirs().sort_stats(pstats.SortKey.TIME).print_stats(3)
assert abs(stats.total_tt - 2 * before) < 1e-9
print(stats.stream.getvalue())
"""


def test_the_module_is_the_command_and_reads_recordings(place, cairn, busy_recording):
    if place.interpreter.chroot:
        pytest.skip("the command is not in the chroot")
    file, _ = busy_recording
    prof = place.profile("a.prof")
    env = cairn.environment(
        PYTHONPATH=str(harness.ROOT / "python"), CAIRN_BIN=str(cairn.binary), TZ="UTC"
    )
    python = place.interpreter.executable
    data = SESSIONS["strip"].encode()
    ended = execute([python, "-m", "cairn.pstats", prof], data, env=env, cwd=place.folder).expect()
    assert ended.out == place.real(prof, data=data)
    text = execute([python, "-c", STATS, file], env=env, cwd=place.folder).expect().text
    assert text.count(str(file)) == 2 and "busy.py" in text and "(heavy)" in text
    text = execute([python, "-c", STATS, prof], env=env, cwd=place.folder).expect().text
    assert text.count(str(prof)) == 2
    missing = execute([python, "-c", STATS, "nosuch"], env=env, cwd=place.folder)
    assert missing.status == 1 and "FileNotFoundError" in missing.talk

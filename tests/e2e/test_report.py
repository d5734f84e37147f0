"""`cairn report`: the pinned keys, the filters, and a page that fits its terminal."""
import json
import os
import re
import unicodedata

import pytest

import harness
from harness import time_in

ROW_KEYS = {
    "name", "qualname", "file", "line", "first_line", "module", "kind", "self_s", "total_s",
    "self_share", "total_share", "self_low", "self_high", "samples", "bound",
}  # fmt: skip
ESCAPE = b"\x1b["


def rows_by_name(document):
    return {row["name"]: row for row in document["rows"]}


def columns(line):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(bool(unicodedata.combining(c)) for c in line)


def test_json_has_the_pinned_keys(cairn, busy_recording):
    file, truth = busy_recording
    document = cairn.report(file)
    assert {"schema", "recording", "quality", "rows"} <= set(document)
    assert isinstance(document["schema"], int)
    assert document["rows"]
    for row in document["rows"]:
        assert ROW_KEYS <= set(row), ROW_KEYS - set(row)
        assert 0 <= row["self_low"] <= row["self_share"] <= row["self_high"] <= 1
        assert row["self_share"] <= row["total_share"] + 1e-9 and row["total_share"] <= 1 + 1e-9
        assert row["self_s"] <= row["total_s"] + 1e-9
    rows = rows_by_name(document)
    for name, seconds in truth["spent_s"].items():
        row = rows[name]
        assert abs(row["self_s"] - seconds) < 0.1 + truth["blind_s"]
        assert row["qualname"] == name and row["kind"] == "python" and row["samples"] > 0
        assert row["file"].endswith("busy.py") and row["first_line"] <= row["line"]
        bound = 1 / (1 - row["self_share"])
        assert abs(row["bound"] - bound) < 0.02 * bound, "what remains if this cost nothing"
    order = [row["self_s"] for row in document["rows"]]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize("by", ["function", "line", "module", "thread", "process", "state"])
def test_by(cairn, busy_recording, by):
    file, truth = busy_recording
    rows = cairn.report(file, "--by", by, "--limit", "1000", "--idle")["rows"]
    total = sum(cairn.collapsed(file).values()) / 1e6
    assert abs(sum(row["self_s"] for row in rows) - total) < 0.01 * total, "nothing is dropped"
    if by == "line":
        lines = [row["line"] for row in rows if row["name"] == "heavy"]
        assert len(lines) == len(set(lines)) and lines
    if by in ("thread", "process"):
        assert len(rows) == 1
    if by == "state":
        states = {"running", "gil_wait", "runnable", "blocked", "stopped", "unknown"}
        assert {row["name"] for row in rows} <= states


def test_sort_and_limit(cairn, busy_recording):
    file, _ = busy_recording
    rows = cairn.report(file, "--sort", "total", "--limit", "3")["rows"]
    assert len(rows) == 3
    totals = [row["total_s"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    assert {row["name"] for row in rows} <= {"<module>", "main", "heavy"}


def test_focus_and_ignore_split_the_whole(cairn, busy_recording):
    file, truth = busy_recording
    everything = sum(cairn.collapsed(file).values())
    focused = cairn.collapsed(file, "--focus", "heavy")
    ignored = cairn.collapsed(file, "--ignore", "heavy")
    assert sum(focused.values()) + sum(ignored.values()) == pytest.approx(everything, abs=50)
    assert time_in(ignored, "heavy") == 0 and time_in(focused, "light") == 0
    assert abs(sum(focused.values()) / 1e6 - truth["spent_s"]["heavy"]) < 0.1 + truth["blind_s"]


def test_from_and_to_split_the_whole(cairn, busy_recording):
    file, _ = busy_recording
    everything = sum(cairn.collapsed(file).values())
    early = sum(cairn.collapsed(file, "--to", "700ms").values())
    late = sum(cairn.collapsed(file, "--from", "700ms").values())
    assert early > 400_000 and late > 400_000
    assert early + late == pytest.approx(everything, rel=0.005)


def test_callers_and_callees(cairn, busy_recording):
    file, _ = busy_recording
    text = cairn("report", "--of", "main", file).expect().text
    assert all(name in text for name in ("<module>", "light", "medium", "heavy"))
    document = cairn("report", "--json", "--of", "main", file).expect().json()
    assert {row["name"] for row in document["callers"]} == {"<module>"}
    assert {"light", "medium", "heavy"} <= {row["name"] for row in document["callees"]}


def test_thread_filter(cairn, python):
    file, ended = cairn.record(python, "states.py", 0.8)
    rows = rows_by_name(cairn.report(file, "--thread", "busy", "--limit", "1000"))
    assert "spin" in rows and "sleep_through" not in rows


def test_only_my_code_folds_the_library(cairn, python, folder):
    (folder / "mine.py").write_text(
        "import json, time\n"
        "def mine():\n"
        "    until = time.perf_counter() + 0.8\n"
        "    while time.perf_counter() < until:\n"
        "        json.dumps([{'a': [1, 2.5, 'x']}] * 50, indent=1)\n"
        "mine()\n"
    )
    ended = cairn("run", "-o", "x.cairn", "--python", python.executable, "mine.py").expect()
    cairn.need_sight(folder / "x.cairn", ended)
    plain = cairn.report(folder / "x.cairn", "--limit", "1000")["rows"]
    assert any("json" in row["file"] for row in plain)
    rows = cairn.report(folder / "x.cairn", "--only-my-code", "--limit", "1000")["rows"]
    assert not any("json/" in row["file"] for row in rows)
    assert rows_by_name({"rows": rows})["mine"]["self_s"] > 0.6


@pytest.mark.parametrize("option", [[], ["--by", "line"], ["--by", "thread"], ["--by", "state"]])
def test_text_fits_80_columns_and_has_no_escapes(cairn, busy_recording, option):
    file, _ = busy_recording
    ended = cairn("report", *option, file).expect()
    assert ESCAPE not in ended.out and "\t" not in ended.text
    too_long = [line for line in ended.text.splitlines() if columns(line) > 80]
    assert not too_long, too_long


def test_text_fits_when_names_are_long_or_wide(cairn, python, folder):
    name = "名" * 40 + "x" * 100
    (folder / "long.py").write_text(
        f"import time\ndef {name}():\n    t = time.time() + 0.6\n    while time.time() < t: pass\n"
        f"{name}()\n"
    )
    ended = cairn("run", "-o", "x.cairn", "--python", python.executable, "long.py").expect()
    cairn.need_sight("x.cairn", ended)
    assert "名名名" in ended.talk and "long.py:" in ended.talk
    for line in ended.talk.splitlines():
        assert columns(line) <= 80, line


def test_first_screen_says_where_the_time_went(cairn, busy_recording):
    file, _ = busy_recording
    lines = cairn("report", file).expect().text.splitlines()
    assert "heavy" in "\n".join(lines[:24]), "the answer is on the first screen"
    text = "\n".join(lines)
    for word in ("real", "user", "sys", "peak", "phase", "quality", "torn", "next", "cairn export"):
        assert word in text, word
    assert re.search(r"heavy\s+.*busy\.py:\d+", text)
    assert re.search(r"±|\+-", text), "each share has its error beside it"


def test_colour_only_where_it_is_wanted(cairn, busy_recording):
    file, _ = busy_recording
    assert ESCAPE in cairn("report", file, env={"FORCE_COLOR": "1"}).expect().out
    assert ESCAPE not in cairn("report", file, env={"NO_COLOR": "1"}).expect().out
    colourless = cairn("report", file).expect().out
    coloured = cairn("report", file, env={"FORCE_COLOR": "1"}).expect().out
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", coloured) == colourless


def on_a_terminal(cairn, args, **env):
    """What a command writes to a terminal of 100 columns."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    env = cairn.environment(TERM="xterm-256color", **env)
    process = harness.spawn([cairn.binary, *args], stdout=slave, stderr=slave, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    process.stdin.close()
    assert process.wait(harness.DEADLINE_S) == 0
    os.close(master)
    return seen


def test_a_terminal_gets_colour_unless_no_color(cairn, busy_recording):
    file, _ = busy_recording
    assert ESCAPE in on_a_terminal(cairn, ["report", file])
    assert ESCAPE not in on_a_terminal(cairn, ["report", file], NO_COLOR="1")
    lines = on_a_terminal(cairn, ["report", file], NO_COLOR="1").decode().splitlines()
    assert max(map(columns, lines)) <= 100


def test_newest_recording_is_the_default(cairn, python):
    made = []
    # The second for longer than a machine stands still: it must be seen.
    for script, seconds in (("deep.py", 0.3), ("busy.py", 1.5)):
        cairn("run", "--", *python.command(script, seconds)).expect()
        made += [file for file in (cairn.folder / ".cairn").glob("*.cairn") if file not in made]
    _, newest = made
    document = cairn("report", "--json").expect().json()
    assert document["rows"] == cairn.report(newest)["rows"]
    # site has a main() as well.
    assert [r for r in document["rows"] if r["name"] == "main" and r["file"].endswith("busy.py")]


def test_too_few_samples_are_not_ranked(cairn, python):
    """Thirty to fifty rank it: at 1 kHz a Python that takes twice as long to start has as many."""
    command = python.command("blink.py")
    ended = cairn("run", "-r", "250hz", "-o", "x.cairn", "--", *command).expect()
    assert ended.out == b"blink\n"
    report = cairn.report("x.cairn")
    if report["rankable"]:  # the host took its processor, and Cairn went on looking
        assert report["quality"]["samples"] > 20 and report["recording"]["wall_s"] > 0.08, report
        return
    assert "too few" in ended.talk and "-r" in ended.talk, "and what to do about it"
    assert "blink.py:" not in ended.talk, "no table of ±60 %"


def test_json_is_one_document_and_progress_is_elsewhere(cairn, busy_recording):
    file, _ = busy_recording
    ended = cairn("report", "--json", file).expect()
    assert ended.err == b""
    _, end = json.JSONDecoder().raw_decode(ended.text)
    assert ended.text[end:].strip() == ""


@pytest.mark.parametrize(
    "option",
    [
        ["--metric", "luck"], ["--by", "colour"], ["--sort", "luck"], ["--limit", "-1"],
        ["--limit", "many"], ["--from", "soon"], ["--focus", "("],
    ],
    ids=" ".join,
)  # fmt: skip
def test_bad_options(cairn, busy_recording, option):
    ended = cairn("report", *option, busy_recording[0]).expect(harness.USAGE)
    assert ended.out == b"" and option[1] in ended.talk


def test_environment_is_recorded(cairn, busy_recording, python):
    file, _ = busy_recording
    told = cairn.report(file)["recording"]["environment"]
    assert told["target.python"].startswith(".".join(map(str, python.version)))
    assert told["host.kernel"] == os.uname().release
    assert float(told["host.cores_usable"]) > 0 and int(told["host.memory_bytes"]) > 0
    assert told["target.python_linked"] in ("shared", "static")


def test_how_python_was_configured_is_recorded(cairn, interpreter):
    file, _ = cairn.record(interpreter, "busy.py", 0.3)
    told = cairn.report(file)["recording"]["environment"]
    code = "import sysconfig; print(sysconfig.get_config_var('CONFIG_ARGS') or '')"
    prefix = ["chroot", interpreter.chroot] if interpreter.chroot else []
    built = harness.execute([*prefix, interpreter.executable, "-c", code]).text.split()
    found = told.get("target.python_build", "").split()
    # Spelled with other blanks: the pieces are what counts. In a chroot the library may be missed.
    assert found == built or (interpreter.chroot and not found)


def test_only_harmless_environment_variables_are_recorded(cairn, python):
    env = {"MY_TOKEN": "hunter2", "OMP_NUM_THREADS": "3"}
    file, _ = cairn.record(python, "exits.py", 0, env=env)
    text = json.dumps(cairn.report(file))
    assert "hunter2" not in text and "MY_TOKEN" not in text
    assert b"hunter2" not in file.read_bytes()


def test_where_a_task_waits_is_short_and_whole(cairn, python, folder):
    """A library's path gives way to what says how often and where."""
    script = folder / "waits.py"
    library = folder / "a_very_long_folder" / "site-packages" / "somebodys_library"
    library.mkdir(parents=True)
    (library / "waiting.py").write_text("async def wait(f):\n    await f()\n")
    script.write_text(
        f"import asyncio, sys\nsys.path.insert(0, {str(library)!r})\nimport waiting\n"
        "def later():\n    loop = asyncio.get_running_loop()\n    future = loop.create_future()\n"
        "    loop.call_later(0.5, future.set_result, None)\n    return future\n"
        "asyncio.run(waiting.wait(later))\n"
    )
    file = folder / "waits.cairn"
    cairn("run", "--report=none", "-o", file, "--python", python.executable, script).expect()
    text = cairn("report", file).expect().text
    assert re.search(r"waits \d+ % at somebodys_library/waiting\.py:2\n", text), text


def test_who_is_outside_python_is_named(cairn, python, folder):
    """Those with most time first; of one name, how many."""
    source, library = harness.TARGETS / "spinners.c", folder / "spinners.so"
    harness.execute(["cc", "-shared", "-fPIC", "-O2", "-pthread", source, "-o", library]).expect(0)
    (folder / "calls.py").write_text(f"import ctypes\n"
                                     f"library = ctypes.CDLL({str(library)!r})\n"
                                     f"library.spin_both(ctypes.c_double(0.3))\n")  # fmt: skip
    ended = cairn("run", "-o", "a.cairn", python.executable, "calls.py").expect(0)
    told = ended.err.decode()
    words = " ".join(told.split())
    assert re.search(r"; \d+ % of it is \[not python\] \(spinner ×2\), \d+ % <module> \(calls.py:3\)\.", words), told
    assert told.count("spinner ×2") == 3, "in the verdict, and in either table: " + told
    assert "spinner ×2" in cairn("report", "--by", "line", "a.cairn").expect(0).text


def test_what_a_program_has_done_for_it_is_no_start_up(cairn, python, folder):
    shell = 'subprocess.run(["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])'
    (folder / "calls.py").write_text(f"import subprocess\n{shell}\n")
    cairn("run", "-o", "a.cairn", python.executable, "calls.py").expect(0)
    document = cairn.report("a.cairn")
    shell_s = rows_by_name(document)["[not python]"]["self_s"]
    assert shell_s > 0.1, "the shell works for the program"
    assert document["phases"]["startup_s"] < shell_s / 2
    assert re.search(r"\[not python\] +sh$", cairn("report", "a.cairn").expect(0).text, re.MULTILINE)

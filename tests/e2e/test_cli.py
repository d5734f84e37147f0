"""The command line itself: settings, help, completions, the manual, `python -m cairn`."""
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest

import harness
from harness import execute

COMMANDS = ["run", "trace", "lines", "count", "dis", "attach", "dump", "report", "html", "view", "query", "export", "diff",
            "import", "merge", "pstats", "gprof2dot", "pprof", "snakeviz", "cprofilev", "doctor",
            "help", "completions", "man"]

# `cairn NAME` that is `python -m cairn.NAME` as well.
TOOLS = ["trace", "lines", "count", "dis", "cprofile", "kernprof", "line_profiler", "imports", "pstats", "gprof2dot",
         "pprof", "snakeviz", "cprofilev"]


def interval_of(cairn, python, folder, *options, **env):
    """ms, as the recording tells it and its ticks are due: those of them that came late were missed."""
    out = folder / "x.cairn"
    command = python.command("busy.py", 0.6)
    cairn("run", "--force", "-o", out, *options, "--", *command, env=env).expect()
    report = cairn.report(out)
    interval_ms = float(report["recording"]["environment"]["sampler.interval_ns"]) / 1e6
    ticks, wall_s = report["quality"]["ticks"] + report["quality"]["missed"], report["recording"]["wall_s"]
    assert ticks == pytest.approx(wall_s * 1000 / interval_ms, rel=0.05, abs=10)
    return interval_ms


def test_flags_beat_environment_beats_project(cairn, python, folder):
    inside = folder / "inside"
    inside.mkdir()
    (folder / "pyproject.toml").write_text('[tool.cairn]\nrate = "50hz"\n')
    cairn.folder = inside  # the file is found from below
    assert interval_of(cairn, python, folder) == 20
    assert interval_of(cairn, python, folder, CAIRN_RATE="400hz") == 2.5
    assert interval_of(cairn, python, folder, "-r", "50hz", CAIRN_RATE="1khz") == 20


@pytest.mark.parametrize(
    "text, said",
    [
        ('rate = "fast"', ["pyproject.toml:2", "fast", "1hz"]),
        ('raet = "1khz"', ["pyproject.toml:2", "raet", "rate"]),
        ('metric = "gil_wait"', ["gil-wait"]),
        ('python = "./evil"', ["pyproject.toml:2", "python"]),
        ('report = "/etc/profile"', ["pyproject.toml:2", "report"]),
        ("rate", ["pyproject.toml:2"]),
    ],
)
def test_a_bad_setting_is_named_with_its_line(cairn, folder, text, said):
    (folder / "pyproject.toml").write_text(f"[tool.cairn]\n{text}\n")
    ended = cairn("run", "-c", "open('started', 'w')").expect(harness.USAGE)
    assert ended.out == b"" and not (folder / "started").exists()
    assert all(word in ended.talk for word in said), ended.talk
    cairn().expect(0)
    cairn("help", "run").expect(0)


def test_a_bad_variable_is_named(cairn, folder):
    ended = cairn("run", "-c", "0", env={"CAIRN_METRIC": "time"}).expect(harness.USAGE)
    assert "CAIRN_METRIC" in ended.talk and "wall cpu" in ended.talk


def test_a_project_of_others_is_no_concern(cairn, folder):
    (folder / "pyproject.toml").write_bytes(b"\xff\x00[tool.black]\nline-length = 100\n[[x]]\n")
    assert cairn("-c", "print(1)").expect().out == b"1\n"


def test_help_and_manual_name_the_same_options(cairn):
    for command in COMMANDS:
        whole = cairn("help", command).expect().text
        brief = cairn(command, "--help").expect().text
        page = cairn("man", command).expect().text.replace("\\-", "-")
        options = set(re.findall(r"(--[a-z-]+)(?: |$)", brief, re.MULTILINE))
        assert {"--help"} <= options
        for option in options:
            assert option in whole and option in page.replace("\\fB", ""), (command, option)


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_manual_is_good_roff(cairn, command):
    page = cairn("man", *command.split()).expect().out
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, timeout=30, check=True
    )
    assert shown.stderr == b"" and b"cairn" in shown.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_good_shell(cairn, folder, shell):
    script = cairn("completions", shell).expect().out
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (folder / "script").write_bytes(script)
    execute([shell, "-n", folder / "script"]).expect()


def test_bash_completes_words(cairn, folder):
    (folder / "script").write_bytes(cairn("completions", "bash").expect().out)
    for words, wanted in [
        (["cairn", "re"], "report"),
        (["cairn", "report", "--metric", "gil-"], "gil-wait"),
        (["cairn", "run", "--no"], "--no-children"),
        (["cairn", "export", "-f", "spee"], "speedscope"),
    ]:
        line = " ".join(words)
        code = f"source ./script; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _cairn; "
        code += 'echo "${COMPREPLY[@]}"'
        assert execute(["bash", "-c", code], cwd=folder).expect().text.split() == [wanted]


def test_installed_pages_are_those_of_the_commands():
    text = (harness.ROOT / "man" / "meson.build").read_text()
    assert re.findall(r"'([a-z0-9]+)'", text.split("foreach name : [")[1].split("]")[0]) == COMMANDS


def test_words_that_would_steer_a_terminal_are_shown(cairn):
    ended = cairn("run", "./no\x1b[31m\nsuch").expect(harness.NOT_FOUND)
    assert b"\x1b" not in ended.err and b"\\x1b" in ended.err


def test_python_dash_m_without_the_command_says_so(cairn, python, folder):
    package = folder / "python" / "cairn"
    shutil.copytree(harness.ROOT / "python" / "cairn", package)
    env = cairn.environment(PYTHONPATH=str(folder / "python"), PATH="/nosuch")
    ended = execute([python.executable, "-m", "cairn", "x.py"], cwd=folder, env=env)
    ended.expect(harness.NOT_FOUND)
    assert ended.out == b"" and "CAIRN_BIN" in ended.talk and "Traceback" not in ended.talk
    env["CAIRN_BIN"] = "/nosuch/cairn"
    ended = execute([python.executable, "-m", "cairn"], cwd=folder, env=env)
    assert "/nosuch/cairn" in ended.expect(harness.NOT_FOUND).talk


def test_python_dash_m_passes_everything_on(cairn, python, folder):
    env = cairn.environment(
        PYTHONPATH=str(harness.ROOT / "python"), CAIRN_BIN=str(cairn.binary)
    )

    def call(*words):
        return execute([python.executable, "-m", "cairn", *words], cwd=folder, env=env)

    code = "import sys; print(sys.executable, sys.argv); sys.exit(7)"
    for words in (["-c", code, "-o"], ["run", "-c", code, "-o"], ["-r", "2khz", "-c", code, "-o"]):
        ended = call(*words).expect(7)
        assert ended.text == f"{python.executable} ['-c', '-o']\n"
    assert call().expect(0).out == cairn().expect(0).out
    assert call("--help").expect(0).out == cairn("--help").expect(0).out
    assert call("report", "--json").expect(0).json()["schema"] >= 1
    assert "cairn report" in call("repotr").expect(harness.USAGE).talk


def test_exports_are_never_written_over_by_chance(cairn, busy_recording, folder):
    file, _ = busy_recording
    (folder / "out").write_text("precious")
    ended = cairn("export", "-f", "collapsed", "-o", "out", file)
    assert ended.status != 0 and (folder / "out").read_text() == "precious"
    cairn("export", "-f", "collapsed", "-o", "out", "--force", file).expect()
    assert (folder / "out").read_bytes() == cairn("export", "-f", "collapsed", file).expect().out


@pytest.mark.parametrize("named", [True, False])
def test_an_export_does_not_write_over_what_it_reads(cairn, busy_recording, folder, named):
    recording = folder / ".cairn" / "x.cairn"
    recording.parent.mkdir()
    whole = busy_recording[0].read_bytes()
    recording.write_bytes(whole)
    os.link(recording, folder / "out")  # the same file by another name
    words = ["export", "-f", "collapsed", "-o", "out", "--force", *([recording] if named else [])]
    ended = cairn(*words).expect(harness.CAIRN_FAILED)
    (line, _) = ended.talk.splitlines()
    assert "out is the recording" in line
    assert recording.read_bytes() == whole


def test_a_dash_is_stdout_for_an_export(cairn, busy_recording, folder):
    words = ["export", "-f", "collapsed", busy_recording[0]]
    assert cairn(*words, "-o", "-").expect().out == cairn(*words).expect().out
    assert not list(folder.iterdir())


PRINTING = [
    [], ["--version"], ["--help"], ["help"], ["help", "run"], ["report", "--help"], ["doctor"],
    ["doctor", "--json"], ["completions", "bash"], ["man"], ["man", "run"],
]  # fmt: skip


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_reader_that_goes_away_is_a_quiet_end(cairn, words):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open(write_end, "wb") as pipe:
        ended = cairn(*words, stdout=pipe)
    assert ended.expect(0).talk == ""


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_what_cannot_be_printed_is_said(cairn, words):
    with open("/dev/full", "wb") as full:
        ended = cairn(*words, stdout=full).expect(harness.CAIRN_FAILED)
    assert ended.talk == "cairn: cannot write stdout: No space left on device\n"


def test_no_folder_for_a_recording_is_not_a_program_that_is_not_found(cairn, python, folder):
    (folder / ".cairn").write_text("a file, so that it cannot be the folder")
    ended = cairn("run", "--", *python.command("exits.py", 0), env={"TMPDIR": "/nowhere"})
    assert "/nowhere" in ended.expect(harness.CAIRN_FAILED).talk and "-o FILE" in ended.talk
    assert ended.out == b"", "it was known before the program began"


def test_next_commands_take_a_name_that_looks_like_an_option(cairn, busy_recording, folder):
    (folder / "-x.cairn").write_bytes(busy_recording[0].read_bytes())
    told = cairn("report", "--", "-x.cairn").expect().text
    command = next(line for line in told.splitlines() if "flamegraph" in line).strip()
    words = shlex.split(command)
    assert words[0] == "cairn" and words[-1].endswith("-x.cairn")
    cairn(*words[1:]).expect()
    assert (folder / "flame.svg").read_text().startswith("<?xml")


def test_a_full_disk_is_one_sentence(cairn, busy_recording):
    file, _ = busy_recording
    for words in (["report"], ["report", "--json"], ["export", "-f", "collapsed"]):
        with open("/dev/full", "wb") as full:
            ended = cairn(*words, file, stdout=full)
        ended.expect(harness.CAIRN_FAILED)
        assert "No space left" in ended.talk


@pytest.mark.parametrize(
    "closed, wanted",
    [
        ("<&-", [False, True, True]),
        (">&-", [True, False, True]),
        ("2>&-", [True, True, False]),
        ("<&- >&- 2>&-", [False, False, False]),
    ],
)
def test_closed_descriptors_stay_closed_and_harm_nothing(cairn, python, folder, closed, wanted):
    code = (
        "import os, sys, json\n"
        "def is_open(fd):\n"
        "    try:\n"
        "        os.fstat(fd)\n"
        "    except OSError:\n"
        "        return False\n"
        "    return True\n"
        "seen = [is_open(fd) for fd in range(3)]\n"
        "for fd in 1, 2:\n"
        "    if seen[fd]: os.write(fd, b'noise')\n"
        "open('seen', 'w').write(json.dumps(seen))\n"
        "sum(range(10 ** 7))\n"
    )
    (folder / "x.py").write_text(code)
    words = f'"{cairn.binary}" run -o x.cairn --python "{python.executable}" x.py {closed}'
    execute(["sh", "-c", words], cwd=folder, env=cairn.environment()).expect()
    assert json.loads((folder / "seen").read_text()) == wanted
    quality = cairn.report(folder / "x.cairn")["quality"]
    assert quality["samples"] > 0 and quality["damaged_chunks"] == quality["jumped_bytes"] == 0


def test_a_closed_stdout_is_said(cairn, busy_recording, folder):
    file, _ = busy_recording
    words = f'"{cairn.binary}" report --json "{file}" >&-'
    ended = execute(["sh", "-c", words], cwd=folder, env=cairn.environment())
    assert "stdout" in ended.expect(harness.CAIRN_FAILED).talk


def test_newest_recording_is_read(cairn, python, folder):
    for status in (3, 4):
        cairn("run", "--", *python.command("exits.py", status)).expect(status)
    names = [path.name for path in (folder / ".cairn").glob("*.cairn")]
    assert len(names) == 2
    newest = max((folder / ".cairn").glob("*.cairn"), key=lambda p: p.stat().st_mtime_ns)
    told = cairn("report", "--json").expect().json()["recording"]["file"]
    assert told == os.path.join(".cairn", newest.name)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_is_a_module(cairn, python, folder, tool):
    env = cairn.environment(PYTHONPATH=str(harness.built_package()))
    ended = execute([python.executable, "-m", f"cairn.{tool}", "--help"], cwd=folder, env=env).expect()
    assert ended.talk == "" and ended.text.lower().startswith("usage: "), ended.text
    assert execute([python.executable, "-c", f"import cairn.{tool}"], cwd=folder, env=env).expect().out == b""


@pytest.mark.parametrize("tool", ["trace", "count", "lines"])
def test_tools_that_run_a_program_run_it_by_the_python_that_was_asked(cairn, python, folder, tool):
    env = cairn.environment(PYTHONPATH=str(harness.built_package()))
    (folder / "who.py").write_text("import sys\nprint(sys.executable, sys.argv)\n")
    words = ["--report", "none", "-o", "x.cairn", "who.py", "-o"]
    ended = execute([python.executable, "-m", f"cairn.{tool}", *words], cwd=folder, env=env).expect()
    assert ended.text == f"{python.executable} ['who.py', '-o']\n"
    ended = execute([python.executable, "-m", "cairn.dis", "nothing", "x.cairn"], cwd=folder, env=env)
    assert "nothing" in ended.talk and "No module" not in ended.talk

"""`cairn snakeviz` and `cairn cprofilev`: what the real tools print first, and a page behind the link."""
import contextlib
import http.client
import importlib.util
import json
import os
import pstats
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest

import harness
from harness import ROOT, execute

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/\?t=([0-9a-f]{32})")
SEEDS = [
    pytest.param(line.split(": ")[0], shlex.split(line)[3:], id=line.split(": ", 1)[1])
    for line in (ROOT / "tests" / "compat" / "seeds.txt").read_text().splitlines()
    if line.startswith(("snakeviz: ", "cprofilev: "))
]
NO_DESKTOP = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "SSH_CONNECTION": ""}


@pytest.fixture(scope="module")
def profile(python, tmp_path_factory):
    out = tmp_path_factory.mktemp("viewers") / "profile.out"
    execute([python.executable, "-m", "cProfile", "-o", out, ROOT / "examples" / "reader.py"]).expect()
    return out


@pytest.fixture(scope="module")
def place(profile):
    """The folder of the profiles that the lines of seeds.txt name."""
    command = [sys.executable, "-m", "cProfile", "-o", profile.parent / "nn.prof", ROOT / "examples" / "puzzle.py"]
    execute(command).expect()
    return profile.parent


@contextlib.contextmanager
def started(process):
    try:
        yield process
    except BaseException:
        harness.end_group(process)
        raise
    process.send_signal(signal.SIGINT)
    assert harness.finish(process).status == 0


def serving(cairn, *words, module=None, **env):
    if module is None:  # cProfileV says it on stderr
        return started(cairn.spawn(*words, env={**NO_DESKTOP, **env}, stderr=subprocess.STDOUT))
    env = {**cairn.environment(), **NO_DESKTOP, "PYTHONPATH": str(harness.cairn_binary().parent / "python")}
    return started(harness.spawn([sys.executable, "-m", module, *words], env=env, cwd=cairn.folder))


def page_of(process, lines=1):
    """Port, and what the page asks for, behind the link, which the last of so many lines holds."""
    said = [harness.read_line(process) for _ in range(lines)]
    port, token = LINK.search(said[-1]).groups()
    cookie = {"Cookie": f"cairn-{port}={token}"}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)) as asked:
        asked.request("GET", "/api/table", headers=cookie)
        answer = asked.getresponse()
        assert answer.status == 200
        return int(port), answer.read().decode()


def is_free(port):
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False


def masked(line):
    return re.sub(r"(http://[\w.]+:\d+)\S*", r"\1", line)


def first_lines(process):
    """What it says up to where its page is."""
    said = []
    while not said or "http://" not in said[-1]:
        said.append(masked(harness.read_line(process)))
    return said


@pytest.mark.parametrize("tool, words", SEEDS)
def test_a_line_of_notes_says_the_same_first(cairn, place, tool, words):
    if not importlib.util.find_spec(tool):
        pytest.skip(f"{tool} is not installed: tests/requirements.txt")
    named = {"-p", "--port"} & set(words)
    port = int(words[words.index(named.pop()) + 1]) if named else {"snakeviz": 8080, "cprofilev": 4000}[tool]
    if not is_free(port):
        pytest.skip(f"somebody listens on port {port} of this machine")
    real = harness.spawn([sys.executable, "-u", "-m", tool, *words], cwd=place, stderr=subprocess.STDOUT)
    try:
        wanted = first_lines(real)
    finally:
        harness.end_group(real)
        harness.finish(real)
    with serving(harness.Cairn(place), tool, *words) as process:
        assert first_lines(process) == wanted


@pytest.mark.parametrize("module", [None, "cairn.snakeviz"])
def test_snakeviz_has_a_page(cairn, profile, module):
    words = ["-s", "-H", "127.0.0.1", "-p", "0", profile]
    words = words if module else ["snakeviz", *words]
    with serving(cairn, *words, module=module) as process:
        assert "sync_with_cpp" in page_of(process, lines=2)[1]


def test_snakeviz_takes_the_next_port_that_is_free(cairn, profile):
    with serving(cairn, "snakeviz", "-s", profile) as first:
        port, _ = page_of(first, lines=2)
        with serving(cairn, "snakeviz", "-s", profile) as second:
            assert 8080 <= port < page_of(second, lines=2)[0] < 8090


def test_snakeviz_opens_the_browser_that_is_named(cairn, profile, folder):
    browser, told = folder / "browser", folder / "told"
    os.mkfifo(told)
    browser.write_text(f"#!/bin/sh\necho \"$1\" > {told}\n")
    browser.chmod(0o755)
    words = ["snakeviz", "-p", "0", "-b", browser, profile]
    with serving(cairn, *words, DISPLAY=":0") as process:
        port, _ = page_of(process, lines=2)
        assert told.read_text().startswith(f"http://127.0.0.1:{port}/")


def test_cprofilev_has_its_own_port_and_no_other(cairn, profile):
    if not is_free(4000):
        pytest.skip("somebody listens on port 4000 of this machine")
    with serving(cairn, "cprofilev", "-f", profile) as process:
        port, page = page_of(process)
        assert port == 4000 and "sync_with_cpp" in page
        assert "4000" in cairn("cprofilev", "-f", profile).expect(harness.CAIRN_FAILED).talk


@pytest.mark.parametrize("tool", ["snakeviz", "cprofilev"])
def test_the_table_is_that_of_pstats(cairn, profile, tool):
    """ncalls tottime cumtime of each function and of its callers: what the real tools show, by pstats."""
    words = ["-s", "-p", "0"] if tool == "snakeviz" else ["-p", "0", "-f"]
    with serving(cairn, tool, *words, profile) as process:
        _, page = page_of(process, lines=2 if tool == "snakeviz" else 1)
    shown = {}
    for row in json.loads(page)["rows"]:
        edges = {(each["file"], each["first_line"], each["name"]): (each["calls"], each["primitive_calls"])
                 for each in row["callers"]}
        key = (row["file"], row["first_line"], row["name"])
        shown[key] = row["primitive_calls"], row["calls"], row["self_s"], row["total_s"], edges
    stats = pstats.Stats(str(profile)).stats
    assert shown == {
        key: (cc, nc, pytest.approx(tt, abs=1e-9), pytest.approx(ct, abs=1e-9),
              {caller: numbers[:2] for caller, numbers in callers.items()})
        for key, (cc, nc, tt, ct, callers) in stats.items()}


def test_cprofilev_runs_a_script_first(cairn, python, folder):
    (folder / "script.py").write_text("import sys\ndef shout(text):\n    print(text)\nshout(sys.argv[1])\n")
    with serving(cairn, "cprofilev", "-p", "0", "script.py", "-p", CAIRN_PYTHON=str(python.executable)) as process:
        assert harness.read_line(process) == "-p"
        page = page_of(process)[1]
        assert "shout" in page and json.loads(page)["recording"]["file"].endswith("/script.py")


@pytest.mark.parametrize("script", [None, "1 +\n"])
def test_cprofilev_shows_no_page_of_a_script_that_did_not_begin(cairn, python, folder, script):
    if script:
        (folder / "script.py").write_text(script)
    ended = cairn("cprofilev", "-p", "0", "script.py", env={"CAIRN_PYTHON": str(python.executable)}).expect(1)
    assert ("SyntaxError" if script else "script.py") in ended.talk
    assert "/tmp/cairn-" not in ended.talk and "empty" not in ended.talk and "http" not in ended.talk


@pytest.mark.parametrize("word", ["..", ".", "../", "x/", "x", "app", "/", "link"])
def test_cprofilev_runs_no_folder(cairn, folder, word):
    """One error that names what was asked for, not what is made for it, whatever a name ends in."""
    (folder / "x").mkdir()
    (folder / "app").mkdir()
    (folder / "app" / "__main__.py").write_text("print(1)\n")
    (folder / "link").symlink_to("x")
    ended = cairn("cprofilev", "-p", "0", word).expect(harness.USAGE)
    what, why, todo = ended.talk.splitlines()
    assert what == f"cairn: {word} is a folder" and "a file" in why and ".py" in todo
    assert ended.out == b"" and ("app/__main__.py" in todo) == (word == "app")


@pytest.mark.parametrize("word", ["gone/", "script.py/"])
def test_cprofilev_of_no_folder_names_none_of_its_own(cairn, python, folder, word):
    (folder / "script.py").write_text("print(1)\n")
    ended = cairn("cprofilev", "-p", "0", word, env={"CAIRN_PYTHON": str(python.executable)}).expect(1)
    assert word in ended.talk and "/tmp/cairn-" not in ended.talk and "http" not in ended.talk


@pytest.mark.parametrize("words", [["cprofilev"], ["snakeviz"], ["snakeviz", "a", "b"]])
def test_without_a_file_it_says_so(cairn, words):
    assert cairn(*words).expect(harness.USAGE).talk


@pytest.mark.parametrize("word", ["-v", "--version"])
def test_snakeviz_tells_its_version_as_the_real_one(cairn, word):
    pytest.importorskip("snakeviz", reason="snakeviz is not installed: tests/requirements.txt")
    real = subprocess.run([sys.executable, "-m", "snakeviz", word], capture_output=True, text=True, check=True)
    told = cairn("snakeviz", word).expect().text
    version = cairn("--version").expect().text.removeprefix("cairn ")
    assert told == f"snakeviz {version}"
    assert real.stdout.split()[0] == "snakeviz" and len(real.stdout.split()) == 2

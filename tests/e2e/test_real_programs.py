"""Programs that nobody here wrote do under counting what they do without: the tests of packages, and
a web server under load."""
import importlib.util
import re
import shutil
import threading
import urllib.request
from pathlib import Path

import pytest

import harness
from harness import execute

SUITES = {"pyflakes": "test", "simplejson": "tests"}
SERVER = """
import sys
from flask import Flask, request
from werkzeug.serving import make_server
app = Flask("served")
def double(number):
    return 2 * number
@app.get("/<int:number>")
def answer(number):
    return f"{double(number)} of {request.path}"
server = make_server("127.0.0.1", 0, app, threaded=True)
import logging, threading
logging.getLogger("werkzeug").setLevel(logging.ERROR)
serving = threading.Thread(target=server.serve_forever)
serving.start()
print(server.server_port, flush=True)
sys.stdin.read()
server.shutdown()
serving.join()
"""
CLIENTS, REQUESTS = 8, 25


def place_of(package):
    found = importlib.util.find_spec(package)
    if found is None:
        pytest.skip(f"{package} is not installed: tests/requirements.txt")
    return Path(found.origin).parent


def outside(interpreter):
    if interpreter.chroot:
        pytest.skip("what pip installs is not in an interpreter that was unpacked for tests")
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")


def told_by(ended):
    """How many tests were run, what came of them in all, and which failed."""
    text = ended.err.decode()
    ran, result = re.search(r"Ran (\d+) tests in .*\n+(.*)", text).groups()
    return ran, result, set(re.findall(r"^(?:FAIL|ERROR): (\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("package", SUITES)
def test_the_tests_of_a_package_pass_as_they_do_without(cairn, interpreter, folder, package):
    outside(interpreter)
    place = place_of(package)
    shutil.copytree(place, folder / "site" / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    command = folder / "site" / "bin" / package  # which tests of pyflakes run
    command.parent.mkdir()
    command.write_text("from pyflakes.api import main\nmain()\n")
    tests = [interpreter.executable, "-m", "unittest", "discover", "-t", folder / "site",
             "-s", folder / "site" / package / SUITES[package]]  # fmt: skip
    env = {"PYTHONPATH": str(folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    plain = execute(tests, cwd=folder, env=cairn.environment(**env))
    counted = cairn("run", "--exact", "--report", "none", "-o", "x.cairn", "--", *tests, env=env)
    wanted, said = (told_by(ended) for ended in (plain, counted))
    assert counted.status == plain.status and said == wanted
    # What a package says of Pythons newer than itself may be wrong without Cairn as well.
    assert int(wanted[0]) > 100 and wanted[2] in (set(), {"test_errors_syntax"}), wanted
    quality = cairn.report(folder / "x.cairn")["quality"]
    assert quality["events"] > 100_000 and quality["events_lost"] == 0 and not quality["cut_short"]


def ask(port, first, wrong):
    for number in range(first, first + REQUESTS):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{number}", timeout=60) as answer:
            text = answer.read().decode()
        if text != f"{2 * number} of /{number}":
            wrong.append(text)


@pytest.mark.parametrize("mode", ["--exact", "--lines", "--timeline"])
def test_a_web_server_under_load_counts_each_request(cairn, interpreter, folder, mode):
    outside(interpreter)
    if interpreter.version < (3, 10):
        pytest.skip("Flask of these tests, and what it needs, is for Python 3.10 and later")
    if mode != "--exact" and interpreter.version[1] not in (11, 13):
        pytest.skip("one that has sys.monitoring, and one that has not, are enough")
    site = place_of("flask").parent
    (folder / "served.py").write_text(SERVER)
    process = cairn.spawn("run", mode, "--report", "none", "-o", "x.cairn", "--", interpreter.executable,
                          "served.py", env={"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip
    try:
        port, wrong = int(harness.read_line(process)), []
        clients = [threading.Thread(target=ask, args=(port, REQUESTS * i, wrong)) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    except BaseException:
        harness.end_group(process)
        raise
    harness.finish(process, b"").expect()
    assert not wrong
    report = cairn.report(folder / "x.cairn")
    assert report["quality"]["events_lost"] == 0
    if mode == "--lines":
        answered = SERVER.splitlines().index('    return f"{double(number)} of {request.path}"') + 1
        hits = {line["line"]: line["hits"] for line in report["lines"] if line["file"].endswith("served.py")}
        assert hits[answered] == CLIENTS * REQUESTS
        return
    calls = {row["name"]: row["calls"] for row in report["rows"] if row["file"].endswith("served.py")}
    assert calls["answer"] == calls["double"] == CLIENTS * REQUESTS
    if mode == "--timeline":
        drawn = cairn("export", "-f", "chrome", folder / "x.cairn").expect().json()["traceEvents"]
        begun = [event for event in drawn if event["ph"] in "BX" and event["name"].partition(" ")[0] == "answer"]
        assert len(begun) == CLIENTS * REQUESTS
        assert len({event["tid"] for event in begun}) > 1  # a thread for each request, or as many as there are

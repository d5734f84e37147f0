"""uWSGI: CPython inside another program, workers made by fork in C, each with threads made by C."""
import os
import signal
import subprocess
import threading
import urllib.request

import pytest

import harness
from harness import time_in

pytestmark = pytest.mark.alone

PACKAGE = "uwsgi==2.0.31"
REQUESTS, CLIENTS, ANSWER_S = 40, 4, 0.1  # of targets/web_app.py


@pytest.fixture(scope="module")
def uwsgi(python, tmp_path_factory):
    if not os.environ.get("CAIRN_FULL"):
        pytest.skip("it takes a minute to build: `make test-full`")
    place = tmp_path_factory.mktemp("uwsgi")
    subprocess.run([python.executable, "-m", "venv", place], check=True, timeout=60)
    told = subprocess.run(
        [place / "bin" / "pip", "install", "--quiet", PACKAGE],
        capture_output=True, text=True, timeout=400,
    )
    assert told.returncode == 0, told.stderr
    return place / "bin" / "uwsgi"


def wait_for_workers(process, count):
    """Returns when the log has said so often that there is a worker."""
    while count:
        count -= "spawned uWSGI worker" in harness.read_line(process)


def ask(port, pids):
    for _ in range(REQUESTS // CLIENTS):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            pids.append(int(answer.read()))


@pytest.mark.timeout(600)
def test_every_worker_and_thread_is_seen(cairn, folder, uwsgi):
    port, file = harness.free_port(), folder / "web.cairn"
    server = [uwsgi, "--http-socket", f"127.0.0.1:{port}", "--master", "--processes", "2",
              "--threads", "2", "--die-on-term", "--need-app",
              "--wsgi-file", harness.TARGETS / "web_app.py"]
    options = ["-o", file, "--report", folder / "report"]
    run = cairn.spawn("run", *options, "--", *server, stderr=subprocess.STDOUT)
    pids = []
    try:
        wait_for_workers(run, 2)
        clients = [threading.Thread(target=ask, args=(port, pids)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        os.kill(harness.only_child(run.pid), signal.SIGTERM)
    except BaseException:
        harness.end_group(run)
        raise
    ended = harness.finish(run)
    assert ended.status == 0
    assert len(pids) == REQUESTS
    blind_s = cairn.blind_s(file, ended)
    stacks = cairn.collapsed(file, "--processes")
    for pid in set(pids):
        own = {s: v for s, v in stacks.items() if s[0].name == f"process:{pid}"}
        # Two threads that are busy for so long take longer when they share a GIL, never less.
        assert time_in(own, "answer") / 1e6 > 0.95 * ANSWER_S * pids.count(pid) - 2 * blind_s
        assert all(s[1].name == "application" for s in own if s[-1].name == "answer")
    assert cairn.report(file)["quality"]["torn_share"] < 0.01

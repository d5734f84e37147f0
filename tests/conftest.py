"""Fixtures of the Python tests; see harness.py for what they hand out."""
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

import harness

INTERPRETERS = harness.supported_interpreters()


def pytest_configure(config):
    # Whom a shell puts into the background, or nohup starts, passes that on to all it starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    binary = harness.cairn_binary()
    if not os.access(binary, os.X_OK):
        pytest.exit(f"{binary} is not there: run `make build`, or name it in $CAIRN", returncode=3)
    if not INTERPRETERS:
        pytest.exit("no CPython 3.8-3.15 was found to profile", returncode=3)


def pytest_report_header(config):
    return [f"cairn: {harness.cairn_binary()}", f"interpreters: {[i.label for i in INTERPRETERS]}"]


@pytest.fixture(scope="session", params=INTERPRETERS, ids=lambda i: i.label)
def interpreter(request):
    """Every supported CPython in turn."""
    if request.param.chroot and os.geteuid() != 0:
        pytest.skip("an unpacked interpreter needs root for chroot")
    request.param.prepare()
    return request.param


def to_equip():
    """The CPython that runs the tests and the newest beside it; with FULL each."""
    newest = max(INTERPRETERS, key=lambda i: (not i.chroot, i.version), default=harness.OWN)
    return [harness.OWN, *(INTERPRETERS if harness.FULL else [newest])]


@pytest.fixture(scope="session", params=to_equip(), ids=lambda i: i.label)
def equipped(request):
    """A CPython, and the environment in which it finds what some programs import: greenlet, gevent,
    joblib, gunicorn."""
    if request.param.chroot and os.geteuid() != 0:
        pytest.skip("an unpacked interpreter needs root for chroot")
    request.param.prepare()
    return request.param, harness.equip(request.param)


def installed(version=None):
    found = [i for i in INTERPRETERS if not i.chroot and version in (None, i.version[:2])]
    # One that knows as much as it can of its functions comes first.
    found.sort(key=lambda i: not i.has_qualnames)
    return found[0] if found else None


@pytest.fixture(scope="session")
def python():
    """One supported CPython that runs here without chroot: for what does not depend on which."""
    if installed() is None:
        pytest.skip("no supported CPython is installed outside a chroot")
    return installed()


@pytest.fixture
def folder():
    """An empty folder that other users may enter too; short, so that no line is cut for it."""
    path = Path(tempfile.mkdtemp(prefix="cairn-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def cairn(folder):
    return harness.Cairn(folder)


@pytest.fixture
def worker():
    """Starts tests/targets/worker.py; what was started is ended with the test."""
    started = []

    def start(interpreter, prefix=(), **options):
        process = harness.spawn([*prefix, *interpreter.command("worker.py")], **options)
        started.append(process)
        return harness.Worker(process)

    yield start
    for process in started:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.fixture
def free_pid():
    """A pid that nobody has: of a process that is over and waited for."""
    process = harness.spawn(["true"])
    harness.finish(process)
    return process.pid


@pytest.fixture(scope="session")
def busy_recording(python, tmp_path_factory):
    """One recording of busy.py, for what is only read, never written; what it told, and `blind_s`."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("busy"))
    file, ended = cairn.record(python, "busy.py", 1.5)
    cairn.need_sight(file, ended)
    return file, {**ended.last_json(), "blind_s": cairn.blind_s(file, ended)}


@pytest.fixture(scope="module")
def counts_place(interpreter):
    """The environment in which a program finds what counts, and leaves its counts."""
    if not interpreter.has_engine():
        pytest.skip(f"no module was built for {interpreter.label}: its headers are not there")
    if not interpreter.chroot:
        yield {}
        return
    with harness.shared_with(interpreter.chroot) as folder:
        yield {"TMPDIR": str(folder)}

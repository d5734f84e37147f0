"""Counting that is switched on and off: by a signal, and by the program."""
import signal
from pathlib import Path

import pytest

import harness

BY_SIGNAL = """
import os, signal, threading
def f():
    return 1
def run(n):
    for _ in range(n):
        f()
def flip():
    os.kill(os.getpid(), signal.{signal})
run(3)
flip(); run(5)
threads = [threading.Thread(target=run, args=(11,)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
flip(); run(7)
pid = os.fork()
if pid == 0:
    flip(); run(2); flip(); run(4)
    os._exit(0)
os.waitpid(pid, 0)
"""
BY_PROGRAM = """
import cairn
def f():
    return 1
def run(n):
    for _ in range(n):
        f()
run(3)
told = [cairn.stop()]
run(5)
told.append(cairn.start())
run(7)
print(*told)
"""


@pytest.fixture
def placed(cairn, interpreter, counts_place):
    """Runs a program under `cairn run` in a folder that the interpreter sees."""
    folder = Path(counts_place.get("TMPDIR", cairn.folder))
    chroot = ["chroot", interpreter.chroot] if interpreter.chroot else []

    def run(text, *options, **more):
        script = folder / "program.py"
        script.write_text(text)
        return cairn("run", *options, "--report", "none", "-o", "x.cairn", "--", *chroot,
                     interpreter.executable, script, env={**counts_place, **more})  # fmt: skip

    return run


def calls_of(report, name):
    return sum(row["calls"] or 0 for row in report["rows"] if row["name"] == name)


@pytest.mark.parametrize("name, what", [
    ("SIGUSR2", ["--exact", "--lines", "--opcodes"]), ("SIGUSR1", ["--exact", "--opcodes"]),
    ("SIGURG", ["--lines"]), ("SIGWINCH", ["--opcodes"])])
def test_between_two_signals(cairn, placed, name, what):
    placed(BY_SIGNAL.format(signal=name), *what, "--toggle-signal", name[3:]).expect()
    report = cairn.report(cairn.folder / "x.cairn")
    counted = 5 + 2 * 11 + 2
    if "--exact" in what:
        assert calls_of(report, "f") == counted
    if "--lines" in what:
        assert {row["hits"] for row in report["lines"] if row["function"] == "f"} == {counted}
    if "--opcodes" in what:
        told = cairn("dis", "--json", "f", "x.cairn").expect().json()["instructions"]
        assert {row["count"] for row in told} == {counted}


WAITS = """
import signal, threading, time
def f():
    return 1
go = threading.Event()
def work():
    while not go.is_set():
        time.sleep(0.001)
    for _ in range(9):
        f()
def switch():
    time.sleep(0.1)
    # The second of two for the process goes to another thread, and wakes nobody who waits.
    main = threading.main_thread().ident
    signal.pthread_kill(main, signal.SIGUSR2)
    signal.pthread_kill(main, signal.SIGALRM)
# Of two signals that wait for the main thread the lower number is handled first.
assert signal.SIGUSR2 < signal.SIGALRM
signal.signal(signal.SIGALRM, lambda *_: go.set())
thread = threading.Thread(target=work)
thread.start()
threading.Thread(target=switch).start()
thread.join()
"""


def test_a_main_thread_that_waits(cairn, placed):
    """The signal counts also where the main thread waits for others, in frames that run already."""
    placed(WAITS, "--exact", "--lines", "--toggle-signal", "USR2").expect()
    report = cairn.report(cairn.folder / "x.cairn")
    assert calls_of(report, "f") == 9
    lines = {row["line"]: row["hits"] for row in report["lines"] if row["function"] == "work"}
    assert lines[10] == 9, lines


def test_the_program_says_so(cairn, interpreter, placed):
    package = str(interpreter.package())
    ended = placed(BY_PROGRAM, "--exact", "--lines", PYTHONPATH=package).expect()
    assert ended.text == "True True\n"
    report = cairn.report(cairn.folder / "x.cairn")
    assert calls_of(report, "f") == 10
    assert {row["hits"] for row in report["lines"] if row["function"] == "f"} == {10}


def test_without_a_recording_nothing_happens(interpreter, folder):
    if not interpreter.has_engine() or interpreter.chroot:
        pytest.skip(f"no module was built for {interpreter.label}, or it is in a root of its own")
    (folder / "program.py").write_text(BY_PROGRAM)
    environment = harness.Cairn(folder).environment(PYTHONPATH=str(interpreter.package()))
    ended = harness.execute([interpreter.executable, folder / "program.py"], env=environment)
    assert ended.expect().text == "False False\n"


def test_which_signal(cairn):
    assert "nothing to switch" in cairn("run", "--toggle-signal", "USR2", "program.py").talk
    for word in ("KILL", "9", "19", "0", "65", "USR3", "", "SIG", "11", "32"):
        ended = cairn("run", "--exact", "--toggle-signal", word, "program.py")
        assert ended.status == harness.USAGE and "--toggle-signal" in ended.talk, word
    assert signal.SIGUSR2.value == 12

"""cairn.profile(): a program has itself sampled, and is none the worse when that cannot be."""
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

import harness
from harness import execute, finish, read_line, time_in

PACKAGE = harness.ROOT / "python"
REFUSE = [sys.executable, harness.TARGETS / "refuse.py"]
EVERY = [i for i in harness.installed_interpreters() if i.version[:2] >= (3, 8)]


def move_in(cairn, folder):
    """Puts the command, the libraries it needs and the package into a folder that may be the root of
    another system; what to set there."""
    (folder / "lib").mkdir(parents=True)
    shutil.copy(cairn.binary, folder / "real")
    shutil.copytree(PACKAGE, folder / "python")
    for library in re.findall(r"(/\S+) \(0x", execute(["ldd", cairn.binary]).text):
        shutil.copy(library, folder / "lib")
    (loader,) = (folder / "lib").glob("ld-linux*")
    script = f'#!/bin/sh\nexec "$0.d/{loader.name}" --library-path "$0.d" "${{0%/*}}/real" "$@"\n'
    (folder / "lib").rename(folder / "cairn.d")
    (folder / "cairn").write_text(script)
    (folder / "cairn").chmod(0o755)


@pytest.fixture
def program(cairn, folder):
    """Runs self_profile.py by an interpreter, in the test's folder. An unpacked one sees that folder
    as /mnt of its own system, with a /proc that is gone with the program."""

    def run(interpreter, way, prefix=(), **env):
        env = cairn.environment(**{"PYTHONPATH": PACKAGE, "CAIRN_BIN": cairn.binary, **env})
        command = interpreter.command("self_profile.py", way)
        if interpreter.chroot:
            move_in(cairn, folder / "cairn-here")
            env.update(PYTHONPATH="/mnt/cairn-here/python", CAIRN_BIN="/mnt/cairn-here/cairn")
            inside = f'cd /mnt && exec "{interpreter.executable}" "$0" "$1"'
            mounts = 'mount -t proc proc "$0/proc" && mount --bind "$1" "$0/mnt" && shift && exec "$@"'
            shutil.copy(harness.TARGETS / "self_profile.py", folder / "cairn-here")
            root = interpreter.chroot
            command = ["unshare", "--mount", "sh", "-c", mounts, root, folder,
                       "chroot", root, "sh", "-c", inside, "/mnt/cairn-here/self_profile.py", way]  # fmt: skip
        env = {name: str(value) for name, value in env.items()}
        return execute([*prefix, *command], cwd=folder, env=env)

    return run


def recordings(folder):
    return sorted(folder.rglob("*.cairn"))


def files_of(folder):
    return [p for p in recordings(folder) if p.is_file()]


def check(cairn, folder, ended, seconds=0.5, threads=1):
    """The one recording holds work(), whole, and nothing of outside()."""
    (file,) = files_of(folder)
    stacks = cairn.collapsed(file)
    near_s = (0.2 + cairn.blind_s(file, ended)) * threads
    assert abs(time_in(stacks, "work") / 1e6 - seconds * threads) < near_s
    assert time_in(stacks, "outside") == 0
    return file


@pytest.mark.parametrize("way", ["block", "decorator", "async", "generator"])
def test_what_is_inside_is_recorded(cairn, folder, program, interpreter, way):
    ended = program(interpreter, way).expect()
    file = check(cairn, folder, ended)
    told = ended.last_json()
    seen = f"/mnt/{file.relative_to(folder)}" if interpreter.chroot else str(file)
    assert told.get("path", seen) == seen
    assert ended.talk == f"cairn: the profile is in {seen}\n"


def test_a_name_and_a_rate(cairn, folder, program, python):
    ended = program(python, "named").expect()
    file = check(cairn, folder, ended)
    environment = cairn.report(file)["recording"]["environment"]
    assert environment["sampler.interval_ns"] == "500000", "2 kHz"
    assert ended.talk.count("named.cairn: File exists") == 1, "said once, for both calls"


def test_a_failure_is_the_programs_own(cairn, folder, program, interpreter):
    ended = program(interpreter, "fails").expect(1)
    check(cairn, folder, ended)
    trace = ended.talk
    assert "KeyError: 'its own'" in trace
    assert trace.count("cairn/_profile.py") == 1, "the wrapper alone: no way around it"


def test_blocks_inside_are_told_once(cairn, folder, program, python):
    ended = program(python, "nested").expect()
    check(cairn, folder, ended, 0.71)
    assert ended.talk.count("runs already") == 1 and len(ended.talk.splitlines()) == 2


def test_threads_are_in_one_recording(cairn, folder, program, python):
    ended = program(python, "threads").expect()
    check(cairn, folder, ended, 0.5, threads=2)
    assert ended.talk.count("runs already") == 1


def run_code(cairn, folder, interpreter, code):
    env = cairn.environment(PYTHONPATH=str(PACKAGE), CAIRN_BIN=str(cairn.binary))
    return execute([interpreter.executable, "-c", code], cwd=folder, env=env)


OVERLAP = """
import cairn, threading
both, over = threading.Barrier(2), threading.Event()
def other():
    both.wait()
    with cairn.profile():
        both.wait()
        over.wait()
thread = threading.Thread(target=other)
thread.start()
with cairn.profile():
    both.wait()
    both.wait()
over.set()
thread.join()
"""


def test_a_block_that_outlasts_the_recording_is_told_of(cairn, folder, python):
    """The one that it began in is over before it, and the recording with that."""
    ended = run_code(cairn, folder, python, OVERLAP).expect()
    said = ended.talk.splitlines()
    assert len(said) == 3 and len(files_of(folder)) == 1
    assert said[2] == "cairn: blocks that began in it and go on are sampled no more: 1"


CLOSES = """
import cairn, os, time
with cairn.profile() as profile:
    time.sleep(0.1)
    os.closerange(3, 256)
    taken = [os.open("/dev/null", os.O_RDONLY) for i in range(20)]
[os.fstat(fd) for fd in taken]
with cairn.profile() as again:
    time.sleep(0.05)
assert again.path and again.path != profile.path
print(profile.path)
"""


@pytest.mark.parametrize("every", EVERY, ids=lambda i: i.label)
def test_a_program_that_closes_what_it_does_not_know(cairn, folder, every):
    """As daemons do: it goes on, and neither its descriptors nor the recording are lost."""
    ended = run_code(cairn, folder, every, CLOSES).expect()
    assert "up to where the program closed its descriptors" in ended.talk.splitlines()[0]
    assert cairn.report(ended.text.strip())["quality"]["ended"]


METHODS = """
import cairn
class Some:
    @cairn.profile
    @staticmethod
    def plain(x):
        return x
    @cairn.profile(rate="1khz")
    @classmethod
    def of_class(cls, x):
        return cls, x
assert Some().plain(3) == Some.plain(3) == 3 and Some().of_class(4) == (Some, 4)
"""


@pytest.mark.parametrize("every", EVERY, ids=lambda i: i.label)
def test_methods_without_an_instance(cairn, folder, every):
    run_code(cairn, folder, every, METHODS).expect()
    assert len(files_of(folder)) == 3


def test_a_first_start_that_fails_leaves_no_block_behind(cairn, folder, python):
    """Whoever entered the same object meanwhile has left it as well, and the next block is its own."""
    code = """
import cairn, threading
from cairn import _profile
profile, at, go = cairn.profile(), threading.Event(), threading.Event()
begin = profile._begin
def held():
    at.set()
    go.wait()
profile._begin = held
first = threading.Thread(target=profile.__enter__)
first.start()
at.wait()
profile.__enter__()
go.set()
first.join()
profile.__exit__(None, None, None)
profile.__exit__(None, None, None)
profile._begin = begin
with profile:
    pass
assert profile.path and _profile._running is None
"""
    run_code(cairn, folder, python, code).expect()


def test_a_forked_child_is_its_own_master(cairn, folder, program, python):
    ended = program(python, "fork").expect()
    path = Path(ended.last_json()["path"])
    assert len(files_of(folder)) == 2 and path.exists()
    stacks = cairn.collapsed(path)
    near_s = 0.3 + cairn.blind_s(path, ended)
    assert abs(time_in(stacks, "work") / 1e6 - 0.7) < near_s, "the child is sampled as well"


def test_a_program_that_waits_for_any_child(cairn, folder, program, python):
    ended = program(python, "reaps").expect()
    check(cairn, folder, ended)
    assert ended.talk.startswith("cairn: the profile is in")


def test_nothing_of_the_program_is_handed_on(cairn, folder, program, interpreter):
    ended = program(interpreter, "signals").expect()
    told = ended.last_json()
    assert told["handed_on"] == [] and told["same_group"] is False
    check(cairn, folder, ended)


@pytest.mark.parametrize("every", EVERY, ids=lambda i: i.label)
def test_without_the_command_the_program_goes_on(folder, program, every):
    ended = program(every, "block", CAIRN_BIN="/nosuch/cairn").expect()
    assert ended.last_json() == {"path": None}
    assert ended.talk.startswith("cairn: no profile: ") and len(ended.talk.splitlines()) == 1
    assert "/nosuch/cairn" in ended.talk and not recordings(folder)


def test_without_permission_the_program_goes_on(folder, program, python):
    ended = program(python, "block", [*REFUSE, "process_vm_readv"]).expect()
    assert ended.last_json() == {"path": None} and "seccomp" in ended.talk
    assert ended.talk.startswith("cairn: no profile: ") and len(ended.talk.splitlines()) <= 3
    assert not files_of(folder)


def test_a_command_that_fails_at_once(folder, program, python):
    for command, said in (("/bin/false", "without a word"), (folder / "slow", "not mine")):
        (folder / "slow").write_text("#!/bin/sh\necho not mine >&2\n")
        (folder / "slow").chmod(0o755)
        ended = program(python, "block", CAIRN_BIN=command).expect()
        assert ended.last_json() == {"path": None} and said in ended.talk


def test_a_bad_rate_is_told(cairn, folder, python):
    code = "import cairn\nwith cairn.profile(rate='often'): print('goes on')"
    env = cairn.environment(PYTHONPATH=str(PACKAGE), CAIRN_BIN=str(cairn.binary))
    ended = execute([python.executable, "-c", code], cwd=folder, env=env).expect()
    assert ended.out == b"goes on\n" and "often" in ended.talk


@pytest.mark.parametrize(
    "code, said",
    [
        ("cairn.profile('x.cairn')", "Use out=, rate="),
        ("@cairn.profile\nasync def f(): yield 1", "asynchronous generator"),
        ("@cairn.profile\nclass Some: pass", "Some is a class"),
    ],
)
def test_wrong_use_is_an_error_at_once(cairn, folder, python, code, said):
    env = cairn.environment(PYTHONPATH=str(PACKAGE), CAIRN_BIN=str(cairn.binary))
    ended = execute([python.executable, "-c", f"import cairn\n{code}"], cwd=folder, env=env)
    assert "TypeError" in ended.expect(1).talk and said in ended.talk


def test_importing_the_package_loads_nothing_more(cairn, python):
    code = (
        "import sys, os, shutil; before = set(sys.modules); import cairn; "
        "print(sorted(set(sys.modules) - before))"
    )
    env = cairn.environment(PYTHONPATH=str(PACKAGE))
    assert execute([python.executable, "-S", "-c", code], env=env).expect().text == "['cairn']\n"


def test_the_recording_ends_with_the_program(cairn, folder, python):
    """Killed inside the block: Cairn ends by itself, and the recording is whole."""
    code = (
        "import cairn, time\n"
        "with cairn.profile(out='x.cairn'):\n"
        "    print('ready', flush=True)\n"
        "    while True: sum(range(1000))\n"
    )
    env = cairn.environment(PYTHONPATH=str(PACKAGE), CAIRN_BIN=str(cairn.binary))
    process = harness.spawn([python.executable, "-c", code], cwd=folder, env=env)
    try:
        assert read_line(process) == "ready"
        ended = os.pidfd_open(harness.only_child(process.pid))
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=harness.DEADLINE_S)
        poll = harness.select.poll()
        poll.register(ended, harness.select.POLLIN)
        assert poll.poll(harness.DEADLINE_S * 1000), "it samples nobody"
        os.close(ended)
    finally:
        harness.end_group(process)
        finish(process)
    assert cairn.report(folder / "x.cairn")["quality"]["ended"] is True


def test_under_yama_the_command_is_let_in(cairn, folder, python):
    """No Yama here: the one call that it takes is made, with the pid of the command."""
    yama = folder / "ptrace_scope"
    yama.write_text("1\n")
    code = (
        "import ctypes, json, cairn, cairn._profile as p\n"
        f"p.YAMA = {str(yama)!r}\n"
        "calls = []\n"
        "class Libc:\n"
        "    def prctl(self, *args):\n"
        "        calls.append([getattr(a, 'value', a) for a in args])\n"
        "ctypes.CDLL = lambda name: Libc()\n"
        "with cairn.profile() as profile:\n"
        "    pid = profile._sampler._pid\n"
        "print(json.dumps([calls, pid]))\n"
    )
    env = cairn.environment(PYTHONPATH=str(PACKAGE), CAIRN_BIN=str(cairn.binary))
    ended = execute([python.executable, "-c", code], cwd=folder, env=env).expect()
    calls, pid = json.loads(ended.text)
    assert calls == [[0x59616D61, pid, 0, 0, 0]]


@pytest.mark.parametrize("end", [b"end\n", b""], ids=["said", "closed"])
def test_the_handshake_by_hand(cairn, folder, python, worker, end):
    """As any program may do it, by two pipes."""
    target = worker(python)
    attached = cairn.spawn("attach", "--handshake", "--report", "none", "-o", "x.cairn", target.pid)
    call = Path(f"/proc/{attached.pid}/syscall")
    while not call.read_text().startswith("0 0x0 "):  # read() of stdin
        assert attached.poll() is None
    assert not (folder / "x.cairn").exists(), "it waits to be let in"
    attached.stdin.write(b"go\n")
    assert read_line(attached) == "sampling x.cairn"
    ended = finish(attached, end, deadline_s=20)
    assert ended.expect().out == b"" and ended.err == b""
    assert cairn.report(folder / "x.cairn")["quality"]["ended"] is True
    target.check_answer()


def takes_interrupts(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    caught = int(re.search(r"^SigCgt:\t(\w+)$", status, re.M)[1], 16)
    return bool(caught & 1 << (signal.SIGINT - 1))


def test_the_other_end_goes_away_while_it_ends(cairn, folder, python, worker):
    """It was told to end, and is at it when what it was told by is closed."""
    target = worker(python)
    for _ in range(10):
        attached = cairn.spawn("attach", "--handshake", "--report", "none", "-o", "x.cairn", target.pid)
        attached.stdin.write(b"go\n")
        assert read_line(attached) == "sampling x.cairn"
        attached.stdin.write(b"end\n")
        while takes_interrupts(attached.pid):
            pass
        finish(attached).expect()
        (folder / "x.cairn").unlink()
    target.check_answer()


def test_a_handshake_that_does_not_come(cairn, folder, python, worker):
    target = worker(python)
    for data in (b"", b"go", b"x" * 1000):
        ended = cairn("attach", "--handshake", "-o", "x.cairn", target.pid, data=data)
        assert "did not say" in ended.expect(harness.CAIRN_FAILED).talk
    assert not files_of(folder)


def test_it_leaves_nothing_open_and_warns_of_nothing(cairn, folder, python):
    code = (
        "import os, sys, cairn\n"
        "before = os.listdir('/proc/self/fd')\n"
        "for _ in range(2):\n"
        "    with cairn.profile(): pass\n"
        "assert os.listdir('/proc/self/fd') == before\n"
        "try:\n"
        "    os.waitpid(-1, 0)\n"
        "except ChildProcessError:\n"
        "    sys.stderr = None\n"
        "    with cairn.profile(): print('done')\n"
    )
    env = cairn.environment(PYTHONPATH=str(PACKAGE), CAIRN_BIN=str(cairn.binary))
    run = [python.executable, "-X", "dev", "-W", "error", "-c", code]
    ended = execute(run, cwd=folder, env=env).expect()
    assert ended.out == b"done\n" and len(ended.talk.splitlines()) == 2, ended.talk


def test_the_package_that_is_built_has_it(cairn, folder, python):
    """build/python/cairn finds build/cairn by itself."""
    built = cairn.binary.parent / "python"
    if not (built / "cairn").is_dir():
        pytest.skip(f"{cairn.binary} is not in a build folder")
    code = "import cairn\nwith cairn.profile() as p: pass\nprint(p.path)"
    env = cairn.environment(PYTHONPATH=str(built), PATH="/nosuch")
    env.pop("CAIRN_BIN", None)
    ended = execute([python.executable, "-c", code], cwd=folder, env=env).expect()
    assert ended.text.strip() == str(files_of(folder)[0])

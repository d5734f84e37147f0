"""Starts a Python with an environment that it gives it: heirs.py WAY. The child calls leaf() seven times,
and tells what it finds of its surroundings; `looks` tells what a program can see of the functions that do
that, and how they fail.
"""
import inspect
import json
import multiprocessing
import os
import subprocess
import sys

HERE = os.path.abspath(__file__)
WORDS = [sys.executable, HERE, "child"]
SOME = {"A": "1"}
PATHS = {**SOME, "PYTHONPATH": "/nowhere:/else"}


def leaf():
    pass


def child():
    for _ in range(7):
        leaf()
    print(json.dumps([sorted(os.environ.items()), sys.path, sorted(set(sys.modules) & {"cairn"})]))


def forked(become):
    pid = os.fork()
    if pid == 0:
        become()
    waited(pid)


def waited(pid):
    assert os.waitpid(pid, 0)[1] == 0


def with_another_path(path, start):
    """What it sets itself, children inherit."""
    if path is None:
        os.environ.pop("PYTHONPATH", None)
        os.unsetenv("PYTHONPATH")
    else:
        os.environ["PYTHONPATH"] = path
    start()


def spawned():
    """By multiprocessing, which hands over sys.path on its own. Its tracker may begin last of all: it is
    waited for, so that it does not begin when the program is over."""
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0
    tracker = multiprocessing.resource_tracker._resource_tracker
    os.close(tracker._fd)
    tracker._fd = None
    waited(tracker._pid)


def cleared():
    os.environ.clear()
    subprocess.run(WORDS, check=True)


def in_a_copy():
    """A copy goes on as its parent did, and so do those that it starts."""
    forked(lambda: os._exit(subprocess.run(WORDS, env=SOME).returncode))


WAYS = {
    "run": lambda: subprocess.run(WORDS, env={**os.environ, **SOME}, check=True),
    "run_little": lambda: subprocess.run(WORDS, env=SOME, check=True),
    "run_nothing": lambda: subprocess.run(WORDS, env={}, check=True),
    "run_paths": lambda: subprocess.run(WORDS, env=PATHS, check=True),
    "run_empty": lambda: subprocess.run(WORDS, env={"PYTHONPATH": ""}, check=True),
    "sets_empty": lambda: with_another_path("", lambda: subprocess.run(WORDS, check=True)),
    "run_bytes": lambda: subprocess.run(WORDS, env={b"PYTHONPATH": b"/b\xff", b"A": b"1"}, check=True),
    "run_by_spawn": lambda: subprocess.run(WORDS, env=PATHS, check=True, close_fds=False),
    "shell": lambda: subprocess.run(" ".join(WORDS) + "; true", shell=True, env=SOME, check=True),
    "posix_spawn": lambda: waited(os.posix_spawn(WORDS[0], WORDS, os.environ)),
    "posix_spawnp": lambda: waited(os.posix_spawnp(WORDS[0], WORDS, PATHS, setsigdef=[2])),
    "execve": lambda: forked(lambda: os.execve(WORDS[0], WORDS, PATHS)),
    "execve_named": lambda: forked(lambda: os.execve(path=WORDS[0], argv=WORDS, env=SOME)),
    "execle": lambda: forked(lambda: os.execle(*WORDS[:1], *WORDS, SOME)),
    "execvpe": lambda: forked(lambda: os.execvpe(WORDS[0], WORDS, {**os.environ, **SOME})),
    "spawnve": lambda: os.spawnve(os.P_WAIT, WORDS[0], WORDS, SOME),
    "in_a_copy": in_a_copy,
    "sets_path": lambda: with_another_path("/set", lambda: subprocess.run(WORDS, check=True)),
    "drops_path": lambda: with_another_path(None, lambda: subprocess.run(WORDS, check=True)),
    "system": lambda: with_another_path("/set", lambda: os.system(" ".join(WORDS))),
    "multiprocessing": lambda: with_another_path("/set", spawned),
    "cleared": cleared,
}


def failure_of(call, *args, **named):
    """What it raises, and from where."""
    try:
        return repr(call(*args, **named))
    except Exception as failure:
        lines = []
        trace = failure.__traceback__
        while trace:
            lines.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        return [repr(failure), str(getattr(failure, "filename", None)), lines]


class Odd(dict):
    def keys(self):
        raise KeyError("odd")


def looks():
    import _posixsubprocess
    import posix

    given = [posix.execve, posix.posix_spawn, posix.posix_spawnp, posix.putenv, posix.unsetenv,
             _posixsubprocess.fork_exec]  # fmt: skip
    for function in given:
        assert hash(function) == hash(getattr(sys.modules[function.__module__], function.__name__))
        print(function.__name__, function.__doc__, function.__module__, type(function), repr(function)[:30],
              function.__text_signature__, function.__reduce__(), inspect.isbuiltin(function),
              failure_of(inspect.signature, function))  # fmt: skip
        for args in ((), (1,), (1, 2), ("/nowhere", ["x"], 3), ("/nowhere", [], {}), ("/nowhere", ["x"], {1: 2}),
                     ("/nowhere", ["x"], {"A=": "1"}), ("/nowhere", ["x"], {"A": "1"}), ("/nowhere", ["x"], Odd()),
                     ("/nowhere", ["x"], {"PYTHONPATH": 5}), ("/nowhere", ["x"], {"PYTHONPATH": "a\0b"}),
                     ("/nowhere", ["x"], {"A": "1"}, 4), ("A\0", "1"), ("PYTHONPATH", 7), ("A=", "1")):  # fmt: skip
            print(args, failure_of(function, *args), failure_of(function, *args, nonsense=1))
    print(posix.execve in os.supports_fd, os.execve is posix.execve, sorted(SOME.items()))
    print(failure_of(os.execve, path="/nowhere", argv=["x"], env=None), failure_of(os.execve, env=SOME))
    print(failure_of(subprocess.run, ["/nowhere"], env=SOME), failure_of(subprocess.run, ["/nowhere"], env={1: 2}))
    print(failure_of(subprocess.run, ["/nowhere"], env={"A": "\0"}), SOME)
    if hasattr(os, "reload_environ"):
        os.putenv("PUT", "1")
        os.reload_environ()
    print(sorted(os.environ.items()), sorted(posix.environ.items()))
    os.environ["PYTHONPATH"] = "/set"
    if hasattr(os, "reload_environ"):
        os.reload_environ()
    print(sorted(os.environ.items()), "_posixsubprocess" in sys.modules)


def by_c():
    """As uvloop does it: C code gives the environment, behind some Python of the forked child's."""
    import ctypes

    words = [sys.executable, os.path.join(os.path.dirname(HERE), "busy.py"), "0.3"]
    arguments = (ctypes.c_char_p * 4)(*map(os.fsencode, words), None)
    environment = (ctypes.c_char_p * 2)(b"A=1", None)
    execve = ctypes.CDLL(None).execve
    forked(lambda: (leaf(), execve(arguments[0], arguments, environment), os._exit(1)))


if __name__ == "__main__":
    ways = {**WAYS, "child": child, "looks": looks, "by_c": by_c}
    ways[sys.argv[1]]()

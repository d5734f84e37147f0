"""profile(): a program that has itself sampled, by a `cairn attach` that it starts.

The command is at the other end of a socket, its stdin, stdout and stderr: "go" says that it may
look, it answers "sampling FILE" with its first sample, "end" ends the recording; what else it says
is told to the user. It gets nothing else of the program: no descriptors, terminal or signals.
"""
import functools
import inspect
import os
import select
import socket
import sys
import threading

import cairn

START_PATIENCE_S = 10  # for the first sample, on a machine that is busy
END_PATIENCE_S = 60  # for the end of a recording, on a disk that is slow
PR_SET_PTRACER = 0x59616D61
YAMA = "/proc/sys/kernel/yama/ptrace_scope"

_lock = threading.RLock()
_running = None  # the Profile that samples this process
_refusals = set()


def _forget():
    """In a child that was forked: it is not sampled by what its parent started."""
    global _lock, _running
    _lock, _running = threading.RLock(), None


os.register_at_fork(after_in_child=_forget)


def _say(text):
    """A message to whoever reads stderr. That nobody does is no reason to fail."""
    try:
        sys.stderr.write(f"cairn: {text}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass


def _refuse(why):
    """Says why there is no profile: once, however often a decorated function is called."""
    if why not in _refusals:
        _refusals.add(why)
        _say(f"no profile: {why}")


def _let_look(pid):
    """Yama lets only ancestors look, unless a program names somebody else."""
    try:
        with open(YAMA) as file:
            restricted = file.read().strip() == "1"
    except OSError:
        return
    if restricted:
        import ctypes  # not every Python has it, and few need it

        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)


class _Sampler:
    """One `cairn attach` on this process."""

    def __init__(self, command, out, rate):
        words = [command, "attach", "--handshake", "--report", "none"]
        if out is not None:
            words += ["-o", os.fspath(out)]
        if rate is not None:
            words += ["-r", str(rate)]
        self._said = b""
        self._socket, theirs = socket.socketpair()
        with theirs:
            standard = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), fd) for fd in range(3)]
            self._pid = os.posix_spawn(
                command, [*words, str(os.getpid())], os.environ,
                file_actions=standard, setpgroup=0,  # out of the reach of the terminal's Ctrl-C
            )  # fmt: skip

    def begin(self):
        """The recording's path once it samples; None when it does not: said() tells why."""
        _let_look(self._pid)
        self._send(b"go\n")
        came = True
        while came and b"\n" not in self._said:
            came = self._listen(START_PATIENCE_S)
        line, _, rest = self._said.partition(b"\n")
        if line.startswith(b"sampling "):
            self._said = rest
            return os.path.abspath(os.fsdecode(line[len(b"sampling ") :]))
        self.close(0 if came is None else START_PATIENCE_S)
        return None

    def end(self):
        self._send(b"end\n")
        self.close(END_PATIENCE_S)

    def close(self, patience_s=0):
        """Hears it out. Should it not end, it is left to itself: it does when this end closes."""
        came = True
        while came:
            came = self._listen(patience_s)
        self._socket.close()
        if came is None:
            self._said += b"`cairn attach` does not answer\n"
            return
        try:
            os.waitpid(self._pid, 0)
        except OSError:
            pass  # the program has waited for it, as it does for all its children

    def said(self):
        return self._said.decode(errors="replace").strip().replace("cairn: ", "", 1)

    def _send(self, data):
        try:
            self._socket.sendall(data, socket.MSG_NOSIGNAL)
        except OSError:
            pass  # it is gone: what it said last tells why

    def _listen(self, patience_s):
        """Takes in what it says. True: something came; False: it has ended; None: neither."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(patience_s * 1000):
            return None
        try:
            data = self._socket.recv(65536)
        except OSError:
            return False
        self._said += data
        return bool(data)


class Profile:
    """What cairn.profile() returns: a context manager, and a decorator.

    `path` is where the recording is, from the beginning of the block on; None where there is none.
    """

    def __init__(self, out=None, rate=None):
        self.path = None
        self._out = out
        self._rate = rate
        self._sampler = None
        self._depth = 0
        self._said_once = False

    def __enter__(self):
        global _running
        with _lock:
            other = _running
            if other is None:
                _running = self
            elif other is self:
                self._depth += 1
        if other is None:
            try:
                self._begin()
            finally:
                if self._sampler is None:
                    _running = None
        elif not other._said_once:
            other._said_once = True
            _say(
                "profile() runs already and samples the whole process, all its threads, until "
                "it ends: blocks inside it get no recording of their own"
            )
        return self

    def __exit__(self, *failure):
        global _running
        with _lock:
            if _running is not self:
                return
            if self._depth:
                self._depth -= 1
                return
        try:
            self._sampler.end()
            _say(self._sampler.said() or f"the profile is in {self.path}")
        finally:
            self._sampler = _running = None

    def __call__(self, function):
        return _decorate(function, self._out, self._rate)

    def _begin(self):
        command = cairn.find_command()
        if command is None:
            _refuse("the command is not there; install it, or name it in CAIRN_BIN")
            return
        try:
            sampler = _Sampler(command, self._out, self._rate)
        except OSError as failure:
            _refuse(f"{command} cannot be started: {failure.strerror}")
            return
        try:
            self.path = sampler.begin()
        except BaseException:  # Ctrl-C while waiting
            sampler.close()
            raise
        if self.path is None:
            _refuse(sampler.said() or "`cairn attach` ended without a word")
        else:
            self._sampler = sampler


def _decorate(function, out, rate):
    """Each call is a block of its own, as long as its body runs."""
    if inspect.isasyncgenfunction(function):
        raise TypeError("an asynchronous generator: use `with cairn.profile():` inside it")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def profiled(*args, **kwargs):
            with Profile(out, rate):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def profiled(*args, **kwargs):
            with Profile(out, rate):
                return (yield from function(*args, **kwargs))

    else:

        @functools.wraps(function)
        def profiled(*args, **kwargs):
            with Profile(out, rate):
                return function(*args, **kwargs)

    return profiled


def of(function, out, rate):
    if function is None:
        return Profile(out, rate)
    if not callable(function):
        raise TypeError(f"profile() decorates functions; {function!r} is none. Use out=, rate=")
    return _decorate(function, out, rate)

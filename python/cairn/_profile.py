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


def _place_of(opened):
    """Which file a descriptor is of; None: it is closed."""
    try:
        found = os.fstat(opened.fileno())
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
        self._place = _place_of(self._socket)
        self.cut = False  # the program has closed it: the recording ended there
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
        if self._is_ours():
            self._socket.close()
        else:  # the number may be another file's by now
            self._socket.detach()
            self.cut = True
        if came is None:
            self._said += b"`cairn attach` does not answer\n"
            return
        try:
            os.waitpid(self._pid, 0)
        except OSError:
            pass  # the program has waited for it, as it does for all its children

    def said(self):
        return self._said.decode(errors="replace").strip().replace("cairn: ", "", 1)

    def _is_ours(self):
        """Not, where the program has closed all descriptors that it does not know, as daemons do."""
        return _place_of(self._socket) == self._place

    def _send(self, data):
        if not self._is_ours():
            return
        try:
            self._socket.sendall(data, socket.MSG_NOSIGNAL)
        except OSError:
            pass  # it is gone: what it said last tells why

    def _listen(self, patience_s):
        """Takes in what it says. True: something came; False: it has ended; None: neither."""
        if not self._is_ours():
            return False
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
        self._within = []  # the Profiles that ran when blocks of this one began
        self._inside = 0  # blocks of others that began while this one ran, and go on
        self._said_once = False

    def __enter__(self):
        global _running
        with _lock:
            other = _running
            if other is None:
                _running = self
            elif other is self:
                self._depth += 1
            else:
                other._inside += 1
                self._within.append(other)
        if other is None:
            try:
                self._begin()
            finally:
                if self._sampler is None:
                    with _lock:
                        _running, self._depth = None, 0
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
                if self._within:
                    self._within.pop()._inside -= 1
                return
            if self._depth:
                self._depth -= 1
                return
            others = self._inside
        try:
            self._sampler.end()
            until = ", up to where the program closed its descriptors" if self._sampler.cut else ""
            _say(self._sampler.said() or f"the profile is in {self.path}{until}")
            if others:
                _say(f"blocks that began in it and go on are sampled no more: {others}")
        finally:
            self._sampler = _running = None

    def __call__(self, function):
        return of(function, self._out, self._rate)

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
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorate(function.__func__, out, rate))
    if isinstance(function, type):
        raise TypeError(f"profile() decorates functions; {function.__name__} is a class")
    if not callable(function):
        raise TypeError(f"profile() decorates functions; {function!r} is none. Use out=, rate=")
    return _decorate(function, out, rate)

"""What the end-to-end and accuracy tests share: interpreters, running Cairn, reading its output.

Interpreters are found, never assumed: pyenv's versions, the system's python3, and those unpacked
by tools/interpreters.sh (`build/interp/list`, lines of VERSION CHROOT EXECUTABLE), which run
under chroot and are profiled from outside. Every process started here has a deadline.
"""
import atexit
import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ROOT / "tests" / "targets"
SUPPORTED = {(3, minor) for minor in range(8, 16)}
DEADLINE_S = 60
FULL = bool(os.environ.get("CAIRN_FULL"))  # longer looks, and what takes minutes
MOST_TAKEN = 0.4  # of a run: what is asked of times allows for it, and with more asks nothing
MOST_BLIND = 0.1  # of a run of which many things are asked
PACKAGE = "package"  # among them, the package as it was built
CHROOT_TARGETS = f"/tmp/cairn-tests-{os.getpid()}"  # others may run beside this one

# Status, section 5 of the design: what scripts rely on.
NOT_FOUND, NOT_EXECUTABLE, CAIRN_FAILED, NOT_SUPPORTED = 127, 126, 125, 124
DAMAGED, USAGE, NO_PERMISSION = 123, 122, 121


def cairn_binary():
    """$CAIRN, else build/cairn."""
    return Path(os.environ.get("CAIRN", ROOT / "build" / "cairn")).resolve()


def built_package():
    """The folder beside the command that holds the package `cairn`."""
    return cairn_binary().parent / "python"


@dataclass(frozen=True)
class Interpreter:
    """One CPython: how to start it, and where it sees the target programs."""

    label: str
    version: tuple
    executable: str
    chroot: str = ""

    def command(self, script, *args):
        """argv that runs a program of tests/targets, found where this interpreter sees it."""
        if self.chroot:
            inside = f"{CHROOT_TARGETS}/{script}"
            return ["chroot", self.chroot, self.executable, inside, *map(str, args)]
        return [self.executable, str(TARGETS / script), *map(str, args)]

    @property
    def has_qualnames(self):
        """Whether its code objects know their qualified name."""
        return self.version >= (3, 11)

    def name(self, qualname):
        """What Cairn can call a function of this interpreter."""
        return qualname if self.has_qualnames else qualname.rpartition(".")[2]

    def names(self, pairs):
        return [[self.name(name) for name in pair] for pair in pairs]

    def path(self, script):
        """The file name that Python gives to the code of `script`."""
        return f"{CHROOT_TARGETS}/{script}" if self.chroot else str(TARGETS / script)

    def package(self):
        """The folder in which this interpreter finds the package `cairn`."""
        return f"{CHROOT_TARGETS}/{PACKAGE}" if self.chroot else str(built_package())

    def has_engine(self):
        """Whether the package has an extension module for it."""
        minor = self.version[1]
        return any((built_package() / "cairn").glob(f"_exact.cpython-3{minor}-*.so"))

    def prepare(self):
        """Puts the targets, and the package, where the interpreter can see them."""
        if self.chroot:
            inside = Path(self.chroot + CHROOT_TARGETS)
            unwanted = shutil.ignore_patterns("__pycache__", "*.p")
            shutil.rmtree(inside, ignore_errors=True)
            shutil.copytree(TARGETS, inside, ignore=unwanted)
            shutil.copytree(built_package(), inside / PACKAGE, ignore=unwanted)
            atexit.register(shutil.rmtree, inside, ignore_errors=True)


def version_of(executable):
    code = "import sys; print(*sys.version_info[:3], sys.implementation.name)"
    try:
        answer = subprocess.run(
            [executable, "-c", code], capture_output=True, text=True, timeout=20
        ).stdout.split()
    except OSError:
        return None
    if len(answer) != 4 or answer[3] != "cpython":
        return None
    return tuple(map(int, answer[:3]))


def installed_interpreters():
    """Every CPython installed side by side, of any version: (label, version, executable)."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [("pyenv", str(p)) for p in sorted(pyenv.glob("*/bin/python3"))]
    system = [Path(f"/usr/bin/python3.{minor}") for minor in range(8, 16)]
    candidates += [("system", str(p)) for p in system if p.exists()]
    found = []
    for origin, executable in candidates:
        version = version_of(executable)
        if version:
            label = f"{'.'.join(map(str, version))}-{origin}"
            found.append(Interpreter(label, version, executable))
    return found


def old_pythons():
    """Executables of those that Cairn does not count, 2.7 among them."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    old = [one.executable for one in installed_interpreters() if one.version[:2] < min(SUPPORTED)]
    return old + [str(path) for path in sorted(pyenv.glob("2.7*/bin/python2.7"))]


def unpacked_interpreters():
    listing = ROOT / "build" / "interp" / "list"
    found = []
    if listing.exists():
        for line in listing.read_text().splitlines():
            version, chroot, executable = line.split()
            numbers = tuple(int(re.match(r"\d+", part).group()) for part in version.split("."))
            found.append(Interpreter(f"{version}-unpacked", numbers, executable, chroot))
    return found


def all_interpreters():
    return installed_interpreters() + unpacked_interpreters()


@contextlib.contextmanager
def sharers(chroot):
    """Under a lock: who has which package in the chroot, {"pids": {folder: [pid, …]}, "made": the
    folders on the way to them}. Each checkout has a package of its own, and goes with its last run of
    tests; those that are over are not among them."""
    with open(f"{chroot}/tmp/cairn-packages", "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        told = json.loads(file.read() or '{"pids": {}, "made": []}')
        drop_unshared(told)
        yield told
        drop_unshared(told)
        file.truncate(0)
        file.write(json.dumps(told))


def drop_unshared(told):
    """Takes away the packages that nobody has any more, then the folders that held no other."""
    for folder, pids in list(told["pids"].items()):
        told["pids"][folder] = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if not told["pids"][folder]:
            shutil.rmtree(folder, ignore_errors=True)
            del told["pids"][folder]
    for made in sorted(told["made"], key=len, reverse=True):
        if not any(Path(made) in Path(folder).parents for folder in told["pids"]):
            with contextlib.suppress(OSError):  # somebody has put more into it
                Path(made).rmdir()
            told["made"].remove(made)


@contextlib.contextmanager
def package_in(chroot):
    """The package at its own path in the chroot; workers of one run of tests have it together."""
    inside = Path(f"{chroot}{built_package()}")
    with sharers(chroot) as told:
        if str(inside) not in told["pids"]:
            told["made"] += [str(folder) for folder in inside.parents if not folder.exists()]
            shutil.copytree(built_package(), inside, ignore=shutil.ignore_patterns("__pycache__", "*.p"))
        told["pids"].setdefault(str(inside), []).append(os.getpid())
    try:
        yield
    finally:
        with sharers(chroot) as told:
            told["pids"][str(inside)].remove(os.getpid())


@contextlib.contextmanager
def shared_with(chroot):
    """A folder that has one path in the chroot and outside; the package has one as well."""
    spool = Path(tempfile.mkdtemp(prefix="cairn-test-", dir=f"{chroot}/tmp"))
    outside = Path("/tmp") / spool.name
    outside.symlink_to(spool)
    try:
        with package_in(chroot):
            yield outside
    finally:
        outside.unlink()
        shutil.rmtree(spool)


def supported_interpreters():
    return [i for i in all_interpreters() if i.version[:2] in SUPPORTED]


@dataclass
class Ended:
    """A finished process: its exit status as a shell shows it, and all it wrote."""

    args: list
    status: int
    out: bytes
    err: bytes
    taken_s: float = 0.0  # that the host took a processor for meanwhile, at most: see taken_s()

    @property
    def text(self):
        return self.out.decode()

    @property
    def talk(self):
        return self.err.decode()

    def json(self):
        return json.loads(self.out)

    def last_json(self):
        """The object on the last line of stdout: what a target program says about itself."""
        return json.loads(self.out.decode().strip().splitlines()[-1])

    def expect(self, status=0):
        told = self.err.decode(errors="replace")[-3000:]
        assert self.status == status, f"{self.args}: status {self.status}, not {status}\n{told}"
        return self


def shell_status(returncode):
    return 128 - returncode if returncode < 0 else returncode


def session_of(pid):
    """The session that a process belongs to; None when the process is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[3])


def end_group(process):
    """Kills what is left of the session that `process` leads, which we started: jobs of a shell
    have process groups of their own in it."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and session_of(entry) == process.pid:
            try:
                os.kill(int(entry), signal.SIGKILL)
            except ProcessLookupError:
                pass


def spawn(args, **options):
    """Starts a process in a session of its own, with pipes; the caller ends it (end_group)."""
    options.setdefault("stdin", subprocess.PIPE)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("bufsize", 0)
    before = taken_s()
    process = subprocess.Popen([str(a) for a in args], start_new_session=True, **options)
    process.taken_before_s = before
    return process


def finish(process, data=None, deadline_s=DEADLINE_S):
    """Waits for a spawned process and everything it leaves behind; what the host took meanwhile is
    counted from its start."""
    try:
        out, err = process.communicate(data, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        end_group(process)
        out, err = process.communicate()
        tail = err.decode(errors="replace")[-2000:] if err else ""
        raise AssertionError(f"{process.args} was not over after {deadline_s} s\n{tail}") from None
    finally:
        end_group(process)
    taken = max(after - begun for after, begun in zip(taken_s(), process.taken_before_s))
    return Ended(process.args, shell_status(process.returncode), out, err, taken)


def taken_s():
    """Seconds since boot that the host ran something else on each processor of this machine. What is
    told to a program in such a stretch nobody can know: neither the program itself nor Cairn."""
    lines = Path("/proc/stat").read_text().splitlines()
    each = [line.split() for line in lines if re.match(r"cpu\d", line)]
    return [int(fields[8]) / os.sysconf("SC_CLK_TCK") for fields in each]


def execute(args, data=b"", deadline_s=DEADLINE_S, **options):
    return finish(spawn(args, **options), data, deadline_s)


def read_line(process, deadline_s=DEADLINE_S):
    """The next line of a spawned process's stdout, as text."""
    line = b""
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([process.stdout], [], [], deadline_s)
        assert readable, f"{process.args} wrote no line for {deadline_s} s, after {line!r}"
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, f"{process.args} ended its output after {line!r}"
        line += byte
    return line.decode().rstrip("\n")


class Worker:
    """A running worker.py, which ends when its stdin does and whose answer can be checked."""

    def __init__(self, process):
        self.process = process
        self.pid = json.loads(read_line(process))["ready"]

    def check_answer(self, start=b"start"):
        """Ends the program in its own way; its answer must be what it would have been alone."""
        ended = finish(self.process).expect(0)
        told = ended.last_json()
        assert told["rounds"] > 0, "the target did not get to work"
        digest = start
        for _ in range(told["rounds"] * 200):
            digest = hashlib.sha256(digest).digest()
        assert told["digest"] == digest.hex(), "the target computed something else"
        return told["rounds"]


def free_port():
    """One that nobody listens on, and that the kernel gives to nobody who asks for any: so it stays free,
    and is nobody's own end of a connection. Each process of tests has numbers of its own."""
    lowest, count = 10_000, 20_000
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first, last = map(int, file.read().split())
    for i in range(count):
        port = lowest + (os.getpid() * 101 + i) % count
        if first <= port <= last:
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def only_child(pid):
    """The one child of a process, which exists once the process has reported that it is ready."""
    children = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children += map(int, (task / "children").read_text().split())
    assert len(children) == 1, f"{pid} has the children {children}"
    return children[0]


class Cairn:
    """The command, run in one folder, with an environment free of what the caller has set."""

    def __init__(self, folder, binary=None):
        self.folder = Path(folder)
        self.binary = binary or cairn_binary()

    def environment(self, **extra):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CAIRN", "PYTHON"))}
        for name in ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "COLUMNS"):
            kept.pop(name, None)
        return {**kept, "TERM": "dumb", "LC_ALL": "C.UTF-8", **extra}

    def options(self, options):
        options.setdefault("cwd", self.folder)
        options["env"] = self.environment(**options.pop("env", {}))
        return options

    def __call__(self, *args, data=b"", deadline_s=DEADLINE_S, **options):
        return execute([self.binary, *args], data, deadline_s, **self.options(options))

    def spawn(self, *args, **options):
        return spawn([self.binary, *args], **self.options(options))

    def record(self, interpreter, script, *args, options=(), status=0, **more):
        """`cairn run` of a target program: the recording, and the ended run."""
        file = self.folder / "run.cairn"
        file.unlink(missing_ok=True)
        command = interpreter.command(script, *args)
        start = time.monotonic()
        ended = self("run", "-o", file, *options, "--", *command, **more)
        lasted_s = time.monotonic() - start
        if ended.taken_s > MOST_TAKEN * lasted_s:
            pytest.skip(f"the host took {ended.taken_s:.2f} s of a run of {lasted_s:.2f} s")
        return file, ended.expect(status)

    def report(self, file, *options):
        return self("report", "--json", *options, file).expect().json()

    def blind_s(self, file, ended):
        """Seconds of a run of which a recording can say nothing: those that the host took, and those in
        which Cairn had no processor, which it tells of as ticks that it missed. That it does not miss
        many beside others is a test of its own (test_sampling.py)."""
        report = self.report(file)
        interval_s = float(report["recording"]["environment"]["sampler.interval_ns"]) / 1e9
        return ended.taken_s + report["quality"]["missed"] * interval_s

    def need_sight(self, file, ended):
        """For a recording of which many things are asked: skips where it can say nothing of a tenth of the
        run, as when the machine stood still for a moment. On a busy one that is a hundredth."""
        wall_s, blind_s = self.report(file)["recording"]["wall_s"], self.blind_s(file, ended)
        if blind_s > MOST_BLIND * wall_s:
            pytest.skip(f"nobody saw what was in {blind_s:.2f} s of a run of {wall_s:.2f} s")
        return file

    def collapsed(self, file, *options):
        return parse_collapsed(self("export", "-f", "collapsed", *options, file).expect().text)


FRAME = re.compile(r"^(?P<name>.*?) \((?P<file>.*?)(?::(?P<line>-?\d+))?\)$", re.DOTALL)


@dataclass(frozen=True)
class Frame:
    """A frame of a collapsed stack; markers and native code have a name only."""

    name: str
    file: str = ""
    line: int = 0


def parse_frame(text):
    match = FRAME.match(text)
    if not match:
        return Frame(text)
    return Frame(match["name"], match["file"], int(match["line"] or 0))


def parse_collapsed(text):
    """Collapsed stacks as {tuple of Frame: value}. A line that is none is an error."""
    stacks = Counter()
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        assert stack and value.isdigit(), f"not a collapsed stack: {line!r}"
        stacks[tuple(parse_frame(frame) for frame in stack.split(";"))] += int(value)
    return stacks


def unescaped(text):
    """A name as it was before `;`, control characters and the like were written as \\xNN."""
    return re.sub(
        r"(?:\\x[0-9a-f]{2})+", lambda m: bytes.fromhex(m[0].replace("\\x", "")).decode(), text
    )


def sum_where(stacks, wanted):
    """Sum of the values of the stacks in which some frame fulfils `wanted`."""
    return sum(value for stack, value in stacks.items() if any(wanted(f) for f in stack))


def time_in(stacks, name, file=None):
    return sum_where(stacks, lambda f: f.name == name and (file is None or f.file == file))


TORN, TRUNCATED = Frame("[torn]"), Frame("[truncated]")


def impossible_stacks(stacks, legal, file, roots=()):
    """The stacks that cannot have been: a pair of the program's own frames that its grammar does
    not know, or an outermost own frame that is not <module>, nor one of `roots`. What is marked torn is not counted
    here; only its outer part was claimed, and that part is judged."""
    allowed = {tuple(pair) for pair in legal}
    wrong = Counter()
    for stack, value in stacks.items():
        if TRUNCATED in stack:
            continue
        own = [i for i, frame in enumerate(stack) if frame.file == file]
        if not own:
            continue
        pairs = [
            (stack[i - 1].name, stack[i].name) for i in own if i and stack[i - 1].file == file
        ]
        begins = stack[own[0]].name == "<module>" or stack[own[0]].name in roots
        if not begins or any(pair not in allowed for pair in pairs):
            wrong[stack] = value
    return wrong


def npm_package(name, version):
    """The folder of an unpacked npm package, fetched once into build/."""
    if not shutil.which("npm"):
        pytest.skip(f"npm is not installed, and {name} is one of its packages")
    place = ROOT / "build" / "npm"
    archive = place / f"{name.strip('@').replace('/', '-')}-{version}.tgz"
    place.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        pack = ["npm", "pack", "--silent", f"{name}@{version}"]
        if execute(pack, cwd=place).status != 0:
            pytest.skip(f"npm could not fetch {name}@{version}")
    unpacked = archive.with_suffix("")
    if not unpacked.exists():
        # Whoever is second finds it whole: a folder gets its name when all is in it.
        with tempfile.TemporaryDirectory(dir=place) as made:
            with tarfile.open(archive) as package:
                package.extractall(made)
            with contextlib.suppress(OSError):
                (Path(made) / "package").rename(unpacked)
    return unpacked


def sdist(name, version):
    """The source archive of a package as PyPI has it, fetched once into build/."""
    place = ROOT / "build" / "pypi"
    archive = place / f"{name}-{version}.tar.gz"
    if not archive.exists():
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as made:
            words = ["download", "--no-deps", "--no-binary", name, "-d", made, f"{name}=={version}"]
            if execute([sys.executable, "-m", "pip", *words], deadline_s=400).status != 0:
                pytest.skip(f"pip could not fetch the source of {name} {version}")
            (Path(made) / archive.name).rename(archive)
    return archive


def installed_by_pip(interpreter, *requirements):
    """A folder that holds packages for an interpreter, as its own pip installs them; made once. For one
    that was unpacked for tests ours does, and the folder is one that it finds."""
    digest = hashlib.sha256(" ".join(["site-packages", *requirements]).encode()).hexdigest()[:12]
    place = ROOT / "build" / "pypi" / f"{interpreter.label}-{digest}"
    pip = [interpreter.executable, "-m", "pip", "install", "-q"]
    if interpreter.chroot:
        minor = interpreter.version[1]
        pip = [sys.executable, "-m", "pip", "install", "-q", "--python-version", f"3.{minor}",
               "--implementation", "cp", "--abi", f"cp3{minor}", "--only-binary=:all:"]  # fmt: skip
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as made:
            if execute([*pip, "--target", f"{made}/site/site-packages", *requirements], deadline_s=400).status != 0:
                pytest.skip(f"pip of {interpreter.label} could not install {' '.join(requirements)}")
            with contextlib.suppress(OSError):  # whoever is second finds it whole
                (Path(made) / "site").rename(place)
    if not interpreter.chroot:
        return place / "site-packages"
    inside = f"{CHROOT_TARGETS}/{place.name}"
    if not Path(interpreter.chroot + inside).exists():
        shutil.copytree(place, interpreter.chroot + inside)
    return f"{inside}/site-packages"


OWN = Interpreter("own", version_of(sys.executable), sys.executable)  # runs the tests


def equip(interpreter):
    """The environment in which an interpreter finds what tests/programs.txt names; OWN always does."""
    if interpreter is OWN:
        return {}
    lines = (TARGETS.parent / "programs.txt").read_text().splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    return {"PYTHONPATH": str(installed_by_pip(interpreter, *wanted))}


@contextlib.contextmanager
def proc():
    """Options for a run of a program that reads /proc, which a chroot does not have: the folder is open
    as $PROC."""
    folder = os.open("/proc", os.O_RDONLY)
    try:
        yield {"env": {"PROC": str(folder)}, "pass_fds": [folder]}
    finally:
        os.close(folder)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def protobuf_fields(data):
    """(number, value) of each field of one message: integers for varints, bytes for the rest."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            assert at + size <= len(data), "a field reaches beyond its message"
            value, at = data[at : at + size], at + size
        else:
            raise AssertionError(f"pprof has no fields of wire type {kind}")
        yield key >> 3, value


def packed(value):
    """The integers of a repeated field, packed or a single one."""
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(number)
    return numbers


@dataclass
class Pprof:
    """As much of a profile.proto as the tests look at, read from the bytes by its definition."""

    types: list  # (type, unit)
    samples: list  # ([location ids leaf first], [values], {label: text})
    functions: dict  # location id -> [function names, innermost first]


def parse_pprof(data):
    message = list(protobuf_fields(gzip.decompress(data)))
    strings = [value.decode() for number, value in message if number == 6]
    assert strings[0] == "", "the first string of a profile is empty"
    types, samples, names, functions = [], [], {}, {}
    for number, value in message:
        if number == 1:
            kind = dict(protobuf_fields(value))
            types.append((strings[kind[1]], strings[kind[2]]))
        elif number == 2:
            locations, values, labels = [], [], {}
            for field, inner in protobuf_fields(value):
                if field == 1:
                    locations += packed(inner)
                elif field == 2:
                    values += packed(inner)
                elif field == 3:
                    label = dict(protobuf_fields(inner))
                    text = strings[label[2]] if 2 in label else label.get(3, 0)
                    labels[strings[label[1]]] = text
            samples.append((locations, values, labels))
        elif number == 5:
            function = dict(protobuf_fields(value))
            names[function[1]] = strings[function[2]]
    for number, value in message:
        if number == 4:
            fields = list(protobuf_fields(value))
            lines = [dict(protobuf_fields(inner)) for field, inner in fields if field == 4]
            functions[dict(fields)[1]] = [names[line[1]] for line in lines]
    return Pprof(types, samples, functions)

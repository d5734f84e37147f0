"""The profilers: how each is told to attach, and how to read what it leaves.

Each is asked for all threads, idle ones too, by wall time, with lines. A Reading counts
thread-samples: one thread, looked at once. `lost` are those that the tool itself says were no
good. `stacks` are {((file, function), …) outermost first: thread-samples}.
"""
import json
import os
import re
import subprocess
import venv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import measure
from subjects import ROOT

PEERS = ROOT / "build" / "peers"
PACKAGES = ("py-spy", "austin-dist", "austin-python")
AS_FAST_AS_IT_GOES = 1_000_000  # Hz, for tools that have no word for it

CAIRN_FRAME = r"(?P<name>.*) \((?P<file>.*?)(?::-?\d+)?\)"
PY_SPY_FRAME = r"(?P<name>.*) \((?P<file>.*?)(?::\d+)?\)"
COLON_FRAME = r"(?P<file>.*):(?P<name>.*?):\d+"  # of austin and profiling.sampling


@dataclass
class Reading:
    good: int
    lost: int
    bytes: int = 0
    stacks: Counter = field(default_factory=Counter)


def told(pattern, text):
    """The groups of the last match in what a tool said."""
    matches = re.findall(pattern, text)
    if not matches:
        raise measure.Failed(f"it did not say {pattern!r}")
    return matches[-1]


def output_of(args):
    ended = subprocess.run(args, capture_output=True, text=True, timeout=120)
    if ended.returncode != 0:
        raise measure.Failed(f"{args[0]}: status {ended.returncode}: {ended.stderr[-200:]}")
    return ended.stdout


def collapsed(text, frame_pattern):
    """Collapsed stacks; what is no frame (a marker, a thread) has the file ""."""
    frame_re, stacks = re.compile(frame_pattern), Counter()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        stack, _, value = line.rpartition(" ")
        frames = []
        for frame in stack.split(";"):
            match = frame_re.fullmatch(frame)
            file, name = (match["file"], match["name"]) if match else ("", frame)
            frames.append((os.path.basename(file), name))
        stacks[tuple(frames)] += int(value)
    return stacks


class Tool:
    """`ends_itself`: it stops after the seconds it was asked for, however far behind it is."""

    ends_itself = True
    good_status = (0,)

    def lacks(self, subject):
        """Why it cannot profile this subject, "" when it can."""
        return ""

    def file(self, subject, folder):
        """Where it writes: (as it sees it, as seen here)."""
        return str(folder / self.name), folder / self.name


class Cairn(Tool):
    name = "cairn"

    def __init__(self):
        self.binary = Path(os.environ.get("CAIRN", ROOT / "build" / "cairn")).resolve()

    def version(self):
        return output_of([self.binary, "--version"]).split()[-1]

    def attach(self, subject, pid, seconds, hz, out, form):
        rate = "max" if hz is None else f"{hz}hz"
        return [self.binary, "attach", "-r", rate, "--for", f"{seconds}s", "--force",
                "--report", "none", "-o", out, str(pid)]

    def read(self, ran, out, form):
        quality = json.loads(output_of([self.binary, "report", "--json", out]))["quality"]
        reading = Reading(quality["samples"] - quality["torn"], quality["torn"], quality["bytes"])
        if form == "stacks":
            text = output_of([self.binary, "export", "-f", "collapsed", "--unit", "samples", out])
            reading.stacks = collapsed(text, CAIRN_FRAME)
            for stack in [s for s in reading.stacks if ("", "[torn]") in s]:
                del reading.stacks[stack]  # counted in `lost`
        return reading


class PySpy(Tool):
    """Its raw format sums equal stacks; only speedscope keeps the samples one by one."""

    name = "py-spy"
    ends_itself = False  # it makes seconds x rate samples, in whatever time
    options = ()

    def version(self):
        return output_of([PEERS / "bin" / "py-spy", "--version"]).split()[-1]

    def attach(self, subject, pid, seconds, hz, out, form):
        return [PEERS / "bin" / "py-spy", "record", "--idle", *self.options, "--duration",
                "unlimited", "--rate", str(hz or AS_FAST_AS_IT_GOES), "--format",
                "speedscope" if form == "recording" else "raw", "--output", out, "--pid", str(pid)]

    def read(self, ran, out, form):
        _, lost = told(r"Samples: (\d+) Errors: (\d+)", ran.out + ran.err)
        size_bytes = Path(out).stat().st_size
        if form == "recording":
            profiles = json.loads(Path(out).read_text())["profiles"]
            return Reading(sum(len(p["samples"]) for p in profiles), int(lost), size_bytes)
        stacks = collapsed(Path(out).read_text(), PY_SPY_FRAME)
        return Reading(stacks.total(), int(lost), size_bytes, stacks)


class PySpyNonblocking(PySpy):
    name = "py-spy --nonblocking"
    options = ("--nonblocking",)


class Austin(Tool):
    """Its binary wants a newer C library than Debian 12 has; where there is a chroot with one, it
    is started by that one's loader and otherwise runs where Cairn runs. Samples that it counts as
    errors stay in its file unmarked; those without a frame are left out here."""

    name = "austin"
    good_status = (0, 254)  # 254 when its time was over before the program was

    def __init__(self, chroot=None):
        binary = str(PEERS / "bin" / "austin")
        self.command = [binary]
        if chroot and subprocess.run([binary, "--version"], capture_output=True).returncode:
            libraries = ":".join(f"{chroot}/{at}/x86_64-linux-gnu" for at in ("lib", "usr/lib"))
            loader = f"{chroot}/lib64/ld-linux-x86-64.so.2"
            self.command = [loader, "--library-path", libraries, binary]

    def version(self):
        return output_of([*self.command, "--version"]).split()[-1]

    def lacks(self, subject):
        return "it does not know CPython 3.15" if subject.version >= (3, 15) else ""

    def attach(self, subject, pid, seconds, hz, out, form):
        interval_us = 1 if hz is None else 1_000_000 // hz
        return [*self.command, "--interval", str(interval_us), "--exposure", str(seconds),
                "--output", out, "--pid", str(pid)]

    def read(self, ran, out, form):
        plain = re.sub(r"\x1b\[[\d;]*m", "", ran.out + ran.err)
        lost, tried = told(r"Error rate[ .]*(\d+)/(\d+)", plain)
        size_bytes = Path(out).stat().st_size
        reading = Reading(int(tried) - int(lost), int(lost), size_bytes)
        if form == "stacks":
            text = f"{out}.txt"
            output_of([PEERS / "bin" / "mojo2austin", out, text])
            lines = [f"{line.rpartition(' ')[0]} 1" for line in Path(text).read_text().splitlines()
                     if not line.startswith("#")]
            stacks = collapsed("\n".join(lines), COLON_FRAME)
            reading.stacks = Counter({s: n for s, n in stacks.items() if any(f for f, _ in s)})
        return reading


class Tachyon(Tool):
    """`python3.15 -m profiling.sampling`, which has to run in the target's own minor version."""

    name = "profiling.sampling"
    options = ()

    def __init__(self, subject):
        self.subject = subject
        self.command = [*subject.prefix(), subject.executable, "-m", "profiling.sampling"]

    def version(self):
        return self.subject.label

    def lacks(self, subject):
        if subject.version[:2] == self.subject.version[:2]:
            return ""
        return "it reads only the minor version that it is part of"

    def file(self, subject, folder):
        return subject.scratch(folder, "tachyon.out")

    def attach(self, subject, pid, seconds, hz, out, form):
        return [*self.command, "attach", "-a", *self.options, "-r",
                str(hz or AS_FAST_AS_IT_GOES), "-d", str(seconds),
                "--collapsed" if form == "stacks" else "--binary", "-o", out, str(pid)]

    def read(self, ran, out, form):
        said = ran.out + ran.err
        ticks = int(told(r"Captured ([\d,]+) samples", said).replace(",", ""))
        lost = round(ticks * float(told(r"Error rate: ([\d.]+)", said)) / 100)
        size_bytes = Path(out).stat().st_size
        if form == "stacks":
            # A name that it read torn is written as it came.
            text = Path(out).read_text(encoding="utf-8", errors="replace")
            stacks = collapsed(text, COLON_FRAME)
            return Reading(stacks.total(), lost, size_bytes, stacks)
        good = int(told(r"Binary profile written to .* \((\d+) samples\)", said))
        return Reading(good, lost, size_bytes)


class TachyonBlocking(Tachyon):
    name = "profiling.sampling --blocking"
    options = ("--blocking",)


def install_peers():
    """A virtual environment of their own; kept, so that only the first run needs the network."""
    if not (PEERS / "ready").exists():
        venv.create(PEERS, with_pip=True)
        pip = [PEERS / "bin" / "python", "-m", "pip", "install", "-q", "--upgrade"]
        for package in PACKAGES:  # one by one: a peer that cannot be had leaves the others
            subprocess.run([*pip, package], check=False, timeout=300)
        (PEERS / "ready").touch()


def find(subjects, reasons):
    """The tools at hand {name: (tool, version)}; those that are not go into `reasons`."""
    install_peers()
    chroot = subjects.get("chroot")
    made = [Cairn(), PySpy(), PySpyNonblocking(), Austin(chroot.chroot if chroot else None)]
    if chroot:
        made += [Tachyon(chroot), TachyonBlocking(chroot)]
    else:
        reasons["profiling.sampling"] = reasons["chroot"]
    found = {}
    for tool in made:
        try:
            found[tool.name] = (tool, tool.version())
        except (OSError, measure.Failed, subprocess.SubprocessError) as why:
            reasons[tool.name] = str(why).splitlines()[0][:120]
    return found

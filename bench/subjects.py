"""What is profiled: interpreters, and programs that they run."""
import contextlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import machine
import measure

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("CAIRN_BUILD", ROOT / "build"))
PROGRAMS = (ROOT / "tests" / "targets", ROOT / "bench" / "targets")
INSIDE = "/tmp/cairn-bench"  # where a chroot has its copy of them
WARM_CPU_S = 0.3  # by then a program is past its imports and in its loop
START_S = 20

sys.path.insert(0, str(ROOT / "tests"))
import harness  # noqa: E402


def build_program(name):
    """The path of a program of the bench: the build knows it, but does not make it of itself."""
    subprocess.run(["meson", "compile", "-C", BUILD, name], check=True, stdout=sys.stderr,
                   timeout=300)
    return BUILD / "bench" / name


def bare_folder(interpreter):
    """The folder in which this interpreter finds the module of bare.c; "" where there are no headers."""
    name = f"_bare.cpython-3{interpreter.version[1]}-"
    found = list((BUILD / "bench").glob(f"{name}*.so"))
    if not found or not interpreter.chroot:
        return str(BUILD / "bench") if found else ""
    inside = Path(interpreter.chroot + INSIDE)
    inside.mkdir(parents=True, exist_ok=True)
    shutil.copy(found[0], inside)
    return INSIDE


@dataclass(frozen=True)
class Subject:
    """One CPython, outside or in a chroot."""

    label: str
    version: tuple
    executable: str
    chroot: str = ""

    def prefix(self):
        return ["chroot", self.chroot] if self.chroot else []

    def prepare(self):
        if self.chroot:
            shutil.rmtree(self.chroot + INSIDE, ignore_errors=True)
            Path(self.chroot + INSIDE).mkdir(parents=True)
            for folder in PROGRAMS:
                for file in folder.glob("*.py"):
                    shutil.copy(file, self.chroot + INSIDE)

    def command(self, program, *args):
        """`program`: its file, and arguments that belong to it."""
        file, *own = program.split()
        if self.chroot:
            place = f"{INSIDE}/{file}"
        else:
            place = str(next(p / file for p in PROGRAMS if (p / file).exists()))
        return [*self.prefix(), self.executable, place, *own, *map(str, args)]

    def scratch(self, folder, name):
        """A file name for a tool that runs beside this subject: (as seen there, as seen here)."""
        if self.chroot:
            return f"{INSIDE}/{name}", Path(f"{self.chroot}{INSIDE}/{name}")
        return str(folder / name), folder / name

    @contextlib.contextmanager
    def running(self, program, *args, warm=True):
        """The program, running: in its loop if `warm`, else as soon as it has said a line."""
        process = subprocess.Popen(
            self.command(program, *args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            preexec_fn=machine.to_target_core,
        )
        try:
            deadline = time.monotonic() + START_S
            while warm and measure.cpu_s(process.pid) < WARM_CPU_S:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise measure.Failed(f"{program} did not start")
                time.sleep(0.01)
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def label_of(interpreter, labels):
    version = ".".join(map(str, interpreter.version))
    return interpreter.label if version in labels else version


def all_subjects():
    """Every CPython that Cairn reads and that can be run here: {label: Subject}, oldest first."""
    found = {}
    for i in sorted(harness.supported_interpreters(), key=lambda i: i.version):
        if not i.chroot or os.geteuid() == 0:
            label = label_of(i, found)
            found[label] = Subject(label, i.version, i.executable, i.chroot)
    return found


def find(newest_outside):
    """(all subjects, those the peers need, reasons where there is none). Of these the newest of
    each: {"outside": …, "chroot": …}; `newest_outside`: the newest minor that all outside peers can
    read."""
    subjects, found, reasons = all_subjects(), {}, {}
    outside = [s for s in subjects.values()
               if not s.chroot and (3, 11) <= s.version[:2] <= newest_outside]
    chroots = [s for s in subjects.values() if s.chroot and s.version[:2] == (3, 15)]
    if outside:
        found["outside"] = outside[-1]
    else:
        reasons["outside"] = "no CPython from 3.11 to 3.13 is installed"
    if chroots:
        found["chroot"] = chroots[-1]
    elif os.geteuid():
        reasons["chroot"] = "CPython 3.15 lies in a folder of its own, and chroot needs root"
    else:
        reasons["chroot"] = "tools/interpreters.sh found no CPython 3.15"
    for subject in subjects.values():
        subject.prepare()
    return subjects, found, reasons

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
PROGRAMS = (ROOT / "tests" / "targets", ROOT / "bench" / "targets")
INSIDE = "/tmp/cairn-bench"  # where a chroot has its copy of them
WARM_CPU_S = 0.3  # by then a program is past its imports and in its loop
START_S = 20

sys.path.insert(0, str(ROOT / "tests"))
import harness  # noqa: E402


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
        if self.chroot:
            place = f"{INSIDE}/{program}"
        else:
            place = str(next(p / program for p in PROGRAMS if (p / program).exists()))
        return [*self.prefix(), self.executable, place, *map(str, args)]

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


def find(wanted):
    """The subjects the peers need, newest of each: {"outside": …, "chroot": …}, with the reason
    where there is none. `wanted`: the newest minor that all outside peers can read."""
    found, reasons = {}, {}
    outside = [i for i in harness.installed_interpreters() if (3, 11) <= i.version[:2] <= wanted]
    chroots = [i for i in harness.unpacked_interpreters() if i.version[:2] == (3, 15)]
    if outside:
        newest = max(outside, key=lambda i: i.version)
        label = ".".join(map(str, newest.version))
        found["outside"] = Subject(label, newest.version, newest.executable)
    else:
        reasons["outside"] = "no CPython from 3.11 to 3.13 is installed"
    if chroots and os.geteuid() == 0:
        newest = chroots[0]
        label = ".".join(map(str, newest.version))
        found["chroot"] = Subject(label, newest.version, newest.executable, newest.chroot)
    elif chroots:
        reasons["chroot"] = "CPython 3.15 lies in a folder of its own, and chroot needs root"
    else:
        reasons["chroot"] = "tools/interpreters.sh found no CPython 3.15"
    for subject in found.values():
        subject.prepare()
    return found, reasons

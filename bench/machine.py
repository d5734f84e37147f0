"""What the numbers were measured on; no names of hosts, users or folders."""
import os
import platform
import resource
import time
from contextlib import contextmanager
from pathlib import Path


CORES = sorted(os.sched_getaffinity(0))


def to_tool_cores():
    """This process, and the tools it starts from now on, leave one core to the target: a profiler
    that takes turns with its target on one core sees it stand still, which is cheap and safe."""
    if len(CORES) > 1:
        os.sched_setaffinity(0, CORES[:-1])


def to_target_core():
    os.sched_setaffinity(0, CORES[-1:])


def to_every_core():
    """For what has no target beside it."""
    os.sched_setaffinity(0, CORES)


def first_line(path, key):
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.partition(":")[2].strip()
    return "unknown"


def describe():
    return {
        "cpu": first_line("/proc/cpuinfo", "model name"),
        "cores": len(CORES),
        "hypervisor": "hypervisor" in first_line("/proc/cpuinfo", "flags").split(),
        "memory_gib": round(int(first_line("/proc/meminfo", "MemTotal").split()[0]) / 2**20),
        "kernel": platform.release(),
        "system": first_line_of_os(),
    }


def first_line_of_os():
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def below_s():
    """CPU seconds of all processes below this one, living ones and those that were waited for."""
    of, below = {}, {os.getpid()}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        of[int(entry.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    while more := {pid for pid, (parent, _) in of.items() if parent in below} - below:
        below |= more
    ticks = sum(of[pid][1] for pid in below - {os.getpid()} if pid in of)
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ticks / os.sysconf("SC_CLK_TCK") + waited.ru_utime + waited.ru_stime


lost_s = 0.0  # of processes below this one, that nobody waited for


@contextmanager
def ending():
    """For what ends processes that were not all started here, as a browser's are."""
    global lost_s
    before_s = below_s()
    try:
        yield
    finally:
        lost_s += max(0.0, before_s - below_s())


def busy_s():
    """(CPU seconds of the whole machine so far, those of this process and what it waited for)."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    all_s = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return all_s, lost_s + sum(usage.ru_utime + usage.ru_stime for usage in own)


class Neighbours:
    """How busy others kept the machine meanwhile."""

    def __init__(self):
        self.begin_s, self.begin = time.monotonic(), busy_s()

    def cores(self):
        all_s, own_s = (now - then for now, then in zip(busy_s(), self.begin))
        return max(0.0, (all_s - own_s) / (time.monotonic() - self.begin_s))

"""Row threads: how many looks at all of 64 threads, four of them busy, there can be in a second."""
import measure
from table import Goal

ROWS = ("threads",)
PROGRAM = "four_busy.py"
THREADS = 64
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")
EXPECTED = {"cairn": "14,000-28,000", "profiling.sampling": "578-645"}


def measure_rows(bench):
    table = bench.table("threads", "64 threads, 4 busy, as fast as it goes",
                        "looks at all threads per second", EXPECTED, Goal(10_000, at_most=False))
    cost = bench.table("threads: cost", "64 threads, 4 busy, cost of a look at all of them",
                       "us of profiler CPU",
                       {"cairn": "35-70", "profiling.sampling": "1,500-1,700"})
    for turn, subject, tool in bench.turns("threads", TOOLS, elsewhere=True):
        try:
            seconds, cpu_s, good, lost = bench.slope(tool, subject, PROGRAM, None)
        except measure.Failed as why:
            table.fail(subject.label, tool.name, why)
            cost.fail(subject.label, tool.name, why)
            continue
        looks = (good + lost) / THREADS
        table.add(turn, subject.label, tool.name, looks / seconds)
        cost.add(turn, subject.label, tool.name, cpu_s / looks * 1e6)

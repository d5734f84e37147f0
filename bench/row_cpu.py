"""Row cpu: what a profiler takes of a processor at 1 kHz, beside 1 and beside 64 threads."""
import measure
from table import Goal

ROWS = ("cpu",)
HZ = 1000
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")
PROGRAMS = (("busy.py", 1, "1 thread"), ("idle_threads.py", 65, "1 busy and 64 idle threads"))
GOALS = {1: Goal(3), 65: Goal(10)}
EXPECTED = {
    1: {"cairn": "< 3 %"},
    65: {"cairn": "3.5-7 %", "profiling.sampling": "50 % with its start"},
}


def measure_rows(bench):
    for program, threads, name in bench.some(PROGRAMS):
        share = bench.table(f"cpu: {name}", f"Own CPU at 1 kHz, {name}", "% of one core",
                            EXPECTED[threads], GOALS[threads])
        got = bench.table(f"cpu: rate got, {name}", f"Rate got when asked for 1 kHz, {name}",
                          "looks at all threads per second", {"all": "1,000"})
        for turn, subject, tool in bench.turns(f"cpu, {name}", TOOLS, elsewhere=True):
            try:
                seconds, cpu_s, good, lost = bench.slope(tool, subject, program, HZ)
            except measure.Failed as why:
                share.fail(subject.label, tool.name, why)
                got.fail(subject.label, tool.name, why)
                continue
            share.add(turn, subject.label, tool.name, 100 * cpu_s / seconds)
            got.add(turn, subject.label, tool.name, (good + lost) / threads / seconds)

"""Row cpu: what a profiler takes of a processor at 1 kHz, beside 1 and beside 64 threads."""
import measure
from subjects import build_program
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


def measure_waking(bench):
    """What no sampler can be below on this machine: the others hold it as well."""
    table = bench.table("cpu: waking", "What waking at 1 kHz takes alone, when nothing is done then",
                        "% of one core", {})
    program, seconds = build_program("bare_sleep"), bench.seconds(3, 2)
    for turn in range(bench.rounds):
        ran = measure.run([program, str(seconds), str(1_000_000_000 // HZ)], 60)
        table.add(turn, "no program", "a loop that sleeps", 100 * ran.cpu_s / seconds)


def measure_rows(bench):
    measure_waking(bench)
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

"""Rows cost and rate: what a sample costs, and how many a second there can be."""
import measure
from table import Goal

ROWS = ("cost", "rate")
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")
PROGRAMS = (("busy.py", "shallow"), ("deep.py", "203 deep"))
COST_GOALS = {"shallow": Goal(8, old=10), "203 deep": Goal(22, old=40)}
RATE_GOALS = {"shallow": Goal(130_000, at_most=False)}

COST = {
    "shallow": {"cairn": "2.2-7.7", "profiling.sampling": "20-54", "austin": "40"},
    "203 deep": {"cairn": "11-22", "austin": "930"},
}
RATE = {
    "shallow": {"cairn": "127,000-448,000", "profiling.sampling": "18,600-49,000",
                "austin": "25,000"},
    "203 deep": {"cairn": "46,000-92,000", "austin": "1,070"},
}


def measure_rows(bench):
    for program, name in bench.some(PROGRAMS):
        cost = bench.table(f"cost: {name}", f"Cost of a sample, {name}, as fast as it goes",
                           "us of profiler CPU per good sample", COST[name], COST_GOALS[name])
        rate = bench.table(f"rate: {name}", f"Highest rate, {name}, one thread",
                           "good samples per second", RATE[name], RATE_GOALS.get(name))
        for turn, subject, tool in bench.turns(f"cost and rate, {name}", TOOLS, elsewhere=True):
            try:
                seconds, cpu_s, good, _ = bench.slope(tool, subject, program, None)
            except measure.Failed as why:
                cost.fail(subject.label, tool.name, why)
                rate.fail(subject.label, tool.name, why)
                continue
            cost.add(turn, subject.label, tool.name, cpu_s / good * 1e6)
            rate.add(turn, subject.label, tool.name, good / seconds)

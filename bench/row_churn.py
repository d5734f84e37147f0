"""Row torn: what share of the samples of a call-churn program is lost, and what share is wrong.

tests/targets/flutter.py calls short functions by a grammar that it knows. `torn` is what a tool
itself throws away or marks; `impossible` is what it passes off as good but the grammar forbids.
"""
from collections import Counter, defaultdict

import measure
from ratios import wilson
from table import Goal

ROWS = ("torn",)
PROGRAM = "flutter.py"
TOOLS = ("cairn", "py-spy", "py-spy --nonblocking", "austin", "profiling.sampling",
         "profiling.sampling --blocking")
FAMILIES = ("red", "green", "blue", "grey")
LEGAL = {("<module>", "main"), ("main", "rounds")}
for _family in FAMILIES:
    LEGAL |= {("rounds", f"{_family}_top"), (f"{_family}_top", f"{_family}_middle"),
              (f"{_family}_middle", f"{_family}_leaf")}

TORN = {"cairn": "12-31 % at the fastest churn before checks", "profiling.sampling": "18-22 %",
        "profiling.sampling --blocking": "0 %", "austin": "0-3 errors"}
IMPOSSIBLE = {
    1000: {"cairn": "0.0004-0.0022 %", "profiling.sampling": "0.2-0.6 %",
           "profiling.sampling --blocking": "0 %", "austin": "0.27 %"},
    None: {"cairn": "0.0004-0.0022 %", "profiling.sampling": "0.2-0.6 %",
           "profiling.sampling --blocking": "0 %", "austin": "7.65 % at 10 us"},
}


def impossible(stacks):
    """How many samples have a caller and callee, both of the program, that the grammar does not
    know, or begin elsewhere than at its <module>."""
    wrong = 0
    for stack, samples in stacks.items():
        own = [i for i, (file, _) in enumerate(stack) if file == PROGRAM]
        pairs = {(stack[i - 1][1], stack[i][1]) for i in own[1:]}
        if own and (stack[own[0]][1] != "<module>" or not pairs <= LEGAL
                    or own != list(range(own[0], own[-1] + 1))):
            wrong += samples
    return wrong


def measure_rows(bench):
    seconds = bench.seconds(3, 1)
    for hz, name in ((1000, "1 kHz"), (None, "as fast as it goes")):
        torn = bench.table(f"torn: {name}", f"Torn by the tool's own account, call churn, {name}",
                           "% of samples tried", TORN, Goal(1, old=5))
        wrong = bench.table(f"torn: impossible, {name}",
                            f"Impossible stacks passed off as good, call churn, {name}",
                            "% of good samples", IMPOSSIBLE[hz], Goal(0.002, old=0.01))
        sums = defaultdict(Counter)
        for turn, subject, tool in bench.turns(f"torn, {name}", TOOLS, elsewhere=True):
            key = subject.label, tool.name
            try:
                _, reading = bench.profile(tool, subject, PROGRAM, seconds, hz, "stacks")
                good = reading.stacks.total()
                if good == 0:
                    raise measure.Failed("no good sample")
            except measure.Failed as why:
                torn.fail(*key, why)
                wrong.fail(*key, why)
                continue
            sums[key].update(hits=impossible(reading.stacks), good=good, lost=reading.lost)
            torn.add(turn, *key, 100 * reading.lost / (reading.lost + good))
            wrong.add(turn, *key, 100 * impossible(reading.stacks) / good)
        for key, sum_of in sums.items():
            low, high = wilson(sum_of["hits"], sum_of["good"])
            wrong.judged[key] = 100 * low, 100 * high
            tried = sum_of["lost"] + sum_of["good"]
            torn.judged[key] = tuple(100 * end for end in wilson(sum_of["lost"], tried))
            wrong.notes[key] = (f"{sum_of['hits']:,} of {sum_of['good']:,}: "
                                f"{100 * low:.4f}-{100 * high:.4f} %")
            torn.notes[key] = f"{sum_of['lost']:,} of {sum_of['lost'] + sum_of['good']:,}"

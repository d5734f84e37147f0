"""Row start: from the start of the command to the first sample in its output, of a program that
runs already. The program's stack says what time it is (targets/slots.py), to the millisecond."""
import json
import re
import select

import measure
from table import Goal

ROWS = ("start",)
HZ = 1000
SLOTS_S = 12
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")


def first_slot(stacks):
    slots = [int(m[1]) for stack in stacks for _, name in stack
             if (m := re.fullmatch(r"slot_(\d+)", name))]
    if not slots:
        raise measure.Failed("no sample is in any slot")
    return min(slots)


def measure_rows(bench):
    table = bench.table("start", "Start to the first sample of a running process, asked for 1 kHz",
                        "ms", {"all": "no figure in the research"}, Goal(50))
    for turn, subject, tool in bench.turns("start", TOOLS, elsewhere=True):
        try:
            with subject.running("slots.py", SLOTS_S, warm=False) as process:
                if not select.select([process.stdout], [], [], 20)[0]:
                    raise measure.Failed("slots.py did not start")
                start_ns = json.loads(process.stdout.readline())["start_ns"]
                ran, reading = bench.attach(tool, subject, process.pid, 2, HZ, "stacks")
        except measure.Failed as why:
            table.fail(subject.label, tool.name, why)
            continue
        first_ns = start_ns + first_slot(reading.stacks) * 1_000_000
        if first_ns < ran.started_ns:
            table.fail(subject.label, tool.name, "the program was behind the time: no core for it")
            continue
        table.add(turn, subject.label, tool.name, (first_ns - ran.started_ns) / 1e6)

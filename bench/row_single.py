"""Rows single and cold: what each single sample costs Cairn, by sample_cost.c.

No peer tells what a single sample of its own took, and from outside it cannot be seen; these rows
have no peers. `cold` is asked of 3.8 to 3.10 only, where frames lie scattered on the heap: a stack
whose frames all lie where none was before has to be followed frame by frame.
"""
import json

import measure
from subjects import build_program
from table import Goal

ROWS = ("single", "cold")
PROGRAMS = (("busy.py", "shallow", Goal(8, old=10)), ("deep.py", "203 deep", Goal(22, old=40)))
RATES = ((None, "as fast as it goes"), (1000, "at 1 kHz"))
COLD = ("deep_anew.py", Goal(120))
COLD_HZ = 1000
ENOUGH = 20  # samples; fewer have no p99
CAIRN = "cairn"


def take(bench, binary, subject, program, hz):
    """What sample_cost says of a program of its own."""
    seconds = bench.seconds(3, 2)
    with subject.running(program, 600) as process:
        mean_ns = 1_000_000_000 // hz if hz else 0
        args = [binary, process.pid, seconds, mean_ns, bench.folder / "single.cairn"]
        return json.loads(measure.run([str(a) for a in args], 60).out)


def add(tables, turn, subject, said, kind):
    """Percentiles, each with the sample's part of the writing that is done once a second."""
    costs = said[kind]
    if costs["samples"] < ENOUGH:
        raise measure.Failed(f"{costs['samples']} samples")
    for table, percentile in tables:
        table.add(turn, subject.label, CAIRN, costs[f"{percentile}_us"] + said["write_us"])
        table.notes[subject.label, CAIRN] = (
            f"{costs['samples']:,} samples a run; with {said['write_us']:.2f} us of writing and "
            f"{said['clock_us']:.2f} us of the clock itself")


def make_tables(bench, key, title, goal):
    unit = "us of CPU for one sample"
    return ((bench.table(f"{key}: median", f"{title}: median", unit, {}, goal), "median"),
            (bench.table(f"{key}: p99", f"{title}: p99", unit, {}), "p99"))


def measure_tables(bench, binary, tables, turns, program, hz, kind):
    for turn, subject, tool in turns:
        try:
            add(tables, turn, subject, take(bench, binary, subject, program, hz), kind)
        except measure.Failed as why:
            for table, _ in tables:
                table.fail(subject.label, tool.name, why)


def measure_rows(bench):
    binary = build_program("sample_cost")
    if bench.wants("single"):
        for program, name, goal in bench.some(PROGRAMS):
            for hz, rate in RATES:
                tables = make_tables(bench, f"single: {name}, {rate}",
                                     f"Cost of single samples, {name}, {rate}", goal)
                measure_tables(bench, binary, tables,
                               bench.turns(f"single, {name}, {rate}", (CAIRN,), elsewhere=True),
                               program, hz, "known")
    if bench.wants("cold"):
        program, goal = COLD
        tables = make_tables(bench, "cold", "Cost of single samples, 203 deep, a stack that was "
                             "never seen", goal)
        measure_tables(bench, binary, tables, bench.turns_on(bench.old, "cold", (CAIRN,)), program,
                       COLD_HZ, "new")

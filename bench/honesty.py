#!/usr/bin/env python3
"""How many samples are torn, and how many are impossible, on every interpreter there is.

    bench/honesty.py [--ticks N] [--most-ticks N] [--rate RATE]… [--only 3.12]

Programs that call, raise and hand over all the time, with a grammar of what can stand on what
(tests/targets), are recorded until there are --ticks samples of each interpreter at 1 and at 10 kHz
(150,000), and --most-ticks as fast as it goes (3,000,000); of those alone whose name begins so with
--only. Writes bench/results/<date>-honesty.md
and .json. Peers are measured on one program, in the row `torn` of run.py.
"""
import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import machine
import results
from ratios import wilson

ROOT = Path(__file__).resolve().parent.parent
os.environ["CAIRN_FULL"] = "1"  # programs that are not solved count as well
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "accuracy")]
import harness  # noqa: E402
from test_churn import CHURN, churn  # noqa: E402

RATES = {"1khz": 1000, "10khz": 10_000, "max": 100_000}  # samples a second, about
LONGEST_S = 40.0  # of one recording
TAKEN_MOST = 20  # recordings of one program that the host took the processor from; they do not count
COLUMNS = ("interpreter", "rate", "program", "samples", "torn", "torn %", "impossible", "impossible, 95 %",
           "wrong lines", "missed ticks", "left out")  # the last: recordings


def quality_of(folder):
    """What the newest recording says of itself."""
    newest = max(folder.rglob("*.cairn"), key=lambda file: file.stat().st_mtime)
    return harness.Cairn(folder).report(newest)["quality"]


def measure(interpreter, script, rate, ticks):
    """Sums over as many recordings as it takes."""
    sums = Counter()
    while sums["n"] < ticks:
        with TemporaryDirectory(prefix="cairn-honesty-") as place:
            cairn = harness.Cairn(Path(place))
            seconds = min(LONGEST_S, max(1.0, 1.05 * (ticks - sums["n"]) / RATES[rate]))
            try:
                n, torn, wrong, wrong_lines = churn(cairn, interpreter, script, seconds, rate, 1)
            except pytest.skip.Exception as taken:
                sums["taken"] += 1
                if sums["taken"] > TAKEN_MOST:
                    raise
                print(f"once more: {taken}", flush=True)
                continue
            missed = quality_of(Path(place))["missed"]
        sums.update(n=n, torn=torn, wrong=sum(wrong.values()),
                    wrong_lines=sum(wrong_lines.values()), missed=missed)
    return sums


def line_of(interpreter, rate, script, sums):
    low, high = wilson(sums["wrong"], sums["n"] - sums["torn"])
    return (interpreter.label, rate, script, f"{sums['n']:,}", f"{sums['torn']:,}",
            f"{100 * sums['torn'] / sums['n']:.3f}", f"{sums['wrong']:,}",
            f"{100 * low:.5f}-{100 * high:.5f} %", f"{sums['wrong_lines']:,}",
            f"{sums['missed']:,}", f"{sums['taken']:,}")


def write(begun, only, begin, neighbours, lines):
    """Anew after each row: what was measured is kept however the run ends."""
    facts = {"date": begun, "machine": machine.describe(),
             "minutes": (time.monotonic() - begin) / 60, "neighbour_cores": neighbours.cores(),
             "columns": COLUMNS, "rows": lines}
    name = f"{begun[:10]}-honesty{f'-{only}' if only else ''}"
    (results.FOLDER / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    table = ["| " + " | ".join(row) + " |" for row in (COLUMNS, ["---"] * len(COLUMNS), *lines)]
    text = (f"# Torn and impossible stacks\n\n{begun}; others kept "
            f"{facts['neighbour_cores']:.2f} cores busy, {facts['minutes']:.0f} minutes\n\n"
            f"{facts['machine']}\n\n")
    (results.FOLDER / f"{name}.md").write_text(text + "\n".join(table) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ticks", type=int, default=150_000)
    parser.add_argument("--most-ticks", type=int, default=3_000_000)
    parser.add_argument("--rate", action="append", choices=RATES)
    parser.add_argument("--only", default="", metavar="VERSION")
    args = parser.parse_args()
    begun = time.strftime("%Y-%m-%d %H:%M")
    lines, begin, neighbours = [], time.monotonic(), machine.Neighbours()
    for rate in args.rate or RATES:
        for interpreter in harness.supported_interpreters():
            if not interpreter.label.startswith(args.only):
                continue
            interpreter.prepare()
            every = Counter()
            for script in CHURN:  # a like part of the samples from each
                ticks = args.most_ticks if rate == "max" else args.ticks
                sums = measure(interpreter, script, rate, ticks / len(CHURN))
                lines.append(line_of(interpreter, rate, script, sums))
                every.update(sums)
            lines.append(line_of(interpreter, rate, "all", every))
            print("| " + " | ".join(lines[-1]) + " |", flush=True)
            write(begun, args.only, begin, neighbours, lines)


if __name__ == "__main__":
    main()

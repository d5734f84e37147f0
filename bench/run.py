#!/usr/bin/env python3
"""`make bench`: Cairn and its peers on the same work, interleaved, in one run.

    bench/run.py [--quick] [--rounds N] [--row NAME]…
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import results
import row_bytes
import row_churn
import row_cpu
import row_report
import row_speed
import row_start
import subjects
import tools
from bench import Bench

THEMES = (row_speed, row_churn, row_cpu, row_bytes, row_start, row_report)
ROWS = tuple(row for theme in THEMES for row in theme.ROWS)
OWN_MOUNTS = "CAIRN_BENCH_OWN_MOUNTS"
NEWEST_OUTSIDE = (3, 13)  # austin and py-spy read it, and so does every Debian's tool chain


def enter_own_mounts():
    """Again, with mounts of its own: the chroot needs a /proc, and nothing is to stay mounted."""
    if os.geteuid() == 0 and OWN_MOUNTS not in os.environ:
        os.environ[OWN_MOUNTS] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


def mount_proc(subject):
    subprocess.run(["mount", "--bind", "/proc", f"{subject.chroot}/proc"], check=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about two minutes, rough")
    parser.add_argument("--rounds", type=int, help="default 5, with --quick 1")
    parser.add_argument("--row", action="append", choices=ROWS, help="only this one; repeatable")
    return parser.parse_args()


def commit():
    args = ["git", "-C", str(subjects.ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(args, capture_output=True, text=True).stdout.strip() or "no commit"


def measure_all(bench):
    begin, neighbours = time.monotonic(), machine.Neighbours()
    facts = {"date": time.strftime("%Y-%m-%d %H:%M"), "commit": commit(),
             "machine": machine.describe(), "rounds": bench.rounds, "quick": bench.quick,
             "versions": {name: version for name, (_, version) in bench.tools.items()},
             "subjects": [subject.label for subject in bench.subjects.values()]}
    for theme in THEMES:
        if bench.wants(*theme.ROWS):
            first, during = len(bench.tables), machine.Neighbours()
            theme.measure_rows(bench)
            for table in bench.tables[first:]:
                table.neighbour_cores = during.cores()
    facts["minutes"] = (time.monotonic() - begin) / 60
    facts["neighbour_cores"] = neighbours.cores()
    return {**facts, "reasons": bench.reasons, "refused": bench.refused}


def main():
    args = arguments()
    enter_own_mounts()
    found, reasons = subjects.find(NEWEST_OUTSIDE)
    if not found:
        sys.exit("no CPython to profile: " + "; ".join(reasons.values()))
    if "chroot" in found:
        mount_proc(found["chroot"])
    machine.to_tool_cores()
    folder = Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    bench = Bench(subjects=found, tools=tools.find(found, reasons), reasons=reasons, folder=folder,
                  rounds=args.rounds or (1 if args.quick else 5), quick=args.quick,
                  rows=tuple(args.row or ROWS))
    if "cairn" not in bench.tools:
        sys.exit(f"no cairn to measure: {reasons['cairn']}")
    try:
        page = results.write(measure_all(bench), bench.tables)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(page.read_text())


if __name__ == "__main__":
    main()

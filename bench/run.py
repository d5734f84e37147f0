#!/usr/bin/env python3
"""`make bench`: Cairn and its peers on the same work, interleaved, in one run.

    bench/run.py [--quick] [--rounds N] [--row NAME]… [--interpreters all|two|VERSION,…]
                 [--peers two|everywhere]
"""
import argparse
import os
import shutil
import signal
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
import row_import
import row_lines
import row_page
import row_programs
import row_regions
import row_report
import row_single
import row_slowdown
import row_speed
import row_start
import row_threads
import row_trace
import subjects
import tools
from bench import Bench

THEMES = (row_speed, row_single, row_churn, row_cpu, row_threads, row_slowdown, row_bytes,
          row_start, row_report, row_import, row_page, row_trace, row_lines, row_regions,
          row_programs)
ROWS = tuple(row for theme in THEMES for row in theme.ROWS)
OWN_MOUNTS = "CAIRN_BENCH_OWN_MOUNTS"
NEWEST_OUTSIDE = (3, 13)  # austin and py-spy read it, and so does every Debian's tool chain


def enter_own_mounts():
    """Again, with mounts of its own: the chroot needs a /proc, and nothing is to stay mounted."""
    if os.geteuid() == 0 and OWN_MOUNTS not in os.environ:
        os.environ[OWN_MOUNTS] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


def mount_proc(chroot):
    subprocess.run(["mount", "--bind", "/proc", f"{chroot}/proc"], check=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few minutes, rough")
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--row", action="append", choices=ROWS, help="only this one; repeatable")
    parser.add_argument("--interpreters", default="two",
                        help="two (those the peers need), all, or versions: 3.8.18,3.13.0")
    parser.add_argument("--peers", default="two", choices=("two", "everywhere"),
                        help="with --interpreters: on the others Cairn alone, or peers as well")
    return parser.parse_args()


def chosen(wanted, every, peers):
    """(subjects of every row, those of some rows), by what --interpreters says."""
    if wanted == "two":
        return peers, {}
    labels = set(every) if wanted == "all" else set(wanted.split(","))
    if labels - set(every):
        sys.exit(f"not at hand: {', '.join(sorted(labels - set(every)))}; there are "
                 f"{', '.join(every)}")
    main = {key: subject for key, subject in peers.items() if subject.label in labels}
    return main, {label: subject for label, subject in every.items()
                  if label in labels and subject not in main.values()}


def commit():
    args = ["git", "-C", str(subjects.ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(args, capture_output=True, text=True).stdout.strip() or "no commit"


def measure_all(bench):
    """Writes the page anew after each theme: what was measured is kept however the run ends."""
    begin, neighbours = time.monotonic(), machine.Neighbours()
    facts = {"date": time.strftime("%Y-%m-%d %H:%M"), "commit": commit(),
             "machine": machine.describe(), "rounds": bench.rounds, "quick": bench.quick,
             "which": bench.which, "rows": [] if set(bench.rows) == set(ROWS) else bench.rows,
             "versions": {name: version for name, (_, version) in bench.tools.items()},
             "subjects": [subject.label for subject in
                          (*bench.subjects.values(), *bench.others.values())]}
    for theme in THEMES:
        if bench.wants(*theme.ROWS):
            first, during = len(bench.tables), machine.Neighbours()
            theme.measure_rows(bench)
            for table in bench.tables[first:]:
                table.neighbour_cores = during.cores()
            facts["minutes"] = (time.monotonic() - begin) / 60
            facts["neighbour_cores"] = neighbours.cores()
            page = results.write({**facts, "reasons": bench.reasons, "refused": bench.refused},
                                 bench.tables)
    return page


def main():
    args = arguments()
    # Tools are ended by it; a shell that starts this in the background has it ignored, by them too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    enter_own_mounts()
    every, peers, reasons = subjects.find(NEWEST_OUTSIDE)
    main, others = chosen(args.interpreters, every, peers)
    if not main and not others:
        sys.exit("no CPython to profile: " + "; ".join(reasons.values()))
    for chroot in {subject.chroot for subject in every.values()} - {""}:
        mount_proc(chroot)
    machine.to_tool_cores()
    folder = Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    old = {label: s for label, s in every.items() if s.version < (3, 11) and
           (args.interpreters == "two" or s in others.values())}
    bench = Bench(subjects=main, others=others, old=old, which=args.interpreters,
                  peers_everywhere=args.peers == "everywhere",
                  tools=tools.find(peers, reasons), reasons=reasons, folder=folder,
                  rounds=args.rounds or (1 if args.quick else 3), quick=args.quick,
                  rows=tuple(args.row or ROWS))
    if "cairn" not in bench.tools:
        sys.exit(f"no cairn to measure: {reasons['cairn']}")
    try:
        page = measure_all(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(page.read_text())


if __name__ == "__main__":
    main()

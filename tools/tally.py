#!/usr/bin/env python3
"""Sums up the stages of tools/test.sh; the last line is "N passed, N failed, N skipped".

usage: tally.py STAGES

STAGES has one stage a line: name, exit status, seconds and where its results lie, parted by tabs.
Results are Meson's log (.json: one test a line, with its TAP), pytest's (.xml: JUnit) or plain TAP
(.tap). A stage that ran no test counts as one failure, and so does one that ended badly although
none of its tests failed.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

TAP = re.compile(r"^(ok|not ok)\b[ \d]*-?\s*(.*?)\s*(?:# SKIP\S*\s*(.*))?$", re.IGNORECASE)


def tap_cases(name, text):
    """Yields (name, "passed", "failed" or "skipped", reason) for each case."""
    for row in text.splitlines():
        case = TAP.match(row)
        whole = re.match(r"1\.\.0\s*# SKIP\s*(.*)", row)
        if whole:
            yield name, "skipped", whole[1]
        elif case and case[3] is not None:
            yield f"{name}: {case[2]}", "skipped", case[3]
        elif case:
            yield f"{name}: {case[2]}", "passed" if case[1] == "ok" else "failed", ""


def meson_cases(path):
    for line in path.read_text().splitlines():
        test = json.loads(line)
        name, result = test["name"], test["result"]
        cases = list(tap_cases(name, test.get("stdout", "")))
        bad = result not in ("OK", "SKIP", "EXPECTEDFAIL")
        if bad and not any(outcome == "failed" for _, outcome, _ in cases):
            cases.append((name, "failed", result.lower()))
        yield from cases or [(name, "skipped" if result == "SKIP" else "passed", "")]


def pytest_cases(path):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield name, "failed", ""
        elif skipped is not None:
            yield name, "skipped", skipped.get("message", "")
        else:
            yield name, "passed", ""


READERS = {
    ".json": meson_cases,
    ".xml": pytest_cases,
    ".tap": lambda path: tap_cases(path.stem, path.read_text()),
}


def stage_cases(name, status, path):
    try:
        cases = list(READERS[path.suffix](path))
    except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
        return [(name, "failed", f"no results: {error}")]
    if not any(outcome != "skipped" for _, outcome, _ in cases):
        cases.append((name, "failed", "it ran no test"))
    if status != "0" and not any(outcome == "failed" for _, outcome, _ in cases):
        cases.append((name, "failed", f"it ended with status {status}"))
    # Nothing is skipped in silence.
    return [(case, "failed", "skipped without a reason") if (outcome, reason) == ("skipped", "")
            else (case, outcome, reason) for case, outcome, reason in cases]


def main() -> int:
    total = {"passed": 0, "failed": 0, "skipped": 0}
    skips, failures = [], []
    stages = pathlib.Path(sys.argv[1])
    print("== sum")
    for line in stages.read_text().splitlines() if stages.exists() else ():
        name, status, seconds, results = line.split("\t")
        cases = stage_cases(name, status, pathlib.Path(results))
        counts = {word: sum(outcome == word for _, outcome, _ in cases) for word in total}
        for word, count in counts.items():
            total[word] += count
        told = ", ".join(f"{count} {word}" for word, count in counts.items())
        print(f"{name:12} {int(seconds):5} s   {told}")
        skips += [f"skipped: {name}: {case}: {why}"
                  for case, word, why in cases if word == "skipped"]
        failures += [f"failed: {name}: {case}{': ' + why if why else ''}"
                     for case, word, why in cases if word == "failed"]
    print(*skips, *failures, sep="\n")
    print(", ".join(f"{count} {word}" for word, count in total.items()))
    return 1 if total["failed"] or not total["passed"] else 0


sys.exit(main())

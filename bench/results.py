"""Writes the tables: bench/results/<date>.md for people, .json for programs."""
import json
import math
from pathlib import Path

ALONE_CORES = 0.2  # what the system itself may take

FOLDER = Path(__file__).resolve().parent / "results"


def without_place(text):
    """Reasons may quote file names; where this tree lies is nobody's business."""
    return text.replace(f"{FOLDER.parents[1]}/", "")


def number(value):
    """Three significant digits, no exponent."""
    if value == 0 or value is None:
        return "0" if value == 0 else "-"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{round(value, digits):,.{digits}f}"


def spread(values):
    if not values:
        return "no number"
    low, high = number(min(values)), number(max(values))
    return f"{low}-{high}" if len(values) > 1 else "one run"


def ratio_text(line):
    if line["tool"] == "cairn":
        return "1"
    if line["ratio"] is None:
        return "-"
    middle, low, high = map(number, line["ratio"])
    return f"x{middle} [{low}-{high}]"


def runs_text(line):
    failed = len(line["failures"])
    return f"{len(line['values'])} ok, {failed} failed" if failed else f"{len(line['values'])} ok"


def goal_text(table, line):
    """(what was to be reached, whether it is)"""
    if line["goal"] is None:
        return "-", "-"
    goal = table.goal_of(line["tool"])
    sign = "<=" if goal.at_most else ">="
    met = "**no**" if line["met"] == "no" else line["met"]
    if not goal.peer:
        return f"{sign} {number(line['goal'])}", met
    held = "" if line["held"] is None else f" ({number(line['held'])})"
    return f"{sign} {number(line['goal'])} of {goal.peer}", f"{met}{held}"


def table_text(table):
    yield f"\n### {table.title}\n"
    yield f"{table.unit}; others kept {table.neighbour_cores:.2f} cores busy\n"
    yield "| program on | tool | median | of | ratio to cairn | runs | expected | target | met | |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for line in table.lines():
        cells = (line["subject"], line["tool"], number(line["median"]), spread(line["values"]),
                 ratio_text(line), runs_text(line), line["expected"] or "-",
                 *goal_text(table, line), line["note"])
        yield "| " + " | ".join(cells) + " |"
    for line in table.lines():
        for reason in sorted(set(line["failures"])):
            yield f"\nFailed {line['failures'].count(reason)} times: {line['tool']} on " \
                  f"{line['subject']}: {reason}"


def head_text(facts):
    machine = facts["machine"]
    yield f"# Bench of {facts['date']}\n"
    yield "How to read this page: [bench/README.md](../README.md).\n"
    yield f"- Machine: {machine['cpu']}, {machine['cores']} cores" \
          f"{', virtual' if machine['hypervisor'] else ''}, {machine['memory_gib']} GiB, " \
          f"{machine['system']}, Linux {machine['kernel']}."
    yield f"- Meanwhile other programs kept {facts['neighbour_cores']:.2f} cores busy."
    if facts["neighbour_cores"] > ALONE_CORES:
        yield "- **Not alone: not for quoting.** A target that waits for its core stands still: " \
              "`cost`, `rate` and `torn` come out better than they are, and all rows are blurred."
    yield f"- Cairn {facts['versions'].get('cairn')} at {facts['commit']}; peers: " + ", ".join(
        f"{name} {version}" for name, version in facts["versions"].items()
        if name != "cairn" and " --" not in name) + "."
    yield f"- {facts['rounds']} rounds{' (--quick)' if facts['quick'] else ''}, " \
          f"{facts['minutes']:.0f} minutes."
    for what, why in facts["reasons"].items():
        yield f"- Not at hand: {what}: {why}."
    for (tool, where), why in facts["refused"].items():
        yield f"- {tool} is not in the rows of {where}: {why}."


def write(facts, tables):
    FOLDER.mkdir(exist_ok=True)
    which = {"two": "", "all": "-all"}.get(facts["which"], "-some")
    name = facts["date"][:10] + which + "".join(f"-{row}" for row in facts["rows"])
    name += "-quick" if facts["quick"] else ""
    tables = [table for table in tables if table.values or table.failures]
    text = [*head_text(facts)]
    for table in tables:
        text += table_text(table)
    (FOLDER / f"{name}.md").write_text(without_place("\n".join(text) + "\n"))
    facts = {**facts, "refused": [[*who, why] for who, why in facts["refused"].items()]}
    facts["tables"] = [
        {"key": t.key, "title": t.title, "unit": t.unit,
         "neighbour_cores": t.neighbour_cores, "lines": list(t.lines())} for t in tables
    ]
    (FOLDER / f"{name}.json").write_text(without_place(json.dumps(facts, indent=1) + "\n"))
    return FOLDER / f"{name}.md"

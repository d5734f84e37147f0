"""One measured quantity: a value for each round, subject and tool, beside what was expected."""
import re
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from ratios import paired_ratio

BASE = "cairn"  # every ratio is to this tool, on the same subject, in the same round


def version_of(label):
    """(3, 13, 0) of "3.13.0"; () of what is no interpreter."""
    match = re.match(r"\d+(\.\d+)*", label)
    return tuple(map(int, match[0].split("."))) if match else ()


@dataclass(frozen=True)
class Goal:
    """What the project set out to reach, for Cairn; `old`: before `since`, where it is another. With
    `peer` the number is a share: of what that tool has on the same subject."""

    limit: float
    at_most: bool = True
    old: float = None
    since: tuple = (3, 11)
    peer: str = ""

    def of(self, subject):
        version = version_of(subject)
        return self.old if self.old is not None and (3,) < version < self.since else self.limit

    def met_by(self, subject, value):
        return value <= self.of(subject) if self.at_most else value >= self.of(subject)

    def verdict(self, subject, low, high):
        """Of a value between `low` and `high`."""
        met = {self.met_by(subject, low), self.met_by(subject, high)}
        return "open" if len(met) == 2 else "yes" if met == {True} else "no"


@dataclass
class Table:
    key: str
    title: str
    unit: str
    expected: dict  # tool, or "all" -> what was expected before measuring
    goal: Goal = None
    compared: bool = True  # whether a ratio means anything: not of what may be 0
    values: dict = field(default_factory=lambda: defaultdict(dict))  # (subject, tool) -> round
    failures: dict = field(default_factory=lambda: defaultdict(list))
    notes: dict = field(default_factory=dict)
    # By what it is judged, where that is not the median: a value, or the two ends of an interval.
    judged: dict = field(default_factory=dict)
    goals: dict = field(default_factory=dict)  # of tools that are not BASE: as `goal` is its
    neighbour_cores: float = 0.0  # that others kept busy meanwhile

    def add(self, turn, subject, tool, value):
        self.values[subject, tool][turn] = value

    def fail(self, subject, tool, reason):
        self.failures[subject, tool].append(str(reason))

    def series(self, subject, tool, turns):
        found = self.values.get((subject, tool), {})
        return [found.get(turn) for turn in turns]

    def expectation(self, tool):
        return self.expected.get(tool) or self.expected.get("all", "")

    def goal_of(self, tool):
        return self.goal if tool == BASE else self.goals.get(tool)

    def share(self, subject, tool, peer):
        """Of the peer's numbers, in the median over the rounds; None: one of them has none."""
        turns = sorted(self.values.get((subject, tool), {}))
        of = paired_ratio(self.series(subject, peer, turns), self.series(subject, tool, turns))
        return of[0] if of else None

    def verdict(self, subject, tool, middle):
        """(the goal, what is held against it, whether it is met); None where there is none."""
        goal = self.goal_of(tool)
        if goal is None:
            return None, None, None
        value = self.judged.get((subject, tool), middle)
        if goal.peer and value is not None:
            value = self.share(subject, tool, goal.peer)
        if value is None:
            return goal.of(subject), None, "no number"
        low, high = value if isinstance(value, tuple) else (value, value)
        return goal.of(subject), value, goal.verdict(subject, low, high)

    def lines(self):
        """The rows of the table as dictionaries, ready for JSON."""
        by_version = sorted({**self.values, **self.failures},
                            key=lambda line: (version_of(line[0]), line))
        for subject, tool in by_version:
            turns = sorted(self.values.get((subject, BASE), {}))
            values = [v for _, v in sorted(self.values.get((subject, tool), {}).items())]
            ratio = None
            if tool != BASE and self.compared:
                ratio = paired_ratio(
                    self.series(subject, BASE, turns), self.series(subject, tool, turns)
                )
            middle = median(values) if values else None
            goal, held, met = self.verdict(subject, tool, middle)
            yield {
                "subject": subject,
                "tool": tool,
                "values": values,
                "median": middle,
                "goal": goal,
                "goal_peer": getattr(self.goal_of(tool), "peer", ""),
                "held": held,
                "met": met,
                "ratio": ratio,
                "failures": self.failures.get((subject, tool), []),
                "expected": self.expectation(tool),
                "note": self.notes.get((subject, tool), ""),
            }

"""One measured quantity: a value for each round, subject and tool, beside what was expected."""
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from ratios import paired_ratio

BASE = "cairn"  # every ratio is to this tool, on the same subject, in the same round


@dataclass
class Table:
    key: str
    title: str
    unit: str
    expected: dict  # tool, or "all" -> what was expected before measuring
    values: dict = field(default_factory=lambda: defaultdict(dict))  # (subject, tool) -> round
    failures: dict = field(default_factory=lambda: defaultdict(list))
    notes: dict = field(default_factory=dict)
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

    def lines(self):
        """The rows of the table as dictionaries, ready for JSON."""
        for subject, tool in sorted({**self.values, **self.failures}):
            turns = sorted(self.values.get((subject, BASE), {}))
            values = [v for _, v in sorted(self.values.get((subject, tool), {}).items())]
            ratio = None
            if tool != BASE:
                ratio = paired_ratio(
                    self.series(subject, BASE, turns), self.series(subject, tool, turns)
                )
            yield {
                "subject": subject,
                "tool": tool,
                "values": values,
                "median": median(values) if values else None,
                "ratio": ratio,
                "failures": self.failures.get((subject, tool), []),
                "expected": self.expectation(tool),
                "note": self.notes.get((subject, tool), ""),
            }

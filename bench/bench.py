"""The bench: what there is to compare, and the order of its runs."""
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import measure
from table import BASE, Table

DEADLINE_S = 90  # of one run of a tool, beside the seconds that it was asked for


@dataclass
class Bench:
    subjects: dict  # that every tool is measured on
    others: dict  # that some rows are asked of, too
    old: dict  # 3.8 to 3.10, all there are
    which: str  # of them were asked for: "two", "all", or some versions
    peers_everywhere: bool  # or else only on `subjects`
    tools: dict  # name -> (tool, version)
    reasons: dict  # what is not at hand -> why
    folder: Path  # scratch
    rounds: int
    quick: bool
    rows: tuple  # wanted
    tables: list = field(default_factory=list)
    refused: dict = field(default_factory=dict)  # (tool, subject) -> why it cannot

    def wants(self, *rows):
        return any(row in self.rows for row in rows)

    def table(self, key, title, unit, expected, goal=None):
        table = Table(key, title, unit, expected, goal)
        if key.partition(":")[0] in self.rows:
            self.tables.append(table)
        return table

    def seconds(self, full, quick):
        return quick if self.quick else full

    def some(self, programs):
        """All of them, or with --quick the last."""
        return programs[-1:] if self.quick else programs

    def able(self, subject, names):
        for name in names:
            if name not in self.tools:
                continue
            tool = self.tools[name][0]
            why = tool.lacks(subject)
            if why:
                self.refused[name, subject.label] = why
            else:
                yield tool

    def turns_on(self, subjects, what, names, rounds=None, elsewhere=False, besides=()):
        """(round, subject, tool), every tool once a round: A B C A B C … `elsewhere`: on the other
        subjects, too, if there are any. `besides` are tools of the row's own."""
        rounds = min(self.rounds, rounds or self.rounds)
        work = [(subject, names) for subject in subjects.values()]
        if elsewhere:
            few = names if self.peers_everywhere else (BASE,)
            work += [(subject, few) for subject in self.others.values()]
        for turn in range(rounds):
            print(f"{time.strftime('%H:%M:%S')} {what}: round {turn + 1} of {rounds}",
                  file=sys.stderr, flush=True)
            for subject, wanted in work:
                for tool in (*self.able(subject, wanted), *besides):
                    yield turn, subject, tool

    def turns(self, what, names, rounds=None, **more):
        return self.turns_on(self.subjects, what, names, rounds, **more)

    def attach(self, tool, subject, pid, seconds, hz, form):
        """One run of a tool that attaches to `pid`: (what it cost, what it recorded)."""
        seen, out = tool.file(subject, self.folder)
        out.unlink(missing_ok=True)
        args = [str(a) for a in tool.attach(subject, pid, seconds, hz, seen, form)]
        interrupt_after_s = None if tool.ends_itself else seconds
        ran = measure.run(args, DEADLINE_S + seconds, interrupt_after_s, tool.good_status)
        if not out.exists():
            raise measure.Failed(f"wrote nothing: {ran.last_words()}")
        return ran, tool.read(ran, str(out), form)

    def profile(self, tool, subject, program, seconds, hz, form):
        """The same with a program of its own."""
        with subject.running(program, 600) as process:
            return self.attach(tool, subject, process.pid, seconds, hz, form)

    def slope(self, tool, subject, program, hz, form="recording"):
        """What the seconds between a short and a long run cost and gave, so that neither start nor
        end of the tool is in it: (seconds, CPU seconds, good samples, lost samples)."""
        short_s, long_s = 1, self.seconds(3, 2)
        ran, reading = [], []
        for seconds in (short_s, long_s):
            got = self.profile(tool, subject, program, seconds, hz, form)
            ran.append(got[0])
            reading.append(got[1])
        good = reading[1].good - reading[0].good
        if good <= 0:
            counts = " and ".join(str(r.good) for r in reading)
            raise measure.Failed(f"{counts} samples in {short_s} and {long_s} s")
        return (long_s - short_s, ran[1].cpu_s - ran[0].cpu_s, good,
                reading[1].lost - reading[0].lost)

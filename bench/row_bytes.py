"""Row bytes: how large a recording is, for each time that one thread was looked at."""
import measure

ROWS = ("bytes",)
HZ = 1000
ROUNDS = 2
TOOLS = ("cairn", "py-spy", "austin", "profiling.sampling")
PROGRAMS = (("flutter.py", "call churn"), ("deep.py", "203 deep"),
            ("idle_threads.py", "64 idle threads"))
EXPECTED = {
    "call churn": {"cairn": "<= 2", "profiling.sampling": "1.67", "austin": "4-20"},
    "203 deep": {"cairn": "<= 2", "profiling.sampling": "0.86", "austin": "200-1,000"},
    "64 idle threads": {},
}


def measure_rows(bench):
    seconds = bench.seconds(5, 2)
    for program, name in bench.some(PROGRAMS):
        table = bench.table(f"bytes: {name}", f"Size of a recording at 1 kHz, {name}, {seconds} s",
                            "bytes per thread-sample", EXPECTED[name])
        for turn, subject, tool in bench.turns(f"bytes, {name}", TOOLS, ROUNDS):
            try:
                _, reading = bench.profile(tool, subject, program, seconds, HZ, "recording")
                if reading.good + reading.lost == 0:
                    raise measure.Failed("no sample")
            except measure.Failed as why:
                table.fail(subject.label, tool.name, why)
                continue
            # Cairn keeps the samples it calls torn; the others drop what they call lost.
            kept = reading.good + (reading.lost if tool.name == "cairn" else 0)
            table.add(turn, subject.label, tool.name, reading.bytes / kept)

"""`python -m cairn.line_profiler FILE.lprof …`: shows what kernprof wrote; several are added up."""
import sys
from argparse import ArgumentParser

from cairn import line_profiler

BAD_FILE = 123


def options():
    parser = ArgumentParser(
        prog="line_profiler", description="Shows line profiles (.lprof files) that kernprof or "
        "LineProfiler.dump_stats() wrote."
    )  # fmt: skip
    parser.add_argument("-u", "--unit", type=float, default=1e-6, metavar="SECONDS",
                        help="unit of the times that are shown (1e-6)")  # fmt: skip
    parser.add_argument("-r", "--rich", action="store_true", help="accepted; the text is plain")
    parser.add_argument("-z", "--skip-zero", action="store_true",
                        help="leave out functions that were not called")  # fmt: skip
    parser.add_argument("-t", "--sort", action="store_true", help="the longest last")
    parser.add_argument("-m", "--summarize", action="store_true", help="a line for each function")
    parser.add_argument("profile_output", nargs="+", help=".lprof files")
    return parser


def main():
    chosen = options().parse_args()
    try:
        stats = line_profiler.load_stats(*chosen.profile_output)
    except (OSError, ValueError) as failure:
        print(f"cairn: {failure}\n       Is it one that kernprof -l wrote?", file=sys.stderr)
        return BAD_FILE
    try:
        stats.print(output_unit=chosen.unit, stripzeros=chosen.skip_zero, sort=chosen.sort,
                    summarize=chosen.summarize)  # fmt: skip
        sys.stdout.flush()
    except BrokenPipeError as failure:
        sys.stdout = None  # nobody reads it
        return failure.errno
    return 0

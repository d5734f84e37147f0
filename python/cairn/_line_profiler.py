"""`python -m cairn.line_profiler FILE.lprof …`: shows what kernprof wrote; several are added up."""
import sys

from cairn import _lpwords, line_profiler

BAD_FILE = 123


DEFAULTS = {"unit": 1e-6, "rich": False, "skip_zero": False, "sort": False, "summarize": False}


def options():
    parser = _lpwords.Words(
        line_profiler.__version__, "-c", "--config", prog="line_profiler",
        usage="line_profiler [OPTIONS] FILE.lprof ...", description="Shows line profiles (.lprof "
        "files) that kernprof or LineProfiler.dump_stats() wrote."
    )  # fmt: skip
    parser.switch("-t", "--sort", help="the longest last")
    parser.switch("-m", "--summarize", help="a line for each function")
    parser.add_argument("profile_output", nargs="+", help=".lprof files")
    return parser


def said(parser, words):
    """What is asked for: options may stand in front of files and behind them."""
    options, files, at = [], [], 0
    while at < len(words):
        if words[at] == "--":
            files += words[at + 1 :]
            break
        if words[at].startswith("-") and words[at] != "-":
            taken, at = parser.one(words, at)
            options += taken
        else:
            files.append(words[at])
            at += 1
    return parser.parse_args([*options, "--", *files] if files else options)


def main():
    parser = options()
    chosen = said(parser, sys.argv[1:])
    parser.settle(chosen, "cli", DEFAULTS)
    try:
        stats = line_profiler.load_stats(*chosen.profile_output)
    except (OSError, ValueError) as failure:
        print(f"cairn: {failure}\n       Is it one that kernprof -l wrote?", file=sys.stderr)
        return BAD_FILE
    try:
        stats.print(output_unit=chosen.unit, stripzeros=chosen.skip_zero, sort=chosen.sort,
                    summarize=chosen.summarize, config=chosen.config)  # fmt: skip
        sys.stdout.flush()
    except BrokenPipeError as failure:
        sys.stdout = None  # nobody reads it
        return failure.errno
    return 0

"""Keeps frames of this package out of the tracebacks that a program under it shows."""
import os
import sys


def without_ours(trace):
    """The part of a traceback that is below the frames of this package that started the program;
    those of decorators, further down, stay."""
    ours = os.path.dirname(os.path.abspath(__file__))

    def is_ours(trace):
        return os.path.dirname(trace.tb_frame.f_code.co_filename) == ours

    below = trace
    while below is not None and not is_ours(below):
        below = below.tb_next
    if below is None:
        return trace
    while below is not None and is_ours(below):
        below = below.tb_next
    return below


def hide_ours():
    """Whoever shows what the program failed with is not shown our frames."""
    shows = sys.excepthook

    def hook(kind, value, trace):
        trace = without_ours(trace)
        shows(kind, value.with_traceback(trace), trace)

    sys.excepthook = hook

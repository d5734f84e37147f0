"""`python -m cairn.pstats FILE …` is `cairn pstats FILE …`; Stats is pstats' own, which also reads
recordings of Cairn.

    from cairn import pstats
    pstats.Stats("run.cairn").sort_stats(pstats.SortKey.TIME).print_stats(10)
"""
import os
import pstats as _pstats
import subprocess
import sys
import tempfile

import cairn
from cairn.__main__ import become

__all__ = list(_pstats.__all__)

for _name in __all__:
    globals()[_name] = getattr(_pstats, _name)


def __getattr__(name):
    """What programs take from pstats that it does not promise: add_callers, f8, func_std_string …"""
    return getattr(_pstats, name)


MAGIC = b"\xc7CAIRN\r\n"


def _is_recording(path):
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _export(path, out):
    command = cairn.find_command()
    if command is None:
        raise OSError("the cairn command is not there: install it, or name it in CAIRN_BIN")
    words = [command, "export", "-f", "pstats", "--force", "-o", out, path]
    ended = subprocess.run(words, stderr=subprocess.PIPE)
    if ended.returncode:
        raise OSError(os.fsdecode(ended.stderr).strip())


class Stats(_pstats.Stats):
    """pstats.Stats, of which a recording is one more kind of file; its ncalls are samples."""

    def load_stats(self, arg):
        if not isinstance(arg, str) or not _is_recording(arg):
            super().load_stats(arg)
            return
        with tempfile.TemporaryDirectory(prefix="cairn-") as folder:
            out = os.path.join(folder, "out.prof")
            _export(arg, out)
            os.utime(out, (os.stat(arg).st_atime, os.stat(arg).st_mtime))
            super().load_stats(out)
        self.files = [name.replace(out, arg) for name in self.files]

    def add(self, *arg_list):
        """As pstats' own, for which a file's name stands for one of its own kind."""
        loaded = [type(self)(arg) if isinstance(arg, str) else arg for arg in arg_list]
        return super().add(*loaded)


if __name__ == "__main__":
    sys.exit(become("pstats"))

"""Makes the seeds of fuzz_model: tests/corpus/model/.

usage: make_model_corpus.py RECORDING…

The unpacked sections of every chunk of the recordings, up to 64 KiB. Needs xxhash and zstandard.
"""
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "compat"))
import second_reader  # noqa: E402


def main():
    folder = TESTS / "corpus" / "model"
    folder.mkdir(exist_ok=True)
    for path in map(Path, sys.argv[1:]):
        for chunk in second_reader.read_chunks(path.read_bytes())[0]:
            sections = chunk.unpack()
            if len(sections) <= 65536:
                (folder / f"{path.stem}-{chunk.number}").write_bytes(sections)


main()

"""Makes the seeds of fuzz_reader: tests/corpus/reader/.

usage: make_reader_corpus.py MAKE_RECORDING

Whole files, a torn one, one with an unsealed page, and the unpacked sections of every chunk, which
a mutation reaches without a checksum in its way. Needs xxhash and zstandard.
"""
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import xxhash

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "compat"))
import second_reader  # noqa: E402


def unsealed(chunk):
    """The chunk as an agent's page, of which the last 32 bytes were not yet committed."""
    sections = chunk.unpack()
    payload = struct.pack("<Q", len(sections)) + sections + bytes(32)
    header = second_reader.HEADER.pack(
        second_reader.MAGIC, chunk.file_id, chunk.number, chunk.writer, chunk.kind,
        second_reader.UNSEALED, len(payload), len(payload), chunk.first_ns, chunk.last_ns,
        chunk.track_mask, 0, 0, 0, 0, 0)
    checked = header[:80]
    return checked + struct.pack("<Q", xxhash.xxh3_64_intdigest(checked)) + payload


def main():
    corpus = TESTS / "corpus" / "reader"
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.cairn"
        subprocess.run([sys.argv[1], path, path.with_suffix(".txt")], check=True, timeout=30)
        data = path.read_bytes()
    chunks, _ = second_reader.read_chunks(data)
    (corpus / "file").write_bytes(data)
    (corpus / "torn").write_bytes(data[:len(data) * 2 // 3])
    (corpus / "hole").write_bytes(data[:300] + bytes(100) + data[400:])
    (corpus / "unsealed").write_bytes(unsealed(chunks[0]))
    for chunk in chunks:
        (corpus / f"sections-{chunk.number}").write_bytes(chunk.unpack())


if __name__ == "__main__":
    main()

"""docs/format.md, held against the writer by a reader that was written from it alone."""
import subprocess

import pytest

import harness
import second_reader

MAKE_RECORDING = harness.cairn_binary().parent / "tests/unit/make_recording"


@pytest.fixture(params=[0, 1, 1000], ids=["one file", "a file a chunk", "some files"])
def recording(folder, request):
    """A recording of every kind of row, and the lines that its writer says are in it."""
    path, text = folder / "all.cairn", folder / "all.txt"
    subprocess.run([MAKE_RECORDING, path, text, str(request.param)], check=True, timeout=30)
    return path, text.read_text().splitlines()


def test_the_page_tells_all_that_was_written(recording):
    path, written = recording
    lines, jumped = second_reader.read(path)
    assert lines == written
    assert jumped == 0
    assert {line.split()[0] for line in lines} >= {str(kind) for kind in range(1, 11)}


def test_a_torn_file_reads_up_to_its_last_whole_chunk(recording):
    path, written = recording
    data = path.read_bytes()
    ends = []
    for chunk in second_reader.read_chunks(data)[0]:
        ends.append((ends[-1] if ends else 0) + second_reader.HEADER.size + chunk.stored)
    for size in range(0, len(data), 97):
        chunks, jumped = second_reader.read_chunks(data[:size])
        whole = [end for end in ends if end <= size]
        assert len(chunks) == len(whole)
        assert jumped == size - (whole[-1] if whole else 0)


def test_a_damaged_chunk_is_passed_over(recording):
    path, written = recording
    data = bytearray(path.read_bytes())
    first = second_reader.read_chunks(bytes(data))[0][0]
    data[20] ^= 1
    path.write_bytes(data)
    lines, jumped = second_reader.read(path)
    assert jumped == second_reader.HEADER.size + first.stored
    rows = [line for line in lines if line[0].isdigit() and "[unknown]" not in line]
    assert set(rows) <= set(written)

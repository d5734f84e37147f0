"""A second reader of recordings, written from docs/format.md alone.

It shares no line with Cairn's own: where the two disagree, the page, the writer or one of the
readers is wrong. As a program it prints what the recording says, one line a fact, in the words of
tests/unit/recording.h.
"""
import struct
import sys
from pathlib import Path

import xxhash
import zstandard

MAGIC = bytes.fromhex("C7 43 41 49 52 4E 0D 0A")
HEADER = struct.Struct("<8s QQ I HH II QQ Q H H I QQ")
LARGEST = 16 << 20
MASK = (1 << 64) - 1

DATA, END = 0x8001, 0x0002
PLAIN, UNSEALED = 0x0100, 0x0200
(WRITER, STRINGS, CODES, LINETABLES, MODULES, LOCATIONS, STACKS, TRACKS, TICKS, ROWS, ENV, CLOCK,
 COUNTERS, SET, SYMBOLS) = range(1, 16)


class Damaged(Exception):
    pass


class TooNew(Exception):
    pass


class Cursor:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def more(self):
        return self.at < len(self.data)

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Damaged("ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def uvarint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                if value > MASK:
                    break
                return value
        raise Damaged("a number of more than 64 bits")

    def svarint(self):
        value = self.uvarint()
        return -(value >> 1) - 1 if value & 1 else value >> 1

    def bytes(self):
        return self.take(self.uvarint())

    def text(self):
        return self.bytes().decode("utf-8", "backslashreplace")


class Chunk:
    def __init__(self, header, payload):
        (_, self.file_id, self.number, self.writer, self.kind, self.flags, self.stored, self.raw,
         self.first_ns, self.last_ns, self.track_mask, _, _, _, self.payload_hash, _) = header
        self.payload = payload

    def unpack(self):
        if self.flags & UNSEALED:
            cursor = Cursor(self.payload)
            return cursor.take(cursor.u64())
        if xxhash.xxh3_64_intdigest(self.payload) != self.payload_hash:
            raise Damaged("payload checksum")
        if self.flags & PLAIN:
            data = self.payload
        else:
            data = zstandard.ZstdDecompressor().decompress(self.payload)
        if len(data) != self.raw:
            raise Damaged("payload length")
        return data


def read_chunk(data, at, file_id, number):
    """The chunk at `at`, or None when no header holds there or its payload is cut."""
    if data[at:at + 8] != MAGIC or len(data) - at < HEADER.size:
        return None
    header = HEADER.unpack_from(data, at)
    if header[-1] != xxhash.xxh3_64_intdigest(data[at:at + 80]):
        return None
    kind, flags, version, reserved = header[4], header[5], header[11], header[12]
    if version != 0 or reserved != 0:
        raise TooNew(f"version {version}")
    if flags & 0xFF00 & ~(PLAIN | UNSEALED) or (kind & 0x8000 and kind != DATA):
        raise TooNew(f"kind {kind:#x}, flags {flags:#x}")
    chunk = Chunk(header, data[at + HEADER.size:at + HEADER.size + header[6]])
    if chunk.file_id == 0 or file_id not in (None, chunk.file_id) or chunk.number < number:
        return None
    if max(chunk.stored, chunk.raw) > LARGEST or len(chunk.payload) < chunk.stored:
        return None
    return chunk


def read_chunks(data):
    """Every whole chunk, and how many bytes are not part of one."""
    chunks, at, jumped = [], 0, 0
    file_id, number = None, 0
    while at < len(data):
        chunk = read_chunk(data, at, file_id, number)
        if chunk is None:
            found = data.find(MAGIC, at + 1)
            jumped += (len(data) if found < 0 else found) - at
            at = len(data) if found < 0 else found
            continue
        chunks.append(chunk)
        file_id, number = chunk.file_id, chunk.number + 1
        at += HEADER.size + chunk.stored
    return chunks, jumped


def read_sections(data):
    cursor = Cursor(data)
    while cursor.more():
        number = cursor.uvarint()
        body = cursor.bytes()
        kind = number >> 1
        if WRITER <= kind <= SYMBOLS:
            yield kind, Cursor(body)
        elif number & 1:
            raise TooNew(f"section {kind}")


def random_at(seed, k):
    z = (seed + (k + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def read_ticks(cursor):
    """The times of the ticks."""
    seed = cursor.u64()
    mean, quantum, before, base, number, count = (cursor.uvarint() for _ in range(6))
    numbers = []
    while len(numbers) < count:
        missed, run = cursor.uvarint(), cursor.uvarint()
        for _ in range(run):
            number += missed
            numbers.append(number)
            number += 1
    times, due, last = [], base, before
    at = numbers[0] if numbers else 0
    for number in numbers:
        while mean and at < number:
            at += 1
            due += mean // 2 + (random_at(seed, at) * mean >> 64)
        time = due + cursor.svarint() * quantum
        if time < last:
            raise Damaged("time runs backwards")
        times.append(time)
        last = time
        if not mean:
            due = time
    return times


def read_values(cursor, encoding, count):
    values = []
    if encoding in (3, 4):
        value = 0
        while len(values) < count:
            item = cursor.uvarint() if encoding == 3 else cursor.svarint()
            for _ in range(cursor.uvarint()):
                value = item if encoding == 3 else value + item
                values.append(value & MASK)
    else:
        for _ in range(count):
            if encoding == 0:
                value = cursor.uvarint()
            elif encoding == 1:
                value = cursor.svarint()
            elif encoding == 2:
                value = cursor.svarint() + (values[-1] if values else 0)
            elif encoding == 5:
                value = cursor.u64()
            else:
                raise TooNew(f"encoding {encoding}")
            values.append(value & MASK)
    if len(values) != count or cursor.more():
        raise Damaged("a column of another length")
    return values


def read_table(cursor):
    """Kind, columns as (name, unit), and their values, a list for each column."""
    kind, column_count = cursor.uvarint(), cursor.uvarint()
    declared = [(cursor.text(), cursor.text(), cursor.u8()) for _ in range(column_count)]
    rows = cursor.uvarint()
    values = [read_values(Cursor(cursor.bytes()), encoding, rows) for _, _, encoding in declared]
    return kind, [column[:2] for column in declared], values


def entries(cursor):
    """The ids of a dictionary; the caller reads the entry behind each."""
    while cursor.more():
        first, count = cursor.uvarint(), cursor.uvarint()
        yield from range(first, first + count)


class Writer:
    """The dictionaries of one writer in one file, as text."""

    def __init__(self, number):
        self.number = number
        self.string = {0: ""}
        self.code, self.module, self.location, self.stack, self.track = {}, {}, {}, {}, {}
        self.track_names = {}
        self.facts = set()
        self.counters = {}
        self.rows = []
        self.times = []

    def get(self, part, number):
        return getattr(self, part).get(number, "[unknown]")

    def read(self, kind, cursor):
        if kind == WRITER:
            role, _, _ = cursor.text(), cursor.text(), cursor.text()
            self.facts.add(f"W {self.number} {role} {cursor.uvarint()} {cursor.uvarint()}")
        elif kind == STRINGS:
            for number in entries(cursor):
                self.string[number] = cursor.text()
        elif kind == CODES:
            for number in entries(cursor):
                _, qualname, file, line = (cursor.uvarint() for _ in range(4))
                self.code[number] = f"{self.get('string', file)}:{self.get('string', qualname)}:{line}"
        elif kind == LINETABLES:
            while cursor.more():
                code, table_kind, table = cursor.uvarint(), cursor.u8(), cursor.bytes()
                self.facts.add(f"L {self.get('code', code)} {table_kind} {table.hex()}")
        elif kind == MODULES:
            for number in entries(cursor):
                path, build_id = cursor.uvarint(), cursor.bytes()
                self.module[number] = f"{self.get('string', path)}{{{build_id.hex()}}}"
        elif kind == LOCATIONS:
            self.read_locations(cursor)
        elif kind == STACKS:
            location = 0
            for number in entries(cursor):
                parent = number - cursor.uvarint()
                location += cursor.svarint()
                outer = self.get("stack", parent) + ";" if parent else ""
                self.stack[number] = outer + self.get("location", location)
        elif kind == TRACKS:
            self.read_tracks(cursor)
        elif kind == TICKS:
            self.times = read_ticks(cursor)
        elif kind == ROWS:
            self.read_rows(cursor)
        elif kind == ENV:
            while cursor.more():
                self.facts.add(f"E {cursor.text()}={cursor.text()}")
        elif kind == COUNTERS:
            while cursor.more():
                name = cursor.text()
                self.counters[self.number, name] = cursor.uvarint()

    def read_locations(self, cursor):
        for number in entries(cursor):
            kind, reference = cursor.u8(), cursor.uvarint()
            if kind == 3:
                self.location[number] = self.get("string", reference)
            elif kind in (1, 2):
                part = "code" if kind == 1 else "module"
                self.location[number] = f"{self.get(part, reference)}+{cursor.svarint()}"
            else:
                raise Damaged("location")

    def read_tracks(self, cursor):
        for number in entries(cursor):
            kind = cursor.u8()
            parent, own, start, boot, name, _ = (cursor.uvarint() for _ in range(6))
            birth = cursor.u8()
            outer = self.get("string", boot) if kind == 1 else self.get("track", parent)
            self.track[number] = f"{outer}/{'?PTKLG'[kind]}{own}@{start}"
            above = self.get("track", parent) if parent else "-"
            self.track_names[number] = (
                f"T {self.track[number]} {self.get('string', name)} parent={above} birth={birth}")

    def read_rows(self, cursor):
        kind, columns, values = read_table(cursor)
        for row in zip(*values):
            words = [str(kind)]
            for (name, unit), value in zip(columns, row):
                if unit == "id" and name in ("track", "stack", "location", "code", "module",
                                             "string", "on"):
                    text = self.get("string" if name == "on" else name, value)
                elif name == "tick":
                    text = self.times[value]
                else:
                    text = value - (1 << 64) if value >> 63 else value
                words.append(f"{name}={text}")
            self.rows.append(" ".join(words))


def files_of(path):
    path = Path(path)
    rest = [p for p in path.parent.glob(path.name + ".*") if p.suffix[1:].isdigit()]
    return [path, *sorted(rest, key=lambda p: int(p.suffix[1:]))]


def read(path):
    """All lines of the set at `path`, sorted, and the bytes that were jumped over."""
    rows, facts, counters, jumped_sum = [], set(), {}, 0
    for file in files_of(path):
        chunks, jumped = read_chunks(file.read_bytes())
        jumped_sum += jumped
        writers = {}
        for chunk in chunks:
            writer = writers.setdefault(chunk.writer, Writer(chunk.writer))
            if chunk.kind not in (DATA, END):
                continue
            try:
                for kind, cursor in read_sections(chunk.unpack()):
                    writer.read(kind, cursor)
            except (Damaged, zstandard.ZstdError) as error:
                print(f"chunk {chunk.number}: {error}", file=sys.stderr)
        for writer in writers.values():
            rows += writer.rows
            facts |= writer.facts | set(writer.track_names.values())
            counters.update(writer.counters)
    facts |= {f"C {number} {name}={value}" for (number, name), value in counters.items()}
    return sorted(rows + list(facts), key=lambda line: line.encode()), jumped_sum


if __name__ == "__main__":
    print("\n".join(read(sys.argv[1])[0]))

/* format.h: the numbers of the recording format, version 0. The page of the format is
 * docs/format.md; this is the same in C.
 *
 * A file is a row of chunks and nothing else. A chunk is a header of CAIRN_HEADER_BYTES and its
 * payload, one zstd frame (or plain bytes, see flags). The payload is a row of sections, each
 * {uvarint kind << 1 | must-understand, uvarint length, bytes}. All fixed-width numbers are
 * little-endian.
 *
 * Ids (string, code, module, location, stack, track) are local to {file, writer}; the reader joins
 * writers and files by content. A dictionary entry stands in the chunk that first uses it, before
 * the rows that use it, and is not repeated inside a file.
 */
#ifndef CAIRN_FORMAT_H
#define CAIRN_FORMAT_H

#include <stdint.h>

#define CAIRN_FORMAT_VERSION 0

/* Header, by offset:
 *  0  8 magic          8  8 file id, random, never 0     16  8 running number, from 0
 * 24  4 writer id     28  2 kind                         30  2 flags
 * 32  4 stored bytes  36  4 raw bytes (after zstd)
 * 40  8 first time    48  8 last time (ns, MONOTONIC; first > last: no time in this chunk)
 * 56  8 track mask: bit (track id mod 64) of every track that has a row here
 * 64  2 version       66  2 reserved, must be 0          68  4 reserved, ignored
 * 72  8 XXH3-64 of the stored bytes                      80  8 XXH3-64 of bytes 0..79 */
#define CAIRN_HEADER_BYTES 88
#define CAIRN_MAGIC                                                                                \
    "\xC7"                                                                                         \
    "CAIRN\r\n"
#define CAIRN_MAGIC_BYTES 8

/* In a chunk kind this bit, in chunk flags the high byte, in a section kind the low bit of its
 * number means: who does not know it must not go on ("too new"). */
#define CAIRN_KIND_MUST 0x8000
#define CAIRN_FLAGS_MUST 0xff00

enum cairn_chunk_kind {
    CAIRN_CHUNK_DATA = CAIRN_KIND_MUST | 1, /* sections */
    CAIRN_CHUNK_END = 2,                    /* the file was closed on purpose; payload as DATA */
};

enum cairn_chunk_flag {
    CAIRN_FLAG_PLAIN = 0x0100, /* stored as it is, not zstd */
    /* An agent's page that was never sealed: payload is {u64 committed bytes, room for sections};
     * only the committed bytes count, the payload checksum is 0 and not checked. Implies PLAIN. */
    CAIRN_FLAG_UNSEALED = 0x0200,
};

#define CAIRN_CHUNK_MAX_BYTES (16u << 20) /* raw or stored */
#define CAIRN_ROWS_MAX (4u << 20)         /* rows of one table in one chunk */
#define CAIRN_COLUMNS_MAX 64
#define CAIRN_VALUES_MAX (16u << 20) /* rows x columns of one table */
#define CAIRN_NAME_MAX_BYTES 64      /* of a column, a unit */
#define CAIRN_BUILD_ID_MAX_BYTES 64
#define CAIRN_LINETABLE_MAX_BYTES (4u << 20) /* longer ones are not recorded */
#define CAIRN_TICK_GAPS_MAX (1u << 24)       /* ticks missed inside one chunk */
#define CAIRN_STRING_MAX_BYTES (64u << 10) /* longer ones are cut by the writer, "…" at the end */

enum cairn_section_kind {
    CAIRN_SECTION_WRITER = 1,  /* must; who writes: once, in a writer's first chunk of a file */
    CAIRN_SECTION_STRINGS = 2, /* must */
    CAIRN_SECTION_CODES = 3,   /* must; Python code objects */
    CAIRN_SECTION_LINETABLES = 4,
    CAIRN_SECTION_MODULES = 5,   /* must; mapped native files */
    CAIRN_SECTION_LOCATIONS = 6, /* must */
    CAIRN_SECTION_STACKS = 7,    /* must */
    CAIRN_SECTION_TRACKS = 8,    /* must; a later entry of the same id replaces the earlier */
    CAIRN_SECTION_TICKS = 9,     /* must; sample times of this chunk */
    CAIRN_SECTION_ROWS = 10,     /* must; a table: declared columns, rows */
    CAIRN_SECTION_ENV = 11,      /* key/value texts about machine, target and settings */
    CAIRN_SECTION_CLOCK = 12,    /* clock anchor */
    CAIRN_SECTION_COUNTERS = 13, /* running totals of a writer: losses, costs; the latest holds */
    CAIRN_SECTION_SET = 14,      /* set id, sequence, parent file id */
    CAIRN_SECTION_SYMBOLS = 15,  /* {module, offset range, name, file, line}; may come after */
};

/* Columns are found by name; who does not know a name skips it. Encodings: */
enum cairn_encoding {
    CAIRN_ENC_UVARINT = 0,
    CAIRN_ENC_SVARINT = 1,
    CAIRN_ENC_DELTA = 2,     /* svarint of the difference to the row before (first: to 0) */
    CAIRN_ENC_RLE = 3,       /* pairs {uvarint value, uvarint run length >= 1} */
    CAIRN_ENC_DELTA_RLE = 4, /* pairs {svarint difference, uvarint run length >= 1} */
    CAIRN_ENC_F64 = 5,       /* IEEE 754, 8 bytes */
};

enum cairn_row_kind {
    CAIRN_ROW_SAMPLE = 1, /* track tick ticks stack cpu runq …: one thread over `ticks` ticks */
    CAIRN_ROW_TREE = 2,   /* node of an exact calling-context tree: track stack calls self_ns … */
    CAIRN_ROW_LINE = 3,
    CAIRN_ROW_OPCODE = 4, /* track code offset line target string hits: an instruction */
    CAIRN_ROW_EVENT = 5,  /* timeline: track time dur stack */
    CAIRN_ROW_ALLOC = 6,  /* track time stack address bytes */
    CAIRN_ROW_GPU = 7,    /* track time dur stack correlation */
    CAIRN_ROW_BENCH = 8,
    CAIRN_ROW_MARK = 9,   /* track time dur stack(label) state on: a region, or a mark */
    CAIRN_ROW_TASK = 10,  /* track time dur stack tasks state: so many tasks on one stack */
    CAIRN_ROW_PAIR = 11,  /* track stack calls primitive self total plain: another tool's counts */
    CAIRN_ROW_GIVEN = 12, /* track code offset string on hits: what an instruction was given */
};

/* Column "state" of a mark. */
enum cairn_mark_state {
    CAIRN_MARK_OVER = 0, /* a region that ended */
    CAIRN_MARK_OPEN = 1, /* one that had not when its process was over, or was last looked at */
    CAIRN_MARK_MOMENT = 2,
};

/* Column "state" of a task. */
enum cairn_task_state {
    CAIRN_TASK_WAITING = 0, /* it is suspended */
    CAIRN_TASK_RUNNING = 1,
};

/* Column "state" of a sample: what the thread did in the time that it neither ran nor waited for a
 * processor. */
enum cairn_sample_state {
    CAIRN_SAMPLE_BLOCKED = 0,
    CAIRN_SAMPLE_STOPPED = 1,
    CAIRN_SAMPLE_UNKNOWN = 2,
    CAIRN_SAMPLE_GIL_WAIT = 3,
};

/* Column "overlays" of a sample: what held at the tick, and what could not be told. */
enum cairn_overlay {
    CAIRN_OVERLAY_GIL_HELD = 1,
    CAIRN_OVERLAY_GC = 2,        /* collects garbage */
    CAIRN_OVERLAY_EXCEPTION = 4, /* one is on its way up, or being handled */
    CAIRN_OVERLAY_GIL_UNKNOWN = 8,
    CAIRN_OVERLAY_GC_UNKNOWN = 16,
    CAIRN_OVERLAY_EXCEPTION_UNKNOWN = 32,
    CAIRN_OVERLAY_WAIT_UNKNOWN = 64, /* state 0 may be waiting for the GIL */
};

enum cairn_location_kind {
    CAIRN_LOC_PYTHON = 1, /* code id, instruction offset in bytes (-1: before the first) */
    CAIRN_LOC_NATIVE = 2, /* module id, offset in the file */
    CAIRN_LOC_LABEL = 3,  /* string id: [torn], [truncated], [cairn], a mark's name */
};

enum cairn_track_kind {
    CAIRN_TRACK_PROCESS = 1, /* number = pid, parent = the process that made it or 0 */
    CAIRN_TRACK_THREAD = 2,  /* number = tid, parent = its process */
    CAIRN_TRACK_TASK = 3,
    CAIRN_TRACK_GREENLET = 4,
    CAIRN_TRACK_GPU_STREAM = 5,
};

/* How a process came to run its program; other values count as unknown. */
enum cairn_birth {
    CAIRN_BIRTH_UNKNOWN = 0,
    CAIRN_BIRTH_FORK = 1, /* a copy of its parent, which went on in the parent's program */
    CAIRN_BIRTH_EXEC = 2, /* began a program of its own */
};

enum cairn_linetable_kind {
    CAIRN_LINES_NONE = 0,
    CAIRN_LINES_LNOTAB = 1,   /* 3.8, 3.9 */
    CAIRN_LINES_PEP626 = 2,   /* 3.10 */
    CAIRN_LINES_LOCATION = 3, /* 3.11 on: lines and columns */
};

#endif

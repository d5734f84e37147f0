/* writer_parts.h: what the files of the writer share; nobody else includes it.
 *
 * Every definition is kept, so that it can be sent again when the sink has gone on to a new file;
 * but for tracks that are over (writer_tracks.h), and what they were called (writer_strings.h). An
 * entry was sent to the file at hand when its stamp equals `epoch`. A new file raises the epoch,
 * and so does a flush that failed half way: then nothing counts as sent, entries go out once more
 * as rows refer to them, and twice the same entry does no harm.
 */
#ifndef CAIRN_WRITER_PARTS_H
#define CAIRN_WRITER_PARTS_H

#include "arena.h"
#include "buf.h"
#include "idset.h"
#include "map.h"
#include "vec.h"
#include "writer.h"
#include "writer_strings.h"
#include "writer_tracks.h"

#define CAIRN_IDS_MAX ((size_t)UINT32_MAX)

enum cairn_part { /* the dictionaries that have ids */
                  CAIRN_PART_STRING,
                  CAIRN_PART_CODE,
                  CAIRN_PART_MODULE,
                  CAIRN_PART_LOCATION,
                  CAIRN_PART_STACK,
                  CAIRN_PART_TRACK,
                  CAIRN_PART_COUNT,
                  CAIRN_PART_NONE = CAIRN_PART_COUNT
};

struct cairn_part_state {
    size_t count;               /* ids that were given out, 0 included */
    CAIRN_VEC(uint32_t) stamps; /* by id; those of strings and tracks are with them */
    CAIRN_VEC(uint32_t) again;  /* older ids that go out with this chunk */
    size_t fresh;               /* the first id that was never sent */
};

struct cairn_writer_code {
    struct cairn_code_def def;
    struct cairn_linetable_def lines; /* code 0: none; bytes lie in the arena */
    uint32_t alike; /* the last one before it that differs in `lines` alone; 0: none */
};

struct cairn_writer_counter {
    char name[CAIRN_NAME_MAX_BYTES + 1];
    uint64_t value;
    bool dirty;
};

struct cairn_writer_column {
    char name[CAIRN_NAME_MAX_BYTES + 1], unit[CAIRN_NAME_MAX_BYTES + 1];
    const char *name_seen; /* as it was passed: the same pointer needs no look at the text */
    uint8_t encoding;
    enum cairn_part part; /* what its values are ids of */
    CAIRN_VEC(uint64_t) values;
};

struct cairn_writer_table {
    uint8_t kind;
    size_t column_count, row_count;      /* 0 rows: the columns may be declared anew */
    size_t time_column, dur_column;      /* index, or column_count when there is none */
    struct cairn_writer_column *columns; /* CAIRN_COLUMNS_MAX of them */
};

struct cairn_writer_ticks {
    bool scheduled;
    uint64_t seed, mean_ns, quantum_ns;
    uint64_t next_number;        /* the smallest that may come */
    uint64_t due_number, due_ns; /* the schedule was walked to here */
    uint64_t last_ns;            /* time of the latest tick, as it will be read back */
    /* Of the open chunk. */
    uint64_t base_ns, base_number, before_ns, gaps;
    CAIRN_VEC(uint64_t) numbers;
    CAIRN_VEC(int64_t) delays;
};

struct cairn_writer {
    struct cairn_sink *sink;
    struct cairn_writer_options options; /* role: a copy in the arena */
    uint32_t epoch, generation;
    bool introduced; /* the WRITER section is in the file at hand */

    struct cairn_arena arena;
    struct cairn_writer_strings strings;
    struct cairn_map codes_by_content; /* the last one; `lines` are not part of the key */
    struct cairn_idset locations_by_content, stacks_by_content;
    CAIRN_VEC(struct cairn_writer_code) codes;
    CAIRN_VEC(struct cairn_module_def) modules; /* build ids lie in the arena */
    CAIRN_VEC(struct cairn_location_def) locations;
    CAIRN_VEC(struct cairn_stack_def) stacks;
    struct cairn_writer_tracks tracks;
    struct cairn_part_state parts[CAIRN_PART_COUNT];
    CAIRN_VEC(uint32_t) late_lines;     /* codes whose line table came, not sent yet */
    CAIRN_VEC(uint32_t) changed_tracks; /* replaced, not sent yet */

    struct cairn_buf env; /* entries as they are sent, all so far */
    size_t env_sent_bytes;
    CAIRN_VEC(struct cairn_clock_def) clocks;
    bool clock_wanted; /* an anchor was asked for once: each file gets one */
    CAIRN_VEC(struct cairn_writer_counter) counters;

    struct cairn_writer_ticks ticks;
    CAIRN_VEC(struct cairn_writer_table) tables;
    size_t row_bytes, dict_bytes; /* pending, estimated */

    struct cairn_buf column, body, out; /* of a section; the section; the chunk it goes into */
    CAIRN_VEC(uint32_t) order, starts;  /* of a table's rows by track, while it is encoded */
    CAIRN_VEC(uint64_t) ordered;        /* a column in that order */
    uint32_t last_location;             /* of the stack entry before, in this section */
};

/* How many entries a dictionary has, id 0 included. */
size_t cairn_writer_count(const struct cairn_writer *writer, enum cairn_part part);

#endif

/* decode.h: sections back into entries and tables.
 *
 * Dictionary sections hold runs of ids: each `next` call gives {id, entry} until -CAIRN_EEND.
 * Spans borrow the section. All values are judged: an enum that is not known, a count that does
 * not fit, a reference to id 0 where there must be one are -CAIRN_EDAMAGED. References to ids
 * that were lost with a damaged chunk are the caller's to check.
 * Owner: the caller. Threads: one at a time.
 */
#ifndef CAIRN_DECODE_H
#define CAIRN_DECODE_H

#include "vec.h"
#include "wire.h"

struct cairn_dict {
    struct cairn_cursor cur;
    uint64_t next_id, run_left;
    uint32_t last_location; /* stacks name theirs by the difference */
};

void cairn_dict_init(struct cairn_dict *dict, struct cairn_span section);
int cairn_dict_string(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_span *ret_bytes);
int cairn_dict_code(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_code_def *ret_def);
int cairn_dict_linetable(struct cairn_dict *dict, struct cairn_linetable_def *ret_def);
int cairn_dict_module(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_module_def *ret_def);
int cairn_dict_location(struct cairn_dict *dict, uint32_t *ret_id,
                        struct cairn_location_def *ret_def);
int cairn_dict_stack(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_stack_def *ret_def);
int cairn_dict_track(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_track_def *ret_def);
int cairn_dict_env(struct cairn_dict *dict, struct cairn_span *ret_key,
                   struct cairn_span *ret_value);
int cairn_dict_counter(struct cairn_dict *dict, struct cairn_span *ret_name, uint64_t *ret_value);

struct cairn_writer_def {
    struct cairn_span role, boot_id, version;
    uint64_t pid, start_ns;
};
int cairn_decode_writer(struct cairn_span section, struct cairn_writer_def *ret_def);
int cairn_decode_clock(struct cairn_span section, struct cairn_clock_def *ret_def);
int cairn_decode_set(struct cairn_span section, uint64_t *ret_set_id, uint64_t *ret_sequence,
                     uint64_t *ret_parent_file_id);

/* Ticks with storage of their own, reused from chunk to chunk. */
struct cairn_ticks {
    struct cairn_ticks_def def; /* numbers and times_ns point into the vectors */
    CAIRN_VEC(uint64_t) numbers;
    CAIRN_VEC(uint64_t) times_ns;
};
void cairn_ticks_release(struct cairn_ticks *ticks);
int cairn_decode_ticks(struct cairn_span section, struct cairn_ticks *ticks);

/* A decoded table: column values as 64-bit words (see cairn_writer_row). Reused. A column of an
 * encoding not known here makes the table -CAIRN_ETOONEW. Columns that are not wanted are judged
 * all the same. All zero is an empty table. */
struct cairn_table_column {
    char name[65], unit[65];
    uint8_t encoding;
    uint64_t *values; /* row_count of them */
    size_t cap;
    bool wanted; /* else `values` say nothing */
};
struct cairn_table {
    uint32_t kind; /* enum cairn_row_kind, or one not known here */
    size_t row_count, column_count;
    const char *const *wanted; /* names of the columns to decode, NULL behind the last; NULL: all */
    struct cairn_table_column columns[CAIRN_COLUMNS_MAX];
};
void cairn_table_init(struct cairn_table *table);
void cairn_table_release(struct cairn_table *table);
int cairn_decode_table(struct cairn_span section, struct cairn_table *table);
/* The values of a column, NULL when the table has none of that name, or it was not wanted. */
const uint64_t *cairn_table_find(const struct cairn_table *table, const char *name);

#endif

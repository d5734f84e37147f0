/* writer.h: one writer's dictionaries, ticks and tables, sealed into chunks of a sink.
 *
 * A writer is the collector, or one agent in one process incarnation. Everything given to it
 * since the last flush becomes one chunk: dictionary entries first, then ticks, then tables.
 * Asking for the same string, code, location or stack twice gives the same id.
 * Owner: the writer copies what it is given; it borrows the sink. Threads: one at a time.
 * Every function returns 0 or a negative code: -CAIRN_ENOMEM; -CAIRN_ELIMIT; -CAIRN_EINTERNAL when
 * what it is given cannot be (an id never given out, ticks that run backwards). A failure leaves
 * the writer as it was, a failed flush included: what is pending stays so.
 */
#ifndef CAIRN_WRITER_H
#define CAIRN_WRITER_H

#include "sink.h"
#include "wire.h"

struct cairn_writer; /* opaque */

struct cairn_writer_options {
    uint32_t id;            /* unique in the set, not 0 */
    const char *role;       /* "collector", "agent", … */
    uint64_t pid, start_ns; /* the process incarnation that writes */
};

int cairn_writer_open(struct cairn_sink *sink, const struct cairn_writer_options *options,
                      struct cairn_writer **ret_writer);
void cairn_writer_free(struct cairn_writer *writer); /* drops what was not flushed; NULL ok */

int cairn_writer_string(struct cairn_writer *writer, struct cairn_span bytes, uint32_t *ret_id);
int cairn_writer_str(struct cairn_writer *writer, const char *str, uint32_t *ret_id);

/* Every call makes a new code or module: the caller knows what is the same, or asks for a code with
 * the same line table (`code` of `lines` does not count) that there is, among the latest of those
 * that differ in it alone. */
bool cairn_writer_find_code(const struct cairn_writer *writer, const struct cairn_code_def *def,
                            const struct cairn_linetable_def *lines, uint32_t *ret_id);
int cairn_writer_code(struct cairn_writer *writer, const struct cairn_code_def *def,
                      uint32_t *ret_id);
int cairn_writer_linetable(struct cairn_writer *writer, const struct cairn_linetable_def *def);
int cairn_writer_module(struct cairn_writer *writer, const struct cairn_module_def *def,
                        uint32_t *ret_id);

int cairn_writer_location(struct cairn_writer *writer, const struct cairn_location_def *def,
                          uint32_t *ret_id);
int cairn_writer_stack(struct cairn_writer *writer, uint32_t parent, uint32_t location,
                       uint32_t *ret_id);

/* A string that only tracks are called by: its memory goes with them. Given to cairn_writer_track()
 * at once, and to nothing else. */
int cairn_writer_track_name(struct cairn_writer *writer, struct cairn_span bytes, uint32_t *ret_id);

/* *ret_id 0 makes a new track, else the entry of that id is replaced (a name became known). */
int cairn_writer_track(struct cairn_writer *writer, const struct cairn_track_def *def,
                       uint32_t *ret_id);

/* No row and no other track will name it any more: its memory goes, in time. */
void cairn_writer_track_end(struct cairn_writer *writer, uint32_t id);

int cairn_writer_env(struct cairn_writer *writer, const char *key, struct cairn_span value);
int cairn_writer_counter(struct cairn_writer *writer, const char *name, uint64_t value);
int cairn_writer_clock(struct cairn_writer *writer); /* an anchor, now */

/* Sets how the ticks from here on are scheduled; flush before changing it. `due_ns` is when tick
 * `first_tick` is due; wall time of the first tick begins at `before_ns`. */
int cairn_writer_schedule(struct cairn_writer *writer, uint64_t seed, uint64_t mean_ns,
                          uint64_t quantum_ns, uint64_t first_tick, uint64_t due_ns,
                          uint64_t before_ns);

/* Tick `number` (greater than the last) was taken at `time_ns`. -CAIRN_ELIMIT when the open chunk
 * is full, or more than CAIRN_TICK_GAPS_MAX ticks were missed inside it: flush and call again. */
int cairn_writer_tick(struct cairn_writer *writer, uint64_t number, uint64_t time_ns);

/* What cairn_ticks_def will give back for the latest tick: `time_ns` rounded to the quantum. */
uint64_t cairn_writer_tick_time(const struct cairn_writer *writer);
/* Index of the latest tick among those of the open chunk, as rows name it; -1 when none. */
int64_t cairn_writer_tick_index(const struct cairn_writer *writer);

/* Appends a row to the open table of `kind`; the columns are declared by the first row of a table
 * and must stay the same in a chunk. `values` has one entry a column; for CAIRN_ENC_F64 the bits
 * of a double, for signed columns the two's complement. Columns with unit "id" that are named
 * track, stack, location, code, module, string or on (a string) hold ids of this writer: what they
 * refer to is in the file before them. "track" also feeds the track mask; "time" (ns), with "dur"
 * where there is one, the time range. Rows of one track keep their order, those of different tracks
 * need not. -CAIRN_ELIMIT when the open chunk is full: flush and call again. */
int cairn_writer_row(struct cairn_writer *writer, uint8_t kind,
                     const struct cairn_column_def *columns, size_t column_count,
                     const uint64_t *values);

/* Rough, before zstd. Rows and ticks are refused from CAIRN_WRITER_FULL_BYTES on: flush earlier. */
#define CAIRN_WRITER_FULL_BYTES ((size_t)6 << 20)
size_t cairn_writer_pending_bytes(const struct cairn_writer *writer);

/* Seals what is pending into a chunk (nothing pending: no chunk). `kind` is CAIRN_CHUNK_DATA, or
 * CAIRN_CHUNK_END, which is written even when empty. */
int cairn_writer_flush(struct cairn_writer *writer, uint16_t kind, struct cairn_err *err);

#endif

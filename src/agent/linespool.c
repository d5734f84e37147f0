#include "linespool.h"

#include "lines_parts.h"
#include "spoolfile.h"
#include "ticks.h"
#include "unitspool.h"

#define MOST_COUNT ((uint64_t)INT64_MAX)
#define MOST_LINES 1000000u /* of a function, as linesmodule.c has it */
#define MOST_UNITS ((uint32_t)1 << 24)

enum column {
    COL_TRACK,
    COL_CODE,
    COL_LINE,
    COL_HITS,
    COL_TOTAL,
    COL_AWAY,
    COL_CALLED,
    COL_NATIVE,
    COL_KNOWN,
    COLS
};

static const struct cairn_column_def columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [COL_CODE] = {"code", "id", CAIRN_ENC_RLE},
    [COL_LINE] = {"line", "", CAIRN_ENC_DELTA},
    [COL_HITS] = {"hits", "count", CAIRN_ENC_UVARINT},
    [COL_TOTAL] = {"total", "ns", CAIRN_ENC_UVARINT},
    [COL_AWAY] = {"suspended", "ns", CAIRN_ENC_RLE},
    [COL_CALLED] = {"called", "ns", CAIRN_ENC_RLE},
    [COL_NATIVE] = {"native", "ns", CAIRN_ENC_RLE},
    [COL_KNOWN] = {"known", "", CAIRN_ENC_RLE},
};

struct put {
    struct cairn_writer *writer;
    struct cairn_err *err;
    struct cairn_linespool_result *result;
    struct cairn_unitspool units;
    uint32_t boot_id, thread;
    double tick_ns;
    bool knows_calls;
};

/* What a file says may be anything. */
static uint64_t to_count(int64_t value)
{
    return value < 0 ? 0 : (uint64_t)value;
}

static uint64_t to_ns(const struct put *put, int64_t ticks)
{
    double ns = (double)to_count(ticks) * put->tick_ns;

    return ns < (double)MOST_COUNT ? (uint64_t)ns : MOST_COUNT;
}

static int put_line(struct put *put, uint32_t code, uint32_t line, const struct cairn_line_sum *sum)
{
    const uint64_t values[COLS] = {
        [COL_TRACK] = put->thread,
        [COL_CODE] = code,
        [COL_LINE] = line,
        [COL_HITS] = to_count(sum->hits),
        [COL_TOTAL] = to_ns(put, sum->total),
        [COL_AWAY] = to_ns(put, sum->slept),
        [COL_CALLED] = to_ns(put, sum->called),
        [COL_NATIVE] = to_ns(put, sum->native),
        [COL_KNOWN] = put->knows_calls,
    };
    int result;

    put->result->events += values[COL_HITS];
    result = cairn_writer_row(put->writer, CAIRN_ROW_LINE, columns, COLS, values);
    if (result != -CAIRN_ELIMIT)
        return result;
    CAIRN_TRY(cairn_writer_flush(put->writer, CAIRN_CHUNK_DATA, put->err));
    return cairn_writer_row(put->writer, CAIRN_ROW_LINE, columns, COLS, values);
}

static int put_string(struct put *put, const char **text, size_t size_bytes, uint32_t *ret_id)
{
    const struct cairn_span span = {(const uint8_t *)*text, size_bytes};

    *text += size_bytes;
    return cairn_writer_string(put->writer, span, ret_id);
}

static int put_code(struct put *put, const struct cairn_lines_block *block, uint32_t *ret_code)
{
    struct cairn_code_def def = {.first_line = block->code_line};
    const char *text = block->text;

    CAIRN_TRY(put_string(put, &text, block->name_bytes, &def.name));
    CAIRN_TRY(put_string(put, &text, block->qualname_bytes, &def.qualname));
    CAIRN_TRY(put_string(put, &text, block->file_bytes, &def.file));
    return cairn_writer_code(put->writer, &def, ret_code);
}

static int put_units(struct put *put, const struct cairn_lines_block *block)
{
    const struct cairn_span listing = {(const uint8_t *)block->text + block->name_bytes +
                                           block->qualname_bytes + block->file_bytes,
                                       block->listing_bytes};
    uint32_t code;

    CAIRN_TRY(put_code(put, block, &code));
    return cairn_unitspool_put(&put->units, put->thread, code, listing, cairn_lines_hits(block),
                               block->unit_count, &put->result->instructions);
}

static int put_block(struct put *put, const struct cairn_lines_block *block)
{
    const struct cairn_line_sum *sums = cairn_lines_sums(block);
    uint32_t code = 0; /* none: nothing of it ran, so far */

    for (uint32_t i = 0; i < block->line_count; i++) {
        if (sums[i].hits <= 0 && sums[i].total <= 0)
            continue;
        if (code == 0)
            CAIRN_TRY(put_code(put, block, &code));
        CAIRN_TRY(put_line(put, code, block->first_line + i, &sums[i]));
    }
    return block->unit_count == 0 ? 0 : put_units(put, block);
}

/* A block that lies in the file whole; NULL: there is none. */
static const struct cairn_lines_block *block_at(const struct cairn_spoolfile *file,
                                                const void *address)
{
    const struct cairn_lines_block *block =
        address == NULL ? NULL : cairn_spoolfile_at(file, address, sizeof(*block));

    if (block == NULL || block->line_count > MOST_LINES || block->unit_count > MOST_UNITS ||
        cairn_spoolfile_at(file, address, cairn_lines_block_bytes(block)) == NULL)
        return NULL;
    return block;
}

static int put_file(void *context, const struct cairn_spoolfile *file)
{
    struct put *put = context;
    struct cairn_track_def track = {.kind = CAIRN_TRACK_PROCESS,
                                    .number = file->head->pid,
                                    .start_ns = file->head->start_ns,
                                    .boot_id = put->boot_id};
    const struct cairn_lines_block *block = block_at(file, file->head->root);
    size_t left = file->size_bytes; /* blocks that point at each other have no more than that */

    put->result->processes++;
    put->result->cut_short += file->cut;
    put->result->lost += file->head->lost;
    put->thread = 0;
    put->knows_calls = file->head->knows_calls == 1;
    CAIRN_TRY(cairn_writer_track(put->writer, &track, &track.parent));
    track.kind = CAIRN_TRACK_THREAD; /* its first, which has its number */
    track.boot_id = 0;
    CAIRN_TRY(cairn_writer_track(put->writer, &track, &put->thread));
    while (block != NULL && cairn_lines_block_bytes(block) <= left) {
        left -= cairn_lines_block_bytes(block);
        CAIRN_TRY(put_block(put, block));
        block = block_at(file, block->next);
    }
    return 0;
}

int cairn_linespool_put(const char *folder, struct cairn_writer *writer, uint32_t boot_id,
                        struct cairn_linespool_result *ret_result, struct cairn_err *err)
{
    struct put put = {.writer = writer,
                      .err = err,
                      .result = ret_result,
                      .units = {.writer = writer, .err = err},
                      .boot_id = boot_id,
                      .tick_ns = cairn_ticks_ns()};

    int code;

    *ret_result = (struct cairn_linespool_result){0};
    code = cairn_spoolfile_each(folder, &cairn_spool_lines, put_file, &put);
    cairn_unitspool_release(&put.units);
    return code;
}

int cairn_linespool_counters(struct cairn_writer *writer,
                             const struct cairn_linespool_result *result)
{
    if (result->processes == 0)
        return 0;
    CAIRN_TRY(cairn_writer_counter(writer, "lines_processes", result->processes));
    CAIRN_TRY(cairn_writer_counter(writer, "lines_events", result->events));
    CAIRN_TRY(cairn_writer_counter(writer, "instructions", result->instructions));
    CAIRN_TRY(cairn_writer_counter(writer, "lines_cut_short", result->cut_short));
    return cairn_writer_counter(writer, "lines_lost", result->lost);
}

#include "linespool.h"

#include <string.h>

#include "lines_parts.h"
#include "map.h"
#include "spoolfile.h"
#include "ticks.h"
#include "unitspool.h"

#define MOST_COUNT ((uint64_t)INT64_MAX)
#define MOST_HITS ((uint64_t)1 << 48) /* of a place: sums of these stay numbers */
#define MOST_LINES 1000000u           /* of a function, as linesmodule.c has it */
#define MOST_UNITS ((uint32_t)1 << 24)
#define MOST_THREADS ((size_t)1 << 24)
#define MOST_EVENT_NS 1e6 /* of a cost that can be believed */
#define MOST_COST_NS 1e17 /* three years */

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
    COL_LET_GO,
    COL_APART,
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
    [COL_LET_GO] = {"let_go", "", CAIRN_ENC_RLE},
    [COL_APART] = {"apart", "", CAIRN_ENC_RLE},
};

struct put {
    struct cairn_writer *writer;
    struct cairn_err *err;
    struct cairn_linespool_result *result;
    struct cairn_unitspool units;
    const struct cairn_spoolfile *file;
    struct cairn_map threads;  /* of the process: {tid, when it began}, its track */
    CAIRN_VEC(uint64_t) begun; /* of each line of a block: hits on top of those of its sum */
    uint32_t boot_id, process, thread; /* thread: the first one */
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

/* What is said of a block's lines: whose they are, and what is known. */
struct said {
    uint32_t thread, code;
    uint64_t known; /* 2: of the sums hits alone are */
};

static int put_line(struct put *put, const struct cairn_lines_block *block, const struct said *said,
                    uint32_t line, const struct cairn_line_sum *sum)
{
    const uint64_t values[COLS] = {
        [COL_TRACK] = said->thread,
        [COL_CODE] = said->code,
        [COL_LINE] = line,
        [COL_HITS] = to_count(sum->hits),
        [COL_TOTAL] = to_ns(put, sum->total),
        [COL_AWAY] = to_ns(put, sum->slept),
        [COL_CALLED] = to_ns(put, sum->called),
        [COL_NATIVE] = to_ns(put, sum->native),
        [COL_KNOWN] = said->known,
        [COL_LET_GO] = block->let_go == 1,
        [COL_APART] = block->tid != 0,
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

static int put_spot(struct put *put, uint32_t code, const struct cairn_spot *spot)
{
    const struct cairn_span others = {NULL, 0};

    for (size_t i = 0; i < CAIRN_SPOT_KINDS; i++) {
        const struct cairn_spot_kind *kind = &spot->kinds[i];
        const struct cairn_spot_name *name =
            cairn_spoolfile_at(put->file, kind->name, sizeof(*name));

        if (name == NULL || name->size_bytes > CAIRN_SPOT_NAME_BYTES ||
            cairn_spoolfile_at(put->file, kind->name, sizeof(*name) + name->size_bytes) == NULL)
            continue;
        CAIRN_TRY(cairn_unitspool_given(
            &put->units, put->thread, code, spot->unit,
            (struct cairn_span){(const uint8_t *)name->text, (size_t)name->size_bytes},
            kind->hits));
    }
    return cairn_unitspool_given(&put->units, put->thread, code, spot->unit, others, spot->others);
}

static int put_units(struct put *put, const struct cairn_lines_block *block)
{
    const struct cairn_span listing = {(const uint8_t *)block->text + block->name_bytes +
                                           block->qualname_bytes + block->file_bytes,
                                       block->listing_bytes};
    uint32_t code;

    CAIRN_TRY(put_code(put, block, &code));
    put->units.let_go = block->let_go == 1;
    CAIRN_TRY(cairn_unitspool_put(&put->units, put->thread, code, listing, cairn_lines_hits(block),
                                  block->unit_count, &put->result->instructions));
    for (uint32_t i = 0; i < block->spot_count; i++)
        CAIRN_TRY(put_spot(put, code, &cairn_lines_spots(block)[i]));
    return 0;
}

static uint64_t less(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* How often a place was passed: as often as its probe, but for the exceptions in between. Of one
 * that nobody told of no line begins, whatever its plan says. */
static int add_places(struct put *put, const struct cairn_lines_block *block)
{
    const struct cairn_line_place *places = cairn_lines_places(block);
    uint64_t left = 0; /* of the probe's, where the place is reached */

    put->begun.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&put->begun, (size_t)block->line_count + 1, MOST_LINES + 1));
    memset(put->begun.items, 0, ((size_t)block->line_count + 1) * sizeof(*put->begun.items));
    for (uint32_t i = 0; i < block->place_count; i++) {
        uint32_t line = places[i].line - block->first_line;

        if (places[i].probe == i)
            left = places[i].hits < MOST_HITS ? places[i].hits : MOST_HITS;
        if (line < block->line_count && (places[i].probe == i || places[i].heard == 1))
            put->begun.items[line] += left;
        left = less(left, places[i].gone);
    }
    return 0;
}

static int64_t sum_of(int64_t hits, uint64_t begun)
{
    uint64_t sum = to_count(hits) + begun;

    return sum < MOST_COUNT ? (int64_t)sum : INT64_MAX;
}

static int put_thread(struct put *put, const struct cairn_lines_block *block, uint32_t *ret_id)
{
    const struct cairn_track_def track = {.kind = CAIRN_TRACK_THREAD,
                                          .parent = put->process,
                                          .number = block->tid,
                                          .start_ns = block->start_ns};

    uint64_t known = put->thread;
    bool is_known =
        block->tid == 0 || cairn_map_get(&put->threads, block->tid, block->start_ns, &known);

    *ret_id = is_known ? (uint32_t)known : 0; /* 0: to be made */
    if (is_known)
        return 0;
    CAIRN_TRY(cairn_writer_track(put->writer, &track, ret_id));
    return cairn_map_put(&put->threads, block->tid, block->start_ns, *ret_id);
}

static int put_block(struct put *put, const struct cairn_lines_block *block)
{
    const struct cairn_line_sum *sums = cairn_lines_sums(block);
    struct said said = {.known = block->untimed == 1 ? 2 : put->knows_calls};

    CAIRN_TRY(add_places(put, block));
    for (uint32_t i = 0; i < block->line_count; i++) {
        struct cairn_line_sum sum = sums[i];

        sum.hits = sum_of(sum.hits, put->begun.items[i]);
        if (sum.hits <= 0 && sum.total <= 0)
            continue;
        if (said.code == 0) { /* nothing of it ran, so far */
            CAIRN_TRY(put_code(put, block, &said.code));
            CAIRN_TRY(put_thread(put, block, &said.thread));
        }
        CAIRN_TRY(put_line(put, block, &said, block->first_line + i, &sum));
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
        block->place_count > MOST_UNITS || block->spot_count > MOST_UNITS ||
        cairn_spoolfile_at(file, address, cairn_lines_block_bytes(block)) == NULL)
        return NULL;
    return block;
}

/* What it took to count the lines of a file, by what an event was measured to take. */
static void add_cost(struct cairn_linespool_result *result, const struct cairn_spool_head *head,
                     uint64_t events)
{
    double line = head->costs.event, frame = head->costs.call;

    if (line > 0 && line < MOST_EVENT_NS && frame >= 0 && frame < MOST_EVENT_NS)
        result->cost_ns += line * (double)events + frame * (double)head->frames;
    else
        result->uncosted++;
}

static int put_file(void *context, const struct cairn_spoolfile *file)
{
    struct put *put = context;
    struct cairn_track_def track = {.kind = CAIRN_TRACK_PROCESS,
                                    .number = file->head->pid,
                                    .start_ns = file->head->start_ns,
                                    .boot_id = put->boot_id};
    const struct cairn_lines_block *block = block_at(file, file->head->root);
    uint64_t before = put->result->events;
    size_t left = file->size_bytes; /* blocks that point at each other have no more than that */

    put->result->processes++;
    put->result->cut_short += file->cut;
    put->result->displaced += file->head->displaced == 1;
    put->result->lost += file->head->lost;
    cairn_books_add(&put->result->books, &file->head->meter);
    put->file = file;
    put->thread = 0;
    cairn_map_clear(&put->threads);
    put->knows_calls = file->head->knows_calls == 1;
    CAIRN_TRY(cairn_writer_track(put->writer, &track, &track.parent));
    put->process = track.parent;
    track.kind = CAIRN_TRACK_THREAD; /* its first, which has its number */
    track.boot_id = 0;
    CAIRN_TRY(cairn_writer_track(put->writer, &track, &put->thread));
    while (block != NULL && cairn_lines_block_bytes(block) <= left) {
        left -= cairn_lines_block_bytes(block);
        CAIRN_TRY(put_block(put, block));
        block = block_at(file, block->next);
    }
    add_cost(put->result, file->head, put->result->events - before);
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
    cairn_map_init(&put.threads, MOST_THREADS);
    code = cairn_spoolfile_each(folder, &cairn_spool_lines, put_file, &put);
    cairn_unitspool_release(&put.units);
    cairn_vec_release(&put.begun);
    cairn_map_release(&put.threads);
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
    CAIRN_TRY(cairn_writer_counter(writer, "lines_displaced", result->displaced));
    if (result->uncosted == 0 && result->cost_ns > 0 && result->cost_ns < MOST_COST_NS)
        CAIRN_TRY(cairn_writer_counter(writer, "lines_cost_ns", (uint64_t)result->cost_ns));
    return cairn_writer_counter(writer, "lines_lost", result->lost);
}

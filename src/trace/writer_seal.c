/* Flushing: what is pending becomes chunks of the sink. */
#include <stdlib.h>
#include <string.h>

#include "writer_encode.h"

/* Dictionaries larger than this go out in chunks of their own, ahead of the rows. */
#define SPLIT_BYTES ((size_t)4 << 20)
/* No run of entries is larger than this many strings of full length: SPLIT_BYTES again. */
#define RUN_MAX 64

struct section_of_part {
    enum cairn_part part;
    enum cairn_section_kind kind;
};

static const struct section_of_part sections[] = {
    {CAIRN_PART_STRING, CAIRN_SECTION_STRINGS}, {CAIRN_PART_CODE, CAIRN_SECTION_CODES},
    {CAIRN_PART_MODULE, CAIRN_SECTION_MODULES}, {CAIRN_PART_LOCATION, CAIRN_SECTION_LOCATIONS},
    {CAIRN_PART_STACK, CAIRN_SECTION_STACKS},   {CAIRN_PART_TRACK, CAIRN_SECTION_TRACKS},
};

/* NULL: it is a track, and was said to be over, or what such a track was called. */
static uint32_t *stamp_of(struct cairn_writer *writer, enum cairn_part part, uint32_t id)
{
    if (part == CAIRN_PART_TRACK)
        return cairn_writer_tracks_stamp(&writer->tracks, id);
    if (part == CAIRN_PART_STRING)
        return cairn_writer_strings_stamp(&writer->strings, id);
    return &writer->parts[part].stamps.items[id];
}

/* Makes sure that entry `id` is in the file before this chunk's rows. */
static int need(struct cairn_writer *writer, enum cairn_part part, uint32_t id)
{
    struct cairn_part_state *state = &writer->parts[part];
    uint32_t *stamp;

    if (id == 0 || id >= state->fresh)
        return 0;
    stamp = stamp_of(writer, part, id);
    if (!stamp || *stamp == writer->epoch)
        return 0; /* what is over and named all the same, readers count */
    CAIRN_TRY(cairn_vec_reserve(&state->again, state->again.count + 1, CAIRN_IDS_MAX));
    *stamp = writer->epoch;
    state->again.items[state->again.count++] = id;
    return 0;
}

static int need_refs(struct cairn_writer *writer, enum cairn_part part, uint32_t id)
{
    static const enum cairn_part location_parts[] = {
        [CAIRN_LOC_PYTHON] = CAIRN_PART_CODE,
        [CAIRN_LOC_NATIVE] = CAIRN_PART_MODULE,
        [CAIRN_LOC_LABEL] = CAIRN_PART_STRING,
    };
    const struct cairn_code_def *code;
    const struct cairn_location_def *location;
    const struct cairn_track_def *track;

    switch (part) {
    case CAIRN_PART_CODE:
        code = &writer->codes.items[id].def;
        CAIRN_TRY(need(writer, CAIRN_PART_STRING, code->name));
        CAIRN_TRY(need(writer, CAIRN_PART_STRING, code->qualname));
        return need(writer, CAIRN_PART_STRING, code->file);
    case CAIRN_PART_MODULE:
        return need(writer, CAIRN_PART_STRING, writer->modules.items[id].path);
    case CAIRN_PART_LOCATION:
        location = &writer->locations.items[id];
        return need(writer, location_parts[location->kind], location->ref);
    case CAIRN_PART_STACK:
        CAIRN_TRY(need(writer, CAIRN_PART_STACK, writer->stacks.items[id].parent));
        return need(writer, CAIRN_PART_LOCATION, writer->stacks.items[id].location);
    case CAIRN_PART_TRACK:
        track = cairn_writer_tracks_get(&writer->tracks, id);
        CAIRN_TRY(need(writer, CAIRN_PART_TRACK, track->parent));
        CAIRN_TRY(need(writer, CAIRN_PART_STRING, track->boot_id));
        CAIRN_TRY(need(writer, CAIRN_PART_STRING, track->name));
        return need(writer, CAIRN_PART_STRING, track->detail);
    default:
        return 0;
    }
}

static int by_id(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

/* What a dictionary's outgoing entries refer to. `again` grows while it is walked: by parents. */
static int need_part_refs(struct cairn_writer *writer, enum cairn_part part)
{
    struct cairn_part_state *state = &writer->parts[part];

    for (size_t id = state->fresh; id < state->count; id++)
        CAIRN_TRY(need_refs(writer, part, (uint32_t)id));
    for (size_t i = 0; i < state->again.count; i++)
        CAIRN_TRY(need_refs(writer, part, state->again.items[i]));
    if (state->again.count > 1)
        qsort(state->again.items, state->again.count, sizeof(uint32_t), by_id);
    return 0;
}

static int need_rows(struct cairn_writer *writer)
{
    for (size_t i = 0; i < writer->tables.count; i++) {
        const struct cairn_writer_table *table = &writer->tables.items[i];

        for (size_t j = 0; table->row_count > 0 && j < table->column_count; j++) {
            const struct cairn_writer_column *column = &table->columns[j];

            for (size_t k = 0; column->part != CAIRN_PART_NONE && k < table->row_count; k++)
                CAIRN_TRY(need(writer, column->part, (uint32_t)column->values.items[k]));
        }
    }
    return 0;
}

/* Who refers comes before what is referred to: stacks, locations, codes, strings. */
static int collect(struct cairn_writer *writer)
{
    CAIRN_TRY(need_rows(writer));
    for (size_t i = 0; i < writer->changed_tracks.count; i++)
        CAIRN_TRY(need(writer, CAIRN_PART_TRACK, writer->changed_tracks.items[i]));
    for (size_t i = 0; i < writer->clocks.count; i++)
        CAIRN_TRY(need(writer, CAIRN_PART_STRING, writer->clocks.items[i].boot_id));
    CAIRN_TRY(need_part_refs(writer, CAIRN_PART_TRACK));
    CAIRN_TRY(need_part_refs(writer, CAIRN_PART_STACK));
    CAIRN_TRY(need_part_refs(writer, CAIRN_PART_LOCATION));
    for (size_t i = 0; i < writer->late_lines.count; i++)
        CAIRN_TRY(need(writer, CAIRN_PART_CODE, writer->late_lines.items[i]));
    CAIRN_TRY(need_part_refs(writer, CAIRN_PART_CODE));
    CAIRN_TRY(need_part_refs(writer, CAIRN_PART_MODULE));
    return need_part_refs(writer, CAIRN_PART_STRING);
}

/* Moves the body into the chunk as a section; an empty one is left out. */
static int end_section(struct cairn_writer *writer, enum cairn_section_kind kind, bool must)
{
    struct cairn_buf *body = &writer->body;

    if (body->code == 0 && body->size_bytes > 0) {
        cairn_buf_uvarint(&writer->out, (uint64_t)kind << 1 | must);
        cairn_buf_bytes(&writer->out, cairn_buf_span(body));
    }
    if (body->code < 0)
        return body->code;
    cairn_buf_clear(body);
    return writer->out.code;
}

static int append_part(struct cairn_writer *writer, struct cairn_err *err)
{
    CAIRN_TRY(cairn_sink_append(writer->sink, CAIRN_CHUNK_DATA, writer->options.id, UINT64_MAX, 0,
                                0, cairn_buf_span(&writer->out), err));
    cairn_buf_clear(&writer->out);
    return 0;
}

static int send_part(struct cairn_writer *writer, const struct section_of_part *section,
                     struct cairn_err *err)
{
    const struct cairn_part_state *state = &writer->parts[section->part];
    size_t old = state->again.count, total = old + state->count - state->fresh;

    writer->last_location = 0;
    for (size_t i = 0; i < total;) {
        uint32_t first = (uint32_t)(i < old ? state->again.items[i] : state->fresh + (i - old));
        size_t run = 1;

        while (run < RUN_MAX && i + run < total &&
               (i + run < old ? state->again.items[i + run] : state->fresh + (i + run - old)) ==
                   first + run)
            run++;
        cairn_buf_uvarint(&writer->body, first);
        cairn_buf_uvarint(&writer->body, run);
        for (size_t j = 0; j < run; j++)
            cairn_encode_entry(writer, section->part, first + (uint32_t)j);
        i += run;
        if (writer->body.size_bytes + writer->out.size_bytes > SPLIT_BYTES) {
            CAIRN_TRY(end_section(writer, section->kind, true));
            CAIRN_TRY(append_part(writer, err));
            writer->last_location = 0;
        }
    }
    return end_section(writer, section->kind, true);
}

static int send_lines_of(struct cairn_writer *writer, uint32_t code, struct cairn_err *err)
{
    const struct cairn_linetable_def *lines = &writer->codes.items[code].lines;

    if (lines->code == 0)
        return 0;
    cairn_encode_linetable(writer, lines);
    if (writer->body.size_bytes + writer->out.size_bytes > SPLIT_BYTES) {
        CAIRN_TRY(end_section(writer, CAIRN_SECTION_LINETABLES, false));
        return append_part(writer, err);
    }
    return 0;
}

/* Of codes that go out again and of those whose table is new; some are sent twice, seldom. */
static int send_lines(struct cairn_writer *writer, struct cairn_err *err)
{
    const struct cairn_part_state *codes = &writer->parts[CAIRN_PART_CODE];

    for (size_t i = 0; i < codes->again.count; i++)
        CAIRN_TRY(send_lines_of(writer, codes->again.items[i], err));
    for (size_t i = 0; i < writer->late_lines.count; i++)
        CAIRN_TRY(send_lines_of(writer, writer->late_lines.items[i], err));
    return end_section(writer, CAIRN_SECTION_LINETABLES, false);
}

static int send_dictionaries(struct cairn_writer *writer, struct cairn_err *err)
{
    if (!writer->introduced)
        cairn_encode_writer(writer);
    CAIRN_TRY(end_section(writer, CAIRN_SECTION_WRITER, true));
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        CAIRN_TRY(send_part(writer, &sections[i], err));
        if (sections[i].part == CAIRN_PART_CODE)
            CAIRN_TRY(send_lines(writer, err));
    }
    return 0;
}

static int add_facts(struct cairn_writer *writer)
{
    size_t env_bytes = writer->env.size_bytes - writer->env_sent_bytes;

    if (env_bytes)
        cairn_buf_add(&writer->body, writer->env.data + writer->env_sent_bytes, env_bytes);
    CAIRN_TRY(end_section(writer, CAIRN_SECTION_ENV, false));
    for (size_t i = 0; i < writer->clocks.count; i++) {
        cairn_encode_clock(writer, &writer->clocks.items[i]);
        CAIRN_TRY(end_section(writer, CAIRN_SECTION_CLOCK, false));
    }
    cairn_encode_counters(writer);
    return end_section(writer, CAIRN_SECTION_COUNTERS, false);
}

static int add_rows(struct cairn_writer *writer)
{
    if (writer->ticks.numbers.count > 0)
        cairn_encode_ticks(writer);
    CAIRN_TRY(end_section(writer, CAIRN_SECTION_TICKS, true));
    for (size_t i = 0; i < writer->tables.count; i++) {
        if (writer->tables.items[i].row_count > 0)
            CAIRN_TRY(cairn_encode_table(writer, &writer->tables.items[i]));
        CAIRN_TRY(end_section(writer, CAIRN_SECTION_ROWS, true));
    }
    return 0;
}

struct extent { /* what the index entry says of the rows */
    uint64_t first_ns, last_ns, track_mask;
};

static void widen(struct extent *extent, uint64_t first_ns, uint64_t last_ns)
{
    if (first_ns < extent->first_ns)
        extent->first_ns = first_ns;
    if (last_ns > extent->last_ns)
        extent->last_ns = last_ns;
}

static void measure_table(const struct cairn_writer_table *table, struct extent *extent)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct cairn_writer_column *column = &table->columns[i];

        for (size_t k = 0; column->part == CAIRN_PART_TRACK && k < table->row_count; k++)
            extent->track_mask |= (uint64_t)1 << (column->values.items[k] % 64);
    }
    if (table->time_column == table->column_count)
        return;
    for (size_t k = 0; k < table->row_count; k++) {
        uint64_t first_ns = table->columns[table->time_column].values.items[k];
        uint64_t dur_ns = 0;

        if (table->dur_column < table->column_count)
            dur_ns = table->columns[table->dur_column].values.items[k];
        widen(extent, first_ns, first_ns + dur_ns);
    }
}

static struct extent measure(const struct cairn_writer *writer)
{
    struct extent extent = {.first_ns = UINT64_MAX};

    if (writer->ticks.numbers.count > 0)
        widen(&extent, writer->ticks.before_ns, writer->ticks.last_ns);
    for (size_t i = 0; i < writer->tables.count; i++) {
        if (writer->tables.items[i].row_count > 0)
            measure_table(&writer->tables.items[i], &extent);
    }
    return extent;
}

static bool has_rows(const struct cairn_writer *writer)
{
    for (size_t i = 0; i < writer->tables.count; i++) {
        if (writer->tables.items[i].row_count > 0)
            return true;
    }
    return false;
}

static bool has_pending(const struct cairn_writer *writer)
{
    bool pending = writer->changed_tracks.count > 0 || writer->late_lines.count > 0 ||
                   writer->env.size_bytes > writer->env_sent_bytes || writer->clocks.count > 0 ||
                   writer->ticks.numbers.count > 0;

    for (size_t i = 0; i < CAIRN_PART_COUNT; i++)
        pending |= writer->parts[i].count > writer->parts[i].fresh;
    for (size_t i = 0; i < writer->counters.count; i++)
        pending |= writer->counters.items[i].dirty;
    return pending || has_rows(writer);
}

/* The sink is in a new file: it holds nothing of ours yet. */
static int begin_generation(struct cairn_writer *writer)
{
    if (writer->generation == cairn_sink_generation(writer->sink))
        return 0;
    if (writer->clock_wanted && writer->clocks.count == 0)
        CAIRN_TRY(cairn_writer_clock(writer));
    writer->generation = cairn_sink_generation(writer->sink);
    writer->epoch++;
    writer->introduced = false;
    writer->env_sent_bytes = 0;
    for (size_t i = 0; i < writer->counters.count; i++)
        writer->counters.items[i].dirty = true;
    return 0;
}

static void forget_pending(struct cairn_writer *writer)
{
    for (size_t i = 0; i < CAIRN_PART_COUNT; i++) {
        struct cairn_part_state *state = &writer->parts[i];

        for (; state->fresh < state->count; state->fresh++) {
            uint32_t *stamp = stamp_of(writer, (enum cairn_part)i, (uint32_t)state->fresh);

            if (stamp)
                *stamp = writer->epoch;
        }
    }
    for (size_t i = 0; i < writer->counters.count; i++)
        writer->counters.items[i].dirty = false;
    for (size_t i = 0; i < writer->tables.count; i++)
        writer->tables.items[i].row_count = 0;
    writer->late_lines.count = 0;
    writer->changed_tracks.count = 0;
    cairn_writer_tracks_drop(&writer->tracks);
    writer->env_sent_bytes = writer->env.size_bytes;
    writer->clocks.count = 0;
    writer->ticks.numbers.count = 0;
    writer->ticks.delays.count = 0;
    writer->introduced = true;
    writer->row_bytes = 0;
    writer->dict_bytes = 0;
}

static int seal(struct cairn_writer *writer, uint16_t kind, struct cairn_err *err)
{
    struct extent extent = measure(writer);

    CAIRN_TRY(collect(writer));
    CAIRN_TRY(send_dictionaries(writer, err));
    CAIRN_TRY(add_facts(writer));
    CAIRN_TRY(add_rows(writer));
    return cairn_sink_append(writer->sink, kind, writer->options.id, extent.first_ns,
                             extent.last_ns, extent.track_mask, cairn_buf_span(&writer->out), err);
}

int cairn_writer_flush(struct cairn_writer *writer, uint16_t kind, struct cairn_err *err)
{
    struct cairn_err why = {0};
    int code;

    if (kind != CAIRN_CHUNK_END && !has_pending(writer))
        return 0;
    code = has_rows(writer) ? cairn_sink_turn(writer->sink, &why) : 0;
    if (code == 0)
        code = begin_generation(writer);
    if (code == 0)
        code = seal(writer, kind, &why);
    for (size_t i = 0; i < CAIRN_PART_COUNT; i++)
        writer->parts[i].again.count = 0;
    cairn_buf_clear(&writer->body);
    cairn_buf_clear(&writer->out);
    if (code == 0) {
        forget_pending(writer);
        return 0;
    }
    writer->epoch++;
    if (why.code == 0)
        return cairn_err_set(err, code, 0, "writer", "cannot put a chunk together");
    if (err != NULL)
        *err = why;
    return code;
}

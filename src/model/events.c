#include "events.h"

#include <stdlib.h>

#include "alloc.h"
#include "chunks.h"
#include "decode.h"

struct cairn_events {
    struct cairn_chunks chunks;
    const bool *chosen; /* NULL: all */
    struct cairn_table table;
    const uint64_t *track, *time, *dur, *stack, *state, *on; /* the last two may be NULL */
    unsigned kind;
    size_t row;
    bool in_chunk;
};

int cairn_events_open(const struct cairn_model *model, unsigned kind, uint64_t from_ns,
                      uint64_t to_ns, struct cairn_events **ret_events)
{
    struct cairn_events *events = cairn_calloc(1, sizeof(*events));

    if (!events)
        return -CAIRN_ENOMEM;
    events->kind = kind;
    cairn_chunks_init(&events->chunks, cairn_model_whole(model), from_ns, to_ns, 1u << kind);
    cairn_table_init(&events->table);
    *ret_events = events;
    return 0;
}

int cairn_events_choose(struct cairn_events *events, const bool *chosen)
{
    events->chosen = chosen;
    return cairn_chunks_choose(&events->chunks, chosen);
}

void cairn_events_free(struct cairn_events *events)
{
    if (!events)
        return;
    cairn_chunks_release(&events->chunks);
    cairn_table_release(&events->table);
    free(events);
}

/* 0, -CAIRN_EEND at the end of the chunk, or a code. */
static int next_table(struct cairn_events *events)
{
    static const char *const wanted[] = {"track", "time", "dur", "stack", "state", "on", NULL};
    struct cairn_table *table = &events->table;
    struct cairn_section section;
    uint64_t skipped = 0;
    int code;

    do {
        table->row_count = 0; /* of one of another kind */
        code = cairn_section_next(&events->chunks.sections, &section, &skipped);
        if (code < 0)
            return cairn_chunks_pass_over(code) ? -CAIRN_EEND : code;
        if (section.kind != CAIRN_SECTION_ROWS)
            continue;
        table->wanted = wanted;
        code = cairn_decode_table(section.bytes, table);
        if (code == 0 && table->kind == events->kind)
            break;
    } while (code == 0 || cairn_chunks_pass_over(code));
    events->row = 0;
    events->track = cairn_table_find(table, "track");
    events->time = cairn_table_find(table, "time");
    events->dur = cairn_table_find(table, "dur");
    events->stack = cairn_table_find(table, "stack");
    events->state = cairn_table_find(table, "state");
    events->on = cairn_table_find(table, "on");
    if (code < 0 || !events->track || !events->time || !events->dur || !events->stack)
        table->row_count = 0;
    return code;
}

static uint32_t text_of(const struct cairn_chunks *chunks, uint64_t string)
{
    const struct cairn_model_writer *writer = &chunks->model->writers.items[chunks->writer];
    uint32_t text = string > UINT32_MAX || string == 0
                        ? CAIRN_IDS_LOST
                        : cairn_ids_get(&writer->strings, (uint32_t)string);

    return text == CAIRN_IDS_LOST ? 0 : text;
}

/* False when the row names what is not there, or nothing of it lies in the chosen time. */
static bool make_call(const struct cairn_events *events, size_t row, struct cairn_event_call *call)
{
    const struct cairn_chunks *chunks = &events->chunks;

    call->thread = cairn_chunks_thread(chunks, events->track[row]);
    if (call->thread == UINT32_MAX || (events->chosen && !events->chosen[call->thread]))
        return false;
    call->node = cairn_chunks_node(chunks, events->stack[row]);
    call->state =
        events->state && events->state[row] <= UINT8_MAX ? (uint8_t)events->state[row] : 0;
    call->on = events->on ? text_of(chunks, events->on[row]) : 0;
    call->first_ns = events->time[row] + chunks->shift_ns;
    if (__builtin_add_overflow(call->first_ns, events->dur[row], &call->last_ns) ||
        call->last_ns <= chunks->from_ns || call->first_ns > chunks->to_ns)
        return false;
    if (call->first_ns < chunks->from_ns)
        call->first_ns = chunks->from_ns;
    if (call->last_ns > chunks->to_ns)
        call->last_ns = chunks->to_ns;
    return true;
}

int cairn_events_next(struct cairn_events *events, struct cairn_event_call *ret_call)
{
    int code;

    for (;;) {
        while (events->row < events->table.row_count)
            if (make_call(events, events->row++, ret_call))
                return 0;
        events->table.row_count = 0;
        if (!events->in_chunk) {
            CAIRN_TRY(cairn_chunks_next(&events->chunks));
            events->in_chunk = true;
        }
        code = next_table(events);
        if (code == -CAIRN_EEND)
            events->in_chunk = false;
        else if (code < 0)
            return code;
    }
}

/* Instructions that were counted, of all functions, as `cairn dis` lists them of one. */
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "html_counts.h"
#include "listing.h"
#include "vec.h"

#define MOST_ITEMS ((size_t)1 << 28)
#define DRAIN_ITEMS 1024

/* By process, function and offset. An opcode's `thread` is here the page's number of its process.
 */
struct opcode_list {
    struct cairn_listed *items;
    size_t count, cap;
    bool joined; /* of all processes, since there were too many: of process 0 */
};

static int by_process(const void *left, const void *right)
{
    const struct cairn_counted_opcode *a = &((const struct cairn_listed *)left)->opcode;
    const struct cairn_counted_opcode *b = &((const struct cairn_listed *)right)->opcode;

    return (a->thread > b->thread) - (a->thread < b->thread);
}

static void merge(struct opcode_list *list)
{
    size_t kept = 0, end;

    if (list->count > 0)
        qsort(list->items, list->count, sizeof(*list->items), by_process);
    for (size_t begin = 0; begin < list->count; begin = end) {
        size_t merged;

        for (end = begin + 1; end < list->count; end++)
            if (by_process(&list->items[begin], &list->items[end]) != 0)
                break;
        merged = cairn_listed_merge(list->items + begin, end - begin);
        memmove(list->items + kept, list->items + begin, merged * sizeof(*list->items));
        kept += merged;
    }
    list->count = kept;
}

static int take(const struct cairn_html_counts *counts, struct opcode_list *list)
{
    const struct cairn_tally *tally = counts->wall;
    const struct cairn_counted_opcode *opcodes;
    size_t count = cairn_model_counted_opcodes(tally->model, &opcodes);

    CAIRN_TRY(cairn_vec_reserve(list, count, MOST_ITEMS));
    for (size_t i = 0; i < count; i++) {
        struct cairn_listed *item = &list->items[list->count];

        if (!tally->kept_process[opcodes[i].thread])
            continue;
        *item = (struct cairn_listed){.opcode = opcodes[i]};
        item->opcode.thread = cairn_html_counts_process(counts, opcodes[i].thread);
        list->count++;
    }
    merge(list);
    if (list->count <= CAIRN_HTML_COUNTED_MAX)
        return 0;
    list->joined = true;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].opcode.thread = 0;
    merge(list);
    return 0;
}

/* The order of an instruction and of where a frame of the process stands. */
static int order(const struct cairn_counted_opcode *opcode, uint32_t process,
                 const struct cairn_frame *frame)
{
    if (opcode->thread != process)
        return opcode->thread < process ? -1 : 1;
    if (opcode->function != frame->function)
        return opcode->function < frame->function ? -1 : 1;
    return opcode->offset <= frame->offset ? -1 : 1;
}

/* The last instruction of the function that begins at the frame's offset or before it: behind it
 * lie its caches. */
static struct cairn_listed *item_at(const struct opcode_list *list, uint32_t process,
                                    const struct cairn_frame *frame)
{
    size_t low = 0, high = list->count;
    const struct cairn_counted_opcode *found;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (order(&list->items[middle].opcode, process, frame) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    found = &list->items[low - 1].opcode;
    return found->thread == process && found->function == frame->function ? &list->items[low - 1]
                                                                          : NULL;
}

static void take_samples(const struct cairn_html_counts *counts, const struct opcode_list *list)
{
    const struct cairn_tally *tally = counts->wall;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;

    cairn_model_frames(tally->model, &frames);
    cairn_model_nodes(tally->model, &nodes);
    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];
        const struct cairn_frame *frame = &frames[nodes[cell->node].frame];
        uint32_t process = list->joined ? 0 : cairn_html_counts_process(counts, cell->thread);
        struct cairn_listed *item = cell->node > 0 ? item_at(list, process, frame) : NULL;

        if (item)
            item->sampled.ticks += cell->weight.ticks;
    }
}

/* Function, offset, line, whether something jumps there, values on the stack behind it and 1, text,
 * form in which it is run, how often, samples, process. */
static int put(struct cairn_html_counts *counts, const struct opcode_list *list,
               const struct cairn_listed *item)
{
    const struct cairn_counted_opcode *opcode = &item->opcode;
    struct cairn_json *json = counts->json;

    cairn_json_array(json);
    cairn_json_u64(json, counts->tree->function_of[opcode->function]);
    cairn_json_u64(json, opcode->offset);
    cairn_json_u64(json, opcode->line);
    cairn_json_u64(json, opcode->target);
    cairn_json_u64(json, opcode->depth);
    CAIRN_TRY(cairn_html_counts_text(counts, counts->options->source ? opcode->text
                                                                     : cairn_listed_name(opcode)));
    CAIRN_TRY(cairn_html_counts_text(counts, opcode->form));
    cairn_json_u64(json, opcode->hits);
    cairn_json_u64(json, item->sampled.ticks);
    cairn_json_i64(json, list->joined ? -1 : (int64_t)opcode->thread);
    cairn_json_close(json);
    return 0;
}

/* What instructions were given: function, offset, name, type or what was called (-1: others), how
 * often, process. */
static int put_given(struct cairn_html_counts *counts, bool joined)
{
    const struct cairn_counted_given *given;
    size_t count = cairn_model_counted_given(counts->wall->model, &given);
    struct cairn_json *json = counts->json;
    int code = 0;

    cairn_json_key(json, cairn_span_of("given"));
    cairn_json_array(json);
    for (size_t i = 0; i < count && code == 0; i++) {
        const struct cairn_counted_opcode opcode = {.text = given[i].text};

        if (!counts->wall->kept[given[i].thread])
            continue;
        cairn_json_array(json);
        cairn_json_u64(json, counts->tree->function_of[given[i].function]);
        cairn_json_u64(json, given[i].offset);
        code = cairn_html_counts_text(counts, cairn_listed_name(&opcode));
        if (given[i].kind.size_bytes == 0)
            cairn_json_i64(json, -1);
        else if (code == 0)
            code = cairn_html_counts_text(counts, given[i].kind);
        cairn_json_u64(json, given[i].hits);
        cairn_json_i64(json,
                       joined ? -1 : (int64_t)cairn_html_counts_process(counts, given[i].thread));
        cairn_json_close(json);
        if (code == 0 && i % DRAIN_ITEMS == DRAIN_ITEMS - 1)
            code = counts->sink->drain(counts->sink);
    }
    cairn_json_close(json);
    return code;
}

int cairn_html_opcodes_put(struct cairn_html_counts *counts)
{
    struct opcode_list list = {.count = 0};
    int code = take(counts, &list);

    if (code == 0 && list.count > 0) {
        if (counts->wall->counted)
            take_samples(counts, &list);
        cairn_json_key(counts->json, cairn_span_of("opcodes"));
        cairn_json_array(counts->json);
        for (size_t i = 0; i < list.count && code == 0; i++) {
            code = put(counts, &list, &list.items[i]);
            if (code == 0 && i % DRAIN_ITEMS == DRAIN_ITEMS - 1)
                code = counts->sink->drain(counts->sink);
        }
        cairn_json_close(counts->json);
        if (code == 0)
            code = put_given(counts, list.joined);
    }
    cairn_vec_release(&list);
    return code;
}

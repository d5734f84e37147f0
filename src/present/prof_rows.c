#include "prof_rows.h"

#include <stdlib.h>

#include "alloc.h"
#include "edges.h"
#include "escape.h"
#include "exactrows.h"

#define NAME_MAX_BYTES ((size_t)1 << 20)
#define NS_PER_S 1e9
#define PARTIAL " [partly counted]" /* the format has no other place to say so */
#define UNTIMED " [partly timed]"

struct work {
    const struct cairn_tally *tally;
    struct cairn_prof *prof;
    const struct cairn_node *nodes;
    size_t node_count;
    struct cairn_buf file, name;
    uint8_t *partial; /* of each function: 1 not all calls are counted, 2 not all are timed; NULL:
                         none */
    uint32_t *frame_keys;     /* the function of each frame */
    struct cairn_edge *edges; /* of each node */
    uint32_t *order;          /* of what becomes rows */
};

static int key_of(struct work *work, const struct cairn_function *function, uint32_t *ret_key)
{
    bool python = function->kind == CAIRN_FUNCTION_PYTHON;
    bool native = function->kind == CAIRN_FUNCTION_NATIVE;
    const struct cairn_function *functions;

    cairn_model_functions(work->tally->model, &functions);
    cairn_buf_clear(&work->file);
    cairn_buf_clear(&work->name);
    cairn_escape_utf8(&work->file, python ? function->file : cairn_span_of("~"));
    cairn_escape_utf8(&work->name, function->name);
    if (work->partial != NULL && work->partial[function - functions] != 0)
        cairn_buf_add_str(&work->name,
                          work->partial[function - functions] == 1 ? PARTIAL : UNTIMED);
    if (native) {
        cairn_buf_add_str(&work->name, " [");
        cairn_escape_utf8(&work->name, function->module);
        cairn_buf_u8(&work->name, ']');
    }
    CAIRN_TRY(work->file.code);
    CAIRN_TRY(work->name.code);
    return cairn_prof_key(work->prof, cairn_buf_span(&work->file),
                          python ? function->first_line : 0, cairn_buf_span(&work->name), ret_key);
}

static int find_keys(struct work *work)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    size_t frame_count = cairn_model_frames(work->tally->model, &frames);

    cairn_model_functions(work->tally->model, &functions);
    for (size_t i = 0; i < frame_count; i++)
        CAIRN_TRY(key_of(work, &functions[frames[i].function], &work->frame_keys[i]));
    return 0;
}

static struct cairn_prof_numbers numbers_of(const struct cairn_totals *totals, size_t index)
{
    return (struct cairn_prof_numbers){
        .calls = (int64_t)totals->total[index].ticks,
        .primitive = (int64_t)totals->total[index].ticks,
        .self_s = (double)totals->self[index].value_ns / NS_PER_S,
        .total_s = (double)totals->total[index].value_ns / NS_PER_S,
    };
}

/* Rows are grouped by their function alone, callers by both. */
static void set_edges(struct work *work, bool callers)
{
    for (size_t i = 1; i < work->node_count; i++) {
        uint32_t parent = work->nodes[i].parent;

        work->edges[i] = (struct cairn_edge){
            .from =
                callers && parent ? work->frame_keys[work->nodes[parent].frame] : CAIRN_PROF_NONE,
            .to = work->frame_keys[work->nodes[i].frame],
        };
    }
}

static int put_row(struct work *work, const struct cairn_edges *edges, uint32_t index)
{
    struct cairn_prof_numbers numbers = numbers_of(&edges->totals, index);

    if (cairn_edges_empty(edges, index))
        return 0;
    return cairn_prof_put(work->prof, (uint32_t)edges->items.items[index].to, &numbers,
                          &(uint32_t){0});
}

struct ordering {
    const struct cairn_prof *prof;
    const struct cairn_edge *edges;
};

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct ordering *ordering = ctx;

    return cairn_prof_compare(ordering->prof, (uint32_t)ordering->edges[*(const uint32_t *)a].to,
                              (uint32_t)ordering->edges[*(const uint32_t *)b].to);
}

/* By name, so that the order is none of how it was recorded. */
static int put_rows(struct work *work, const struct cairn_edges *edges)
{
    struct ordering ordering = {work->prof, edges->items.items};
    size_t count = edges->items.count;

    work->order = cairn_calloc(count + 1, sizeof(*work->order));
    if (!work->order)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < count; i++)
        work->order[i] = (uint32_t)i;
    qsort_r(work->order, count, sizeof(*work->order), compare_rows, &ordering);
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(put_row(work, edges, work->order[i]));
    return 0;
}

static int put_callers(struct work *work, const struct cairn_edges *edges)
{
    for (size_t i = 0; i < edges->items.count; i++) {
        struct cairn_prof_numbers numbers = numbers_of(&edges->totals, i);
        const struct cairn_edge *edge = &edges->items.items[i];
        uint32_t row;

        if (edge->from != CAIRN_PROF_NONE && !cairn_edges_empty(edges, i) &&
            cairn_prof_find(work->prof, (uint32_t)edge->to, &row))
            CAIRN_TRY(cairn_prof_put_caller(work->prof, row, (uint32_t)edge->from, &numbers));
    }
    return 0;
}

static int put(struct work *work, bool callers)
{
    struct cairn_edges edges;
    int code;

    set_edges(work, callers);
    code = cairn_edges_make(work->tally, work->edges, &edges);
    if (code == 0)
        code = callers ? put_callers(work, &edges) : put_rows(work, &edges);
    cairn_edges_release(&edges);
    return code;
}

static int fill(struct work *work)
{
    const struct cairn_frame *frames;
    size_t frame_count = cairn_model_frames(work->tally->model, &frames);

    work->frame_keys = cairn_calloc(frame_count + 1, sizeof(*work->frame_keys));
    work->edges = cairn_calloc(work->node_count, sizeof(*work->edges));
    if (!work->frame_keys || !work->edges)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(find_keys(work));
    CAIRN_TRY(put(work, false));
    return put(work, true);
}

/* --- calls that were counted --- */

static int put_exact(struct work *work, const struct cairn_exact_table *table,
                     const struct cairn_exact_line *line)
{
    const struct cairn_prof_numbers numbers = {
        .calls = (int64_t)line->calls,
        .primitive = (int64_t)line->primitive_calls,
        .self_s = line->self_s,
        .total_s = line->total_s,
        .unsure = line->unsure,
    };
    const struct cairn_function *functions;
    uint32_t key, row;

    cairn_model_functions(work->tally->model, &functions);
    CAIRN_TRY(key_of(work, &functions[line->function], &key));
    CAIRN_TRY(cairn_prof_add(work->prof, key, &numbers, &row));
    for (size_t i = 0; i < line->caller_count; i++) {
        const struct cairn_exact_caller *caller = &table->callers.items[line->first_caller + i];
        const struct cairn_prof_numbers of_caller = {
            .calls = (int64_t)caller->calls,
            .primitive = (int64_t)caller->primitive_calls,
            .self_s = caller->self_s,
            .total_s = caller->total_s,
            .plain = caller->plain,
            .unsure = caller->unsure,
        };

        CAIRN_TRY(key_of(work, &functions[caller->function], &key));
        CAIRN_TRY(cairn_prof_add_caller(work->prof, row, key, &of_caller));
    }
    return 0;
}

static int fill_exact(struct work *work)
{
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(work->tally, CAIRN_SORT_NAME, &table);
    const struct cairn_function *functions;

    if (code == 0 && cairn_exact_misses(&table)) {
        work->partial = cairn_calloc(cairn_model_functions(work->tally->model, &functions) + 1, 1);
        code = work->partial == NULL ? -CAIRN_ENOMEM : 0;
    }
    for (size_t i = 0; code == 0 && work->partial != NULL && i < table.lines.count; i++)
        work->partial[table.lines.items[i].function] =
            !cairn_exact_counts_all(&table, &table.lines.items[i]) ? 1
            : !cairn_exact_is_whole(&table, &table.lines.items[i]) ? 2
                                                                   : 0;
    for (size_t i = 0; code == 0 && i < table.lines.count; i++)
        code = put_exact(work, &table, &table.lines.items[i]);
    cairn_exact_table_release(&table);
    return code;
}

int cairn_prof_rows(const struct cairn_tally *tally, struct cairn_prof *prof)
{
    struct work work = {.tally = tally, .prof = prof};
    int code;

    work.node_count = cairn_model_nodes(tally->model, &work.nodes);
    cairn_buf_init(&work.file, NAME_MAX_BYTES);
    cairn_buf_init(&work.name, NAME_MAX_BYTES);
    prof->sampled = !cairn_exact_table_has(tally);
    prof->unknown = prof->sampled && !tally->counted;
    code = prof->sampled ? fill(&work) : fill_exact(&work);
    free(work.frame_keys);
    free(work.edges);
    free(work.order);
    free(work.partial);
    cairn_buf_release(&work.file);
    cairn_buf_release(&work.name);
    return code;
}

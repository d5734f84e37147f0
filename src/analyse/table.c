#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "interval.h"
#include "map.h"
#include "row_spread.h"
#include "table_priv.h"
#include "totals.h"

#define BOUND_MAX 1000.0
#define RANK_WIDTH 0.30 /* a wider interval of the largest row ranks nothing */

struct cairn_weight cairn_cell_weight(const struct cairn_cell *cell,
                                      const struct cairn_rows_options *options)
{
    struct cairn_weight weight = cell->weight;

    if (options->program_only && cell->phase != CAIRN_PHASE_PROGRAM)
        return (struct cairn_weight){0};
    if (!options->with_idle) {
        weight.ticks -= cell->idle.ticks;
        weight.value_ns -= cell->idle.value_ns;
    }
    return weight;
}

int cairn_rows_begin(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                     size_t max_count, struct cairn_rows *rows)
{
    *rows = (struct cairn_rows){0};
    for (size_t i = 0; i < tally->cell_count; i++) {
        struct cairn_weight weight = cairn_cell_weight(&tally->cells[i], options);

        rows->base.ticks += weight.ticks;
        rows->base.value_ns += weight.value_ns;
    }
    rows->items = cairn_calloc(max_count + 1, sizeof(*rows->items));
    return rows->items ? 0 : -CAIRN_ENOMEM;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static int down(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

/* Ties are broken by what a row says, never by its place in the model: the order must not depend
 * on which file came first. */
static int by_name(const struct cairn_row *a, const struct cairn_row *b)
{
    int order = cairn_span_compare(a->qualname, b->qualname);

    if (!order)
        order = cairn_span_compare(a->file, b->file);
    if (!order)
        order = cairn_span_compare(a->module, b->module);
    if (!order)
        order = cairn_span_compare(a->name, b->name);
    if (!order)
        order = down(b->first_line, a->first_line);
    if (!order)
        order = down(b->line, a->line);
    return order ? order : down(b->thread, a->thread);
}

static int by_self(const void *left, const void *right)
{
    const struct cairn_row *a = left, *b = right;
    int order = down(a->self.value_ns, b->self.value_ns);

    if (!order)
        order = down(a->total.value_ns, b->total.value_ns);
    if (!order)
        order = down(a->self.ticks, b->self.ticks);
    return order ? order : by_name(a, b);
}

static int by_total(const void *left, const void *right)
{
    const struct cairn_row *a = left, *b = right;
    int order = down(a->total.value_ns, b->total.value_ns);

    return order ? order : by_self(left, right);
}

static int by_names(const void *left, const void *right)
{
    return by_name(left, right);
}

static void judge(struct cairn_rows *rows, double draws)
{
    const struct cairn_row *largest = NULL;
    double wanted;

    for (size_t i = 0; i < rows->count; i++)
        if (!largest || rows->items[i].self_share > largest->self_share)
            largest = &rows->items[i];
    rows->rankable = largest && largest->self_high - largest->self_low <= RANK_WIDTH;
    wanted = cairn_interval_wanted(largest ? largest->self_share : 0.5, RANK_WIDTH);
    if (draws > 0 && rows->base.ticks > draws)
        wanted *= (double)rows->base.ticks / draws;
    rows->samples_wanted = (uint64_t)ceil(wanted);
}

void cairn_rows_finish(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                       struct cairn_rows *rows)
{
    double draws = tally->draws[options->with_idle][options->program_only];

    for (size_t i = 0; i < rows->count; i++) {
        struct cairn_row *row = &rows->items[i];

        row->self_share = share_of(row->self.value_ns, rows->base.value_ns);
        row->total_share = share_of(row->total.value_ns, rows->base.value_ns);
        cairn_interval_share(row->self_share, row->self_draws > 0 ? row->self_draws : draws,
                             &row->self_low, &row->self_high);
        cairn_interval_share(row->total_share, row->total_draws > 0 ? row->total_draws : draws,
                             &row->total_low, &row->total_high);
        if (!tally->counted)
            row->self_low = row->self_high = row->total_low = row->total_high = NAN;
        row->bound = row->self_share < 1 - 1 / BOUND_MAX ? 1 / (1 - row->self_share) : BOUND_MAX;
    }
    if (rows->count)
        qsort(rows->items, rows->count, sizeof(*rows->items),
              options->sort == CAIRN_SORT_NAME    ? by_names
              : options->sort == CAIRN_SORT_TOTAL ? by_total
                                                  : by_self);
    judge(rows, draws);
    if (!tally->counted) { /* there is no sampling error to drown in */
        rows->rankable = rows->base.value_ns > 0;
        rows->samples_wanted = 0;
    }
}

void cairn_rows_release(struct cairn_rows *rows)
{
    free(rows->items);
    rows->items = NULL;
    rows->count = 0;
}

struct cairn_weight *cairn_node_weights(const struct cairn_tally *tally,
                                        const struct cairn_rows_options *options)
{
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(tally->model, &nodes);
    struct cairn_weight *weights = cairn_calloc(count, sizeof(*weights));

    for (size_t i = 0; weights && i < tally->cell_count; i++) {
        struct cairn_weight weight = cairn_cell_weight(&tally->cells[i], options);

        weights[tally->cells[i].node].ticks += weight.ticks;
        weights[tally->cells[i].node].value_ns += weight.value_ns;
    }
    return weights;
}

void cairn_row_function(const struct cairn_model *model, uint32_t function_index,
                        struct cairn_row *row)
{
    static const char *const kinds[] = {
        [CAIRN_FUNCTION_PYTHON] = "python",
        [CAIRN_FUNCTION_NATIVE] = "native",
        [CAIRN_FUNCTION_LABEL] = "label",
    };
    const struct cairn_function *functions, *function;

    cairn_model_functions(model, &functions);
    function = &functions[function_index];
    row->name = function->name;
    row->qualname = function->qualname;
    row->file = function->file;
    row->module = function->module;
    row->kind = kinds[function->kind];
    row->first_line = function->first_line;
    row->origin = function->origin;
    row->function = function_index;
    row->process = row->thread = UINT32_MAX;
}

/* Frames in groups, each a row. */
struct groups {
    uint32_t *of_frames; /* group of each frame */
    uint32_t *frames;    /* a frame of each group */
    size_t count;
};

/* What makes two frames one row. Interned texts are equal when their addresses are. */
static void group_key(const struct cairn_function *functions, const struct cairn_frame *frame,
                      enum cairn_by by, uint64_t *ret_a, uint64_t *ret_b)
{
    const struct cairn_function *function = &functions[frame->function];

    *ret_a = frame->function;
    *ret_b = 0;
    if (by == CAIRN_BY_LINE)
        *ret_b = frame->line;
    if (by == CAIRN_BY_MODULE && function->kind != CAIRN_FUNCTION_LABEL) {
        *ret_a = (uintptr_t)function->module.data;
        *ret_b = (uintptr_t)function->file.data;
    }
}

static int group_frames(const struct cairn_model *model, enum cairn_by by, struct groups *groups)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    size_t frame_count = cairn_model_frames(model, &frames);
    struct cairn_map index;
    int code = 0;

    cairn_model_functions(model, &functions);
    groups->of_frames = cairn_calloc(frame_count, sizeof(*groups->of_frames));
    groups->frames = cairn_calloc(frame_count, sizeof(*groups->frames));
    if (!groups->of_frames || !groups->frames)
        return -CAIRN_ENOMEM;
    cairn_map_init(&index, frame_count);
    for (size_t i = 0; i < frame_count && code == 0; i++) {
        uint64_t key_a, key_b, group;

        group_key(functions, &frames[i], by, &key_a, &key_b);
        if (!cairn_map_get(&index, key_a, key_b, &group)) {
            group = groups->count;
            code = cairn_map_put(&index, key_a, key_b, group);
            groups->frames[groups->count++] = (uint32_t)i;
        }
        groups->of_frames[i] = (uint32_t)group;
    }
    cairn_map_release(&index);
    return code;
}

static void release_groups(struct groups *groups)
{
    free(groups->of_frames);
    free(groups->frames);
}

/* The line of each function that has most time of its own; 0 where none has any. */
static int find_lines(const struct cairn_tally *tally, const struct cairn_weight *weights,
                      uint32_t *function_lines)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t node_count = cairn_model_nodes(tally->model, &nodes);
    size_t function_count = cairn_model_functions(tally->model, &functions);
    struct groups lines = {0};
    int code = group_frames(tally->model, CAIRN_BY_LINE, &lines);
    uint64_t *line_ns = cairn_calloc(lines.count + 1, sizeof(*line_ns));
    uint64_t *best_ns = cairn_calloc(function_count, sizeof(*best_ns));

    if (code < 0 || !line_ns || !best_ns) {
        code = -CAIRN_ENOMEM;
        goto out;
    }
    cairn_model_frames(tally->model, &frames);
    for (size_t i = 1; i < node_count; i++)
        line_ns[lines.of_frames[nodes[i].frame]] += weights[i].value_ns;
    for (size_t i = 0; i < lines.count; i++) {
        const struct cairn_frame *frame = &frames[lines.frames[i]];
        bool tie = line_ns[i] == best_ns[frame->function] && line_ns[i];

        if (line_ns[i] > best_ns[frame->function] ||
            (tie && frame->line < function_lines[frame->function])) {
            best_ns[frame->function] = line_ns[i];
            function_lines[frame->function] = frame->line;
        }
    }
out:
    free(line_ns);
    free(best_ns);
    release_groups(&lines);
    return code;
}

static void fill_row(const struct cairn_model *model, enum cairn_by by, uint32_t frame,
                     const uint32_t *function_lines, struct cairn_row *row)
{
    const struct cairn_frame *frames;
    uint32_t function;

    cairn_model_frames(model, &frames);
    function = frames[frame].function;
    cairn_row_function(model, function, row);
    if (by == CAIRN_BY_LINE)
        row->line = frames[frame].line;
    if (by == CAIRN_BY_FUNCTION)
        row->line = function_lines[function] ? function_lines[function] : row->first_line;
    if (by == CAIRN_BY_MODULE && strcmp(row->kind, "label")) {
        row->kind = "module";
        row->name = row->qualname = row->module;
        row->first_line = 0;
        row->function = UINT32_MAX;
    }
}

static int fill_rows(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                     const struct groups *groups, const struct cairn_weight *weights,
                     const uint32_t *function_lines, struct cairn_rows *rows)
{
    const struct cairn_node *nodes;
    size_t node_count = cairn_model_nodes(tally->model, &nodes);
    struct cairn_totals totals;

    CAIRN_TRY(
        cairn_totals_make(nodes, node_count, weights, groups->of_frames, groups->count, &totals));
    for (size_t i = 0; i < groups->count; i++) {
        struct cairn_row *row = &rows->items[rows->count];

        if (!totals.total[i].ticks && !totals.total[i].value_ns)
            continue;
        fill_row(tally->model, options->by, groups->frames[i], function_lines, row);
        row->self = totals.self[i];
        row->total = totals.total[i];
        rows->count++;
    }
    cairn_totals_release(&totals);
    return 0;
}

/* How rows are made, again and again of parts of the time: what does not change is made once. */
struct maker {
    const struct cairn_rows_options *options;
    struct groups *groups; /* of frames; none yet: not made */
    uint32_t *function_lines;
};

static int make_groups(const struct cairn_tally *tally, const struct maker *maker,
                       const struct cairn_weight *weights)
{
    if (maker->options->by == CAIRN_BY_FUNCTION)
        CAIRN_TRY(find_lines(tally, weights, maker->function_lines));
    return group_frames(tally->model, maker->options->by, maker->groups);
}

static int make_frames(const struct cairn_tally *tally, const struct maker *maker,
                       struct cairn_rows *rows)
{
    const struct cairn_rows_options *options = maker->options;
    struct cairn_weight *weights = cairn_node_weights(tally, options);
    int code = weights ? 0 : -CAIRN_ENOMEM;

    if (code == 0 && !maker->groups->of_frames)
        code = make_groups(tally, maker, weights);
    if (code == 0)
        code = cairn_rows_begin(tally, options, maker->groups->count, rows);
    if (code == 0)
        code = fill_rows(tally, options, maker->groups, weights, maker->function_lines, rows);
    free(weights);
    return code;
}

static int make(const struct cairn_tally *tally, const void *ctx, struct cairn_rows *rows)
{
    const struct maker *maker = ctx;

    switch (maker->options->by) {
    case CAIRN_BY_FUNCTION:
    case CAIRN_BY_LINE:
    case CAIRN_BY_MODULE:
        return make_frames(tally, maker, rows);
    default:
        return cairn_rows_flat(tally, maker->options, rows);
    }
}

int cairn_rows_make(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                    struct cairn_rows *ret_rows, struct cairn_err *err)
{
    const struct cairn_function *functions;
    size_t function_count = cairn_model_functions(tally->model, &functions);
    struct groups groups = {0};
    struct maker maker = {
        .options = options,
        .groups = &groups,
        .function_lines = cairn_calloc(function_count, sizeof(*maker.function_lines)),
    };
    struct cairn_rows rows = {0};
    int code = maker.function_lines ? make(tally, &maker, &rows) : -CAIRN_ENOMEM;

    /* States are of wall time, whatever the metric. */
    if (code == 0 && options->by != CAIRN_BY_STATE)
        code = cairn_rows_spread(tally, make, &maker, &rows);
    release_groups(&groups);
    free(maker.function_lines);
    if (code < 0) {
        cairn_rows_release(&rows);
        return cairn_err_set(err, code, 0, "table", "cannot make the rows");
    }
    cairn_rows_finish(tally, options, &rows);
    *ret_rows = rows;
    return 0;
}

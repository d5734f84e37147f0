#include "html_counts.h"

#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "exactrows.h"
#include "map.h"

#define TEXTS_MAX_BYTES ((size_t)1 << 30)
#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define SUMS_MAX ((size_t)1 << 28)
#define DRAIN_ITEMS 4096

static void begin_array(struct cairn_json *json, const char *key)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_array(json);
}

static int after_item(struct cairn_html_counts *counts, size_t index)
{
    return index % DRAIN_ITEMS == DRAIN_ITEMS - 1 ? counts->sink->drain(counts->sink) : 0;
}

int cairn_html_counts_text(struct cairn_html_counts *counts, struct cairn_span text)
{
    uint32_t id;

    cairn_buf_clear(&counts->shown);
    cairn_redact_text(&counts->options->redact, text, &counts->shown);
    CAIRN_TRY(counts->shown.code == -CAIRN_ENOMEM ? counts->shown.code : 0);
    CAIRN_TRY(cairn_intern_add(&counts->texts, cairn_buf_span(&counts->shown), &id));
    cairn_json_u64(counts->json, id);
    return 0;
}

uint32_t cairn_html_counts_process(const struct cairn_html_counts *counts, uint32_t thread)
{
    const struct cairn_thread *threads;

    cairn_model_threads(counts->wall->model, &threads);
    return counts->process_of[threads[thread].process];
}

/* --- calls --- */

bool cairn_html_counts_has(const struct cairn_model *model, const struct cairn_filter *filter)
{
    const struct cairn_call_sum *sums;

    return cairn_model_calls(model, &sums) > 0 && !filter->region && !filter->overlays &&
           filter->from_ns == 0 && filter->to_ns == UINT64_MAX;
}

int cairn_html_counts_tally(const struct cairn_tally *wall, struct cairn_tally *ret_tally,
                            struct cairn_err *err)
{
    struct cairn_filter filter = wall->filter;

    filter.metric = CAIRN_METRIC_COUNTED;
    filter.region = NULL;
    filter.region_length = CAIRN_REGION_LENGTH_ANY;
    filter.overlays = 0;
    filter.from_ns = 0;
    filter.to_ns = UINT64_MAX;
    CAIRN_TRY(cairn_tally_make(cairn_model_whole(wall->model), &filter, ret_tally, err));
    if (cairn_html_counts_has(ret_tally->model, &wall->filter))
        return 0;
    ret_tally->known = false;
    if (ret_tally->total.ticks > 0)
        ret_tally->why = "when calls that were counted took place was not kept";
    return 0;
}

struct call_sums { /* of a thread, or a process where threads are added up, and a stack */
    CAIRN_VEC(struct cairn_call_sum) items;
    struct cairn_map places; /* {thread or process, node} to an item */
};

static uint64_t group_of(const struct cairn_html_counts *counts, uint32_t thread)
{
    const struct cairn_thread *threads;

    cairn_model_threads(counts->calls->model, &threads);
    return counts->calls->filter.threads_joined ? threads[thread].process : thread;
}

/* Of a call whose frame was folded away its own time alone belongs to who stands for it. */
static bool is_shown(const struct cairn_tally *calls, uint32_t node, uint32_t shown)
{
    const struct cairn_model *whole = cairn_model_whole(calls->model);
    const struct cairn_node *nodes, *folded;
    const struct cairn_frame *frames;

    if (!calls->fold)
        return true;
    cairn_model_nodes(whole, &nodes);
    cairn_model_nodes(calls->model, &folded);
    cairn_model_frames(whole, &frames);
    return frames[nodes[node].frame].function == frames[folded[shown].frame].function;
}

static int add_call(struct cairn_html_counts *counts, struct call_sums *sums,
                    const struct cairn_call_sum *call)
{
    const struct cairn_tally *calls = counts->calls;
    uint32_t node = calls->fold ? calls->fold[call->node] : call->node;
    uint64_t group = group_of(counts, call->thread), place = sums->items.count;
    struct cairn_call_sum *sum;

    if (!calls->kept[call->thread] || !is_shown(calls, call->node, node))
        return 0;
    if (!cairn_map_get(&sums->places, group, node, &place)) {
        CAIRN_TRY(cairn_vec_reserve(&sums->items, place + 1, SUMS_MAX));
        CAIRN_TRY(cairn_map_put(&sums->places, group, node, place));
        sums->items.items[sums->items.count++] = (struct cairn_call_sum){.node = node};
    }
    sum = &sums->items.items[place];
    sum->calls += call->calls;
    sum->resumes += call->resumes;
    sum->total_ns += call->total_ns;
    sum->suspended_ns += call->suspended_ns;
    return 0;
}

enum column {
    COLUMN_THREAD,
    COLUMN_NODE,
    COLUMN_PHASE,
    COLUMN_SELF,
    COLUMN_CALLS,
    COLUMN_RESUMES,
    COLUMN_TOTAL,
    COLUMN_SUSPENDED,
    COLUMN_COUNT
};

/* A stack may have a cell in each phase: the first one tells of its calls. */
static int put_column(struct cairn_html_counts *counts, const struct call_sums *sums, int column,
                      const uint32_t *sum_of)
{
    static const struct cairn_call_sum none;
    uint32_t before = 0;

    cairn_json_array(counts->json);
    for (size_t i = 0; i < counts->calls->cell_count; i++) {
        const struct cairn_cell *cell = &counts->calls->cells[i];
        const struct cairn_call_sum *sum =
            sum_of[i] == CAIRN_HTML_NONE ? &none : &sums->items.items[sum_of[i]];
        uint32_t node = counts->tree->node_of[cell->node];
        uint64_t values[COLUMN_COUNT] = {
            [COLUMN_THREAD] = counts->thread_of[cell->thread],
            [COLUMN_PHASE] = cell->phase,
            [COLUMN_SELF] = cell->weight.value_ns,
            [COLUMN_CALLS] = sum->calls,
            [COLUMN_RESUMES] = sum->resumes,
            [COLUMN_TOTAL] = sum->total_ns,
            [COLUMN_SUSPENDED] = sum->suspended_ns,
        };

        if (column == COLUMN_NODE)
            cairn_json_number(counts->json, (double)node - before);
        else
            cairn_json_u64(counts->json, values[column]);
        before = node;
        CAIRN_TRY(after_item(counts, i));
    }
    cairn_json_close(counts->json);
    return 0;
}

static int put_columns(struct cairn_html_counts *counts, const struct call_sums *sums)
{
    const struct cairn_tally *calls = counts->calls;
    uint32_t *sum_of = cairn_malloc((calls->cell_count + 1) * sizeof(*sum_of));
    bool *taken = cairn_calloc(sums->items.count + 1, sizeof(*taken));
    int code = sum_of && taken ? 0 : -CAIRN_ENOMEM;

    for (size_t i = 0; code == 0 && i < calls->cell_count; i++) {
        const struct cairn_cell *cell = &calls->cells[i];
        uint64_t place;

        sum_of[i] = CAIRN_HTML_NONE;
        if (!cairn_map_get(&sums->places, group_of(counts, cell->thread), cell->node, &place) ||
            taken[place])
            continue;
        taken[place] = true;
        sum_of[i] = (uint32_t)place;
    }
    if (code == 0) {
        begin_array(counts->json, "calls");
        for (int column = 0; column < COLUMN_COUNT && code == 0; column++)
            code = put_column(counts, sums, column, sum_of);
        cairn_json_close(counts->json);
    }
    free(sum_of);
    free(taken);
    return code;
}

static void put_function(struct cairn_html_counts *counts, const struct cairn_exact_line *line)
{
    uint32_t function = counts->tree->function_of[line->function];

    if (function != CAIRN_HTML_NONE)
        cairn_json_u64(counts->json, function);
}

/* Functions of whose own time counting took most, and what it took of all. */
static void put_costs(struct cairn_html_counts *counts, const struct cairn_exact_table *table)
{
    if (!table->cost_known)
        return;
    cairn_json_put_u64(counts->json, "cost_ns", (uint64_t)table->cost_ns);
    begin_array(counts->json, "costly");
    for (size_t i = 0; i < table->lines.count; i++)
        if (cairn_exact_confidence(table, &table->lines.items[i])[0] == 'p')
            put_function(counts, &table->lines.items[i]);
    cairn_json_close(counts->json);
}

/* Functions of whose calls some are missing; others of which times are. */
static void put_partial(struct cairn_html_counts *counts, const struct cairn_exact_table *table)
{
    if (!cairn_exact_misses(table))
        return;
    begin_array(counts->json, "partial");
    for (size_t i = 0; i < table->lines.count; i++)
        if (!cairn_exact_counts_all(table, &table->lines.items[i]))
            put_function(counts, &table->lines.items[i]);
    cairn_json_close(counts->json);
    begin_array(counts->json, "untimed");
    for (size_t i = 0; i < table->lines.count; i++)
        if (cairn_exact_counts_all(table, &table->lines.items[i]) &&
            cairn_exact_is_untimed(&table->lines.items[i]))
            put_function(counts, &table->lines.items[i]);
    cairn_json_close(counts->json);
}

static int put_marks(struct cairn_html_counts *counts)
{
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(counts->wall, CAIRN_SORT_NAME, &table);

    if (code == 0) {
        put_costs(counts, &table);
        put_partial(counts, &table);
    }
    cairn_exact_table_release(&table);
    return code;
}

static int put_calls(struct cairn_html_counts *counts)
{
    struct call_sums sums = {.items = {0}};
    const struct cairn_call_sum *calls;
    size_t count = cairn_model_calls(counts->calls->model, &calls);
    int code = 0;

    cairn_map_init(&sums.places, SUMS_MAX);
    for (size_t i = 0; i < count && code == 0; i++)
        code = add_call(counts, &sums, &calls[i]);
    if (code == 0)
        code = put_columns(counts, &sums);
    if (code == 0)
        code = put_marks(counts);
    cairn_map_release(&sums.places);
    cairn_vec_release(&sums.items);
    return code;
}

/* --- calls that another tool counted --- */

static void put_numbers(struct cairn_json *json, uint64_t calls, int64_t primitive, int64_t self_ns,
                        int64_t total_ns)
{
    cairn_json_u64(json, calls);
    cairn_json_i64(json, primitive);
    cairn_json_i64(json, self_ns);
    cairn_json_i64(json, total_ns);
}

static void put_table_line(struct cairn_html_counts *counts, const struct cairn_exact_table *table,
                           const struct cairn_exact_line *line)
{
    struct cairn_json *json = counts->json;

    cairn_json_u64(json, counts->tree->function_of[line->function]);
    cairn_json_i64(json, -1);
    put_numbers(json, line->calls, line->unsure ? -1 : (int64_t)line->primitive_calls,
                (int64_t)line->self_ns, (int64_t)line->total_ns);
    for (size_t i = line->first_caller; i < line->first_caller + line->caller_count; i++) {
        const struct cairn_exact_caller *caller = &table->callers.items[i];

        cairn_json_u64(json, counts->tree->function_of[line->function]);
        cairn_json_u64(json, counts->tree->function_of[caller->function]);
        put_numbers(json, caller->calls, caller->unsure ? -1 : (int64_t)caller->primitive_calls,
                    caller->plain || caller->inferred ? -1 : (int64_t)caller->self_ns,
                    caller->plain ? -1 : (int64_t)caller->total_ns);
    }
}

/* Function, caller (-1: all of its calls), calls, primitive ones, own time, time with what it
 * called, one row after the other. -1: it is not told, and without primitive ones the time with
 * what it called is that of the stacks, nor is it known of no calls that there were none. */
static int put_table(struct cairn_html_counts *counts)
{
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(counts->wall, CAIRN_SORT_SELF, &table);

    if (code == 0) {
        begin_array(counts->json, "table");
        for (size_t i = 0; i < table.lines.count && code == 0; i++) {
            put_table_line(counts, &table, &table.lines.items[i]);
            code = after_item(counts, i);
        }
        cairn_json_close(counts->json);
    }
    cairn_exact_table_release(&table);
    return code;
}

/* --- lines and instructions that cost too much, and were counted until they were let go --- */

static int put_let_go(struct cairn_html_counts *counts)
{
    const struct cairn_tally *tally = counts->wall;
    const struct cairn_counted_opcode *opcodes;
    const struct cairn_counted_line *lines;
    const struct cairn_function *functions;
    size_t line_count = cairn_model_counted_lines(tally->model, &lines);
    size_t opcode_count = cairn_model_counted_opcodes(tally->model, &opcodes);
    size_t function_count = cairn_model_functions(tally->model, &functions);
    bool *let_go = cairn_calloc(function_count + 1, sizeof(*let_go)), any = false;

    if (let_go == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < line_count; i++)
        any |= let_go[lines[i].function] |= lines[i].let_go && tally->kept[lines[i].thread];
    for (size_t i = 0; i < opcode_count; i++)
        any |= let_go[opcodes[i].function] |= opcodes[i].let_go && tally->kept[opcodes[i].thread];
    if (any) {
        begin_array(counts->json, "let_go");
        for (size_t i = 0; i < function_count; i++)
            if (let_go[i])
                cairn_json_u64(counts->json, counts->tree->function_of[i]);
        cairn_json_close(counts->json);
    }
    free(let_go);
    return 0;
}

/* --- all of them --- */

static int put_texts(struct cairn_html_counts *counts)
{
    begin_array(counts->json, "texts");
    for (size_t i = 0; i < cairn_intern_count(&counts->texts); i++) {
        cairn_json_text(counts->json, cairn_intern_get(&counts->texts, (uint32_t)i));
        CAIRN_TRY(after_item(counts, i));
    }
    cairn_json_close(counts->json);
    return 0;
}

int cairn_html_counts_put(struct cairn_html_counts *counts)
{
    int code = cairn_intern_init(&counts->texts, TEXTS_MAX_BYTES);

    cairn_buf_init(&counts->shown, TEXT_MAX_BYTES);
    if (code == 0 && counts->calls && counts->calls->known)
        code = put_calls(counts);
    if (code == 0 && cairn_exact_table_is_told(counts->wall))
        code = put_table(counts);
    if (code == 0)
        code = cairn_html_lines_put(counts);
    if (code == 0)
        code = cairn_html_tasks_put(counts);
    if (code == 0)
        code = cairn_html_opcodes_put(counts);
    if (code == 0)
        code = put_let_go(counts);
    if (code == 0)
        code = cairn_html_events_put(counts);
    if (code == 0)
        code = put_texts(counts);
    cairn_intern_release(&counts->texts);
    cairn_buf_release(&counts->shown);
    return code;
}

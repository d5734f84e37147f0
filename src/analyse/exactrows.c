#include "exactrows.h"

#include <math.h>
#include <string.h>

#include "alloc.h"
#include "countingcost.h"
#include "map.h"
#include "pairs.h"

#define NS_PER_S 1e9
#define MOST_NS 1e18 /* of a time that another tool tells */
#define MOST_ITEMS ((size_t)1 << 30)
#define GOOD 0.1 /* counting took no more of a row's own time */
#define FAIR 0.5

struct make {
    struct cairn_exact_table *table;
    const struct cairn_model *model;
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    struct cairn_counting_cost cost; /* of nodes: taken as they are added */
    struct cairn_map lines, callers; /* function, and {callee, caller}, to a place in the table */
};

static uint32_t function_of(const struct make *make, uint32_t node)
{
    return make->frames[make->nodes[node].frame].function;
}

static const char *kind_of(const struct cairn_function *function)
{
    static const char type[] = "<class '";

    if (function->kind != CAIRN_FUNCTION_PYTHON)
        return "label";
    if (function->file.size_bytes != 1 || function->file.data[0] != '~')
        return "python";
    return function->name.size_bytes > sizeof(type) &&
                   memcmp(function->name.data, type, sizeof(type) - 1) == 0
               ? "type"
               : "c";
}

/* Whether the callee, and the pair of it and its caller, stand on the stack below as well. */
static void look_below(const struct make *make, uint32_t node, bool *ret_callee, bool *ret_pair)
{
    uint32_t callee = function_of(make, node), parent = make->nodes[node].parent;
    uint32_t caller = parent == 0 ? UINT32_MAX : function_of(make, parent);

    *ret_callee = *ret_pair = false;
    for (uint32_t below = parent; below != 0 && !*ret_pair; below = make->nodes[below].parent) {
        uint32_t from = make->nodes[below].parent;

        if (function_of(make, below) != callee)
            continue;
        *ret_callee = true;
        *ret_pair = from != 0 && function_of(make, from) == caller;
    }
}

static int line_of(struct make *make, uint32_t function, struct cairn_exact_line **ret_line)
{
    uint64_t place;

    if (!cairn_map_get(&make->lines, function, 0, &place)) {
        place = make->table->lines.count;
        CAIRN_TRY(cairn_vec_reserve(&make->table->lines, place + 1, MOST_ITEMS));
        CAIRN_TRY(cairn_map_put(&make->lines, function, 0, place));
        make->table->lines.items[make->table->lines.count++] = (struct cairn_exact_line){
            .function = function, .kind = kind_of(&make->functions[function])};
    }
    *ret_line = &make->table->lines.items[place];
    return 0;
}

static int caller_of(struct make *make, uint32_t callee, uint32_t function,
                     struct cairn_exact_caller **ret_caller)
{
    uint64_t place;

    if (!cairn_map_get(&make->callers, callee, function, &place)) {
        place = make->table->callers.count;
        CAIRN_TRY(cairn_vec_reserve(&make->table->callers, place + 1, MOST_ITEMS));
        CAIRN_TRY(cairn_map_put(&make->callers, callee, function, place));
        make->table->callers.items[make->table->callers.count++] =
            (struct cairn_exact_caller){.callee = callee, .function = function, .plain = true};
    }
    *ret_caller = &make->table->callers.items[place];
    return 0;
}

static int add_caller(struct make *make, uint32_t callee, uint32_t function, bool repeated,
                      const struct cairn_call_sum *sum)
{
    struct cairn_exact_caller *caller;

    CAIRN_TRY(caller_of(make, callee, function, &caller));
    caller->plain = false;
    caller->calls += sum->calls;
    caller->self_ns += sum->self_ns;
    if (!repeated) {
        caller->primitive_calls += sum->calls;
        caller->total_ns += sum->total_ns;
    }
    return 0;
}

/* Threads share nodes, and the costs are those of all of them: the first that comes takes them. */
static void add_cost(struct make *make, uint32_t node, bool repeated, struct cairn_exact_line *line)
{
    if (!make->cost.known)
        return;
    line->self_cost_ns += make->cost.self_ns[node];
    line->total_cost_ns += repeated ? 0 : make->cost.total_ns[node];
    make->cost.self_ns[node] = make->cost.total_ns[node] = 0;
}

static int add(struct make *make, const struct cairn_call_sum *sum)
{
    uint32_t function = function_of(make, sum->node), parent = make->nodes[sum->node].parent;
    bool repeated, pair_repeated;
    struct cairn_exact_line *line;

    look_below(make, sum->node, &repeated, &pair_repeated);
    CAIRN_TRY(line_of(make, function, &line));
    line->calls += sum->calls;
    line->untimed_calls += sum->let_go & CAIRN_CALLS_UNTIMED ? sum->calls : 0;
    line->resumes += sum->resumes;
    line->self_ns += sum->self_ns;
    line->suspended_ns += sum->suspended_ns;
    if (!repeated) {
        line->primitive_calls += sum->calls;
        line->total_ns += sum->total_ns;
    }
    add_cost(make, sum->node, repeated, line);
    make->table->calls += sum->calls;
    make->table->resumes += sum->resumes;
    make->table->self_ns += sum->self_ns;
    /* What called a call whose path was folded away is its caller; [truncated] is nobody. */
    if (parent == 0 || make->functions[function_of(make, parent)].kind != CAIRN_FUNCTION_PYTHON)
        return 0;
    return add_caller(make, function, function_of(make, parent), pair_repeated, sum);
}

/* Of all that was added so far: one division, so that the last bit is that of the sum. */
static void set_seconds(struct cairn_exact_table *table)
{
    for (size_t i = 0; i < table->lines.count; i++) {
        table->lines.items[i].self_s = (double)table->lines.items[i].self_ns / NS_PER_S;
        table->lines.items[i].total_s = (double)table->lines.items[i].total_ns / NS_PER_S;
    }
    for (size_t i = 0; i < table->callers.count; i++) {
        table->callers.items[i].self_s = (double)table->callers.items[i].self_ns / NS_PER_S;
        table->callers.items[i].total_s = (double)table->callers.items[i].total_ns / NS_PER_S;
    }
}

/* A calibrated profiler may tell a time below zero. */
static uint64_t ns_of(double seconds)
{
    double ns = seconds * NS_PER_S;

    return ns > 0 ? (uint64_t)llround(ns < MOST_NS ? ns : MOST_NS) : 0;
}

static int add_pair(struct make *make, const struct cairn_call_pair *pair)
{
    uint64_t self_ns = ns_of(pair->self_s), total_ns = ns_of(pair->total_s);
    struct cairn_exact_caller *caller;
    struct cairn_exact_line *line;

    if (pair->caller != UINT32_MAX) {
        CAIRN_TRY(caller_of(make, pair->function, pair->caller, &caller));
        caller->plain &= pair->plain;
        caller->inferred |= pair->inferred;
        caller->unsure |= pair->unsure;
        caller->calls += pair->calls;
        caller->primitive_calls += pair->primitive_calls;
        caller->self_ns += self_ns;
        caller->total_ns += total_ns;
        caller->self_s += pair->self_s;
        caller->total_s += pair->total_s;
        return 0;
    }
    CAIRN_TRY(line_of(make, pair->function, &line));
    line->unsure |= pair->unsure;
    line->calls += pair->calls;
    line->primitive_calls += pair->primitive_calls;
    line->self_ns += self_ns;
    line->total_ns += total_ns;
    line->self_s += pair->self_s;
    line->total_s += pair->total_s;
    make->table->calls += pair->calls;
    make->table->self_ns += self_ns;
    return 0;
}

static int add_pairs(struct make *make, const struct cairn_tally *tally)
{
    const struct cairn_call_pair *pairs;
    size_t count = cairn_model_pairs(tally->model, &pairs);

    set_seconds(make->table);
    if (!cairn_exact_table_is_told(tally))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (tally->kept[pairs[i].thread])
            CAIRN_TRY(add_pair(make, &pairs[i]));
    return 0;
}

static int by_callee(const void *left, const void *right)
{
    const struct cairn_exact_caller *a = left, *b = right;

    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

struct order {
    enum cairn_sort sort;
    const struct cairn_function *functions;
};

static int by_order(const void *left, const void *right, void *context)
{
    const struct cairn_exact_line *a = left, *b = right;
    const struct order *order = context;
    uint64_t first = order->sort == CAIRN_SORT_TOTAL ? a->total_ns : a->self_ns;
    uint64_t second = order->sort == CAIRN_SORT_TOTAL ? b->total_ns : b->self_ns;

    if (order->sort == CAIRN_SORT_NAME) {
        struct cairn_span x = order->functions[a->function].qualname;
        struct cairn_span y = order->functions[b->function].qualname;
        int side =
            memcmp(x.data, y.data, x.size_bytes < y.size_bytes ? x.size_bytes : y.size_bytes);

        if (side != 0 || x.size_bytes != y.size_bytes)
            return side != 0 ? side : x.size_bytes < y.size_bytes ? -1 : 1;
    } else if (first != second) {
        return first > second ? -1 : 1;
    }
    return (a->function > b->function) - (a->function < b->function);
}

/* Callers stand together, in the order of what they call; each line is told where. */
static void order_rows(struct make *make, enum cairn_sort sort)
{
    struct cairn_exact_table *table = make->table;
    struct order order = {sort, make->functions};

    if (table->callers.count > 0)
        qsort(table->callers.items, table->callers.count, sizeof(*table->callers.items), by_callee);
    for (size_t i = 0; i < table->callers.count; i++) {
        uint64_t place = 0;

        if (!cairn_map_get(&make->lines, table->callers.items[i].callee, 0, &place))
            continue; /* of a table that is damaged */
        if (table->lines.items[place].caller_count++ == 0)
            table->lines.items[place].first_caller = i;
    }
    if (table->lines.count > 0)
        qsort_r(table->lines.items, table->lines.count, sizeof(*table->lines.items), by_order,
                &order);
}

/* Whatever the filter keeps: a forked child does not count what its parent let go. */
static int tell_what_was_let_go(struct make *make, const struct cairn_call_sum *sums, size_t count)
{
    struct cairn_exact_table *table = make->table;
    const struct cairn_function *functions;
    uint8_t *let_go =
        cairn_calloc(cairn_model_functions(make->model, &functions) + 1, sizeof(*let_go));

    if (let_go == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        let_go[function_of(make, sums[i].node)] |= sums[i].let_go;
        table->natives_let_go |= sums[i].let_go != 0;
    }
    for (size_t i = 0; i < table->lines.count; i++) {
        struct cairn_exact_line *line = &table->lines.items[i];

        line->let_go = let_go[line->function];
        if (line->let_go & CAIRN_CALLS_LET_GO)
            table->let_go++;
        else
            table->untimed += cairn_exact_is_untimed(line);
    }
    free(let_go);
    return 0;
}

bool cairn_exact_table_has(const struct cairn_tally *tally)
{
    const struct cairn_call_sum *sums;

    return tally->filter.metric == CAIRN_METRIC_WALL && !tally->filter.region &&
           !tally->filter.task &&
           (cairn_model_calls(tally->model, &sums) > 0 || cairn_exact_table_is_told(tally));
}

bool cairn_exact_table_is_told(const struct cairn_tally *tally)
{
    const struct cairn_filter *filter = &tally->filter;
    const struct cairn_call_pair *pairs;

    return filter->metric == CAIRN_METRIC_WALL && !filter->region && !filter->task &&
           filter->focus.count == 0 && filter->ignore.count == 0 && !filter->only_my_code &&
           !filter->overlays && filter->from_ns == 0 && filter->to_ns == UINT64_MAX &&
           cairn_model_pairs(tally->model, &pairs) > 0;
}

/* What is calibrated while a machine is slow may be more than all the time that was counted once it
 * was fast: of no row's own time can counting have taken more than that. */
static void bound_costs(struct cairn_exact_table *table)
{
    double all_ns = table->cost_ns;

    for (size_t i = 0; i < table->lines.count; i++) {
        struct cairn_exact_line *line = &table->lines.items[i];

        table->cost_ns -= fmax(0, line->self_cost_ns - (double)line->self_ns);
        line->self_cost_ns = fmin(line->self_cost_ns, (double)line->self_ns);
        line->total_cost_ns = fmin(line->total_cost_ns, (double)line->total_ns);
    }
    if (all_ns > 0)
        table->tracing_ns *= table->cost_ns / all_ns;
}

int cairn_exact_table_make(const struct cairn_tally *tally, enum cairn_sort sort,
                           struct cairn_exact_table *ret_table)
{
    struct make make = {.table = ret_table, .model = cairn_model_whole(tally->model)};
    const struct cairn_call_sum *sums;
    size_t count = cairn_model_calls(tally->model, &sums);
    int code;

    *ret_table = (struct cairn_exact_table){.calls = 0};
    code = cairn_counting_cost_make(tally, &make.cost);
    ret_table->cost_known = make.cost.known;
    ret_table->cost_ns = make.cost.all_ns;
    ret_table->tracing_ns = make.cost.tracing_ns;
    cairn_model_functions(make.model, &make.functions);
    cairn_model_frames(make.model, &make.frames);
    cairn_model_nodes(make.model, &make.nodes);
    cairn_map_init(&make.lines, MOST_ITEMS);
    cairn_map_init(&make.callers, MOST_ITEMS);
    for (size_t i = 0; i < count && code == 0; i++)
        if (tally->kept[sums[i].thread])
            code = add(&make, &sums[i]);
    if (code == 0)
        code = add_pairs(&make, tally);
    ret_table->stopped = cairn_model_counter(tally->model, "overhead_stopped") > 0;
    if (code == 0)
        code = tell_what_was_let_go(&make, sums, count);
    bound_costs(ret_table);
    if (code == 0)
        order_rows(&make, sort);
    cairn_map_release(&make.lines);
    cairn_map_release(&make.callers);
    cairn_counting_cost_release(&make.cost);
    return code;
}

bool cairn_exact_is_untimed(const struct cairn_exact_line *line)
{
    return (line->let_go & (CAIRN_TIMES_LET_GO | CAIRN_CALLS_UNTIMED)) != 0;
}

bool cairn_exact_is_whole(const struct cairn_exact_table *table,
                          const struct cairn_exact_line *line)
{
    return cairn_exact_counts_all(table, line) && !cairn_exact_is_untimed(line);
}

bool cairn_exact_counts_all(const struct cairn_exact_table *table,
                            const struct cairn_exact_line *line)
{
    bool python = line->kind[0] == 'p';

    return !table->stopped && (line->let_go & CAIRN_CALLS_LET_GO) == 0 &&
           (python || !table->natives_let_go);
}

bool cairn_exact_misses(const struct cairn_exact_table *table)
{
    return table->stopped || table->let_go > 0 || table->untimed > 0 || table->natives_let_go;
}

const char *cairn_exact_confidence(const struct cairn_exact_table *table,
                                   const struct cairn_exact_line *line)
{
    double self_ns = (double)line->self_ns;

    if (!table->cost_known)
        return NULL;
    return line->self_cost_ns <= GOOD * self_ns   ? "good"
           : line->self_cost_ns <= FAIR * self_ns ? "fair"
                                                  : "poor";
}

uint64_t cairn_exact_corrected(uint64_t time_ns, double cost_ns)
{
    return cost_ns < (double)time_ns ? time_ns - (uint64_t)cost_ns : 0;
}

double cairn_exact_factor(double with_ns, double cost_ns)
{
    return with_ns > cost_ns ? with_ns / (with_ns - cost_ns) : NAN;
}

void cairn_exact_table_release(struct cairn_exact_table *table)
{
    cairn_vec_release(&table->lines);
    cairn_vec_release(&table->callers);
}

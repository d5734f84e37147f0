#include "exactrows.h"

#include <math.h>
#include <string.h>

#include "alloc.h"
#include "countingcost.h"
#include "map.h"

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

static int add_caller(struct make *make, uint32_t callee, uint32_t function, bool repeated,
                      const struct cairn_call_sum *sum)
{
    struct cairn_exact_caller *caller;
    uint64_t place;

    if (!cairn_map_get(&make->callers, callee, function, &place)) {
        place = make->table->callers.count;
        CAIRN_TRY(cairn_vec_reserve(&make->table->callers, place + 1, MOST_ITEMS));
        CAIRN_TRY(cairn_map_put(&make->callers, callee, function, place));
        make->table->callers.items[make->table->callers.count++] =
            (struct cairn_exact_caller){.callee = callee, .function = function};
    }
    caller = &make->table->callers.items[place];
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

        (void)cairn_map_get(&make->lines, table->callers.items[i].callee, 0, &place);
        if (table->lines.items[place].caller_count++ == 0)
            table->lines.items[place].first_caller = i;
    }
    if (table->lines.count > 0)
        qsort_r(table->lines.items, table->lines.count, sizeof(*table->lines.items), by_order,
                &order);
}

bool cairn_exact_table_has(const struct cairn_tally *tally)
{
    const struct cairn_call_sum *sums;

    return tally->filter.metric == CAIRN_METRIC_WALL && !tally->filter.region &&
           cairn_model_calls(tally->model, &sums) > 0;
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
        order_rows(&make, sort);
    cairn_map_release(&make.lines);
    cairn_map_release(&make.callers);
    cairn_counting_cost_release(&make.cost);
    return code;
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

static double factor_of(double with_ns, double cost_ns)
{
    return with_ns > cost_ns ? with_ns / (with_ns - cost_ns) : NAN;
}

double cairn_exact_counting_factor(const struct cairn_exact_table *table)
{
    double traced_ns = table->tracing_ns;

    return table->cost_known
               ? factor_of((double)table->self_ns - traced_ns, table->cost_ns - traced_ns)
               : NAN;
}

double cairn_exact_tracing_factor(const struct cairn_exact_table *table)
{
    return table->cost_known ? factor_of((double)table->self_ns, table->cost_ns) : NAN;
}

void cairn_exact_table_release(struct cairn_exact_table *table)
{
    cairn_vec_release(&table->lines);
    cairn_vec_release(&table->callers);
}

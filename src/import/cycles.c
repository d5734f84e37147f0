/* Tarjan's: functions in the order in which they are met; a part of the graph in which each reaches
 * each is known when the first of it is left. Then down once more into each such part, from where
 * it is entered: what leads to a function that is not left yet leads back. The way down is kept
 * here: a stack of C has no room for a million calls. */
#include "cycles.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

struct search {
    const struct cairn_inferred_call *calls;
    const size_t *first_call;
    uint32_t *cycle, cycles;
    size_t *met, *lowest;     /* when each was met, from 1 on; the earliest that it reaches */
    size_t *next_call;        /* of each, to look at */
    size_t *way, depth;       /* down to where it stands */
    size_t *open, open_count; /* met, and of no part yet */
    bool *is_open;
    size_t count;
};

static void enter(struct search *search, size_t function)
{
    search->met[function] = search->lowest[function] = ++search->count;
    search->next_call[function] = search->first_call[function];
    search->way[search->depth++] = function;
    search->open[search->open_count++] = function;
    search->is_open[function] = true;
}

static void reach(struct search *search, size_t function, size_t met)
{
    if (met < search->lowest[function])
        search->lowest[function] = met;
}

static void leave(struct search *search)
{
    size_t function = search->way[--search->depth], member;
    bool alone = search->open[search->open_count - 1] == function;

    if (search->depth > 0)
        reach(search, search->way[search->depth - 1], search->lowest[function]);
    if (search->lowest[function] != search->met[function])
        return;
    search->cycles += !alone;
    do {
        member = search->open[--search->open_count];
        search->is_open[member] = false;
        search->cycle[member] = alone ? 0 : search->cycles;
    } while (member != function);
}

static void walk_from(struct search *search, size_t root)
{
    enter(search, root);
    while (search->depth > 0) {
        size_t function = search->way[search->depth - 1];

        if (search->next_call[function] < search->first_call[function + 1]) {
            size_t callee = search->calls[search->next_call[function]++].callee;

            if (search->met[callee] == 0)
                enter(search, callee);
            else if (search->is_open[callee])
                reach(search, function, search->met[callee]);
        } else {
            leave(search);
        }
    }
}

/* Of each cycle, the function at which it is entered. */
static void find_entries(const struct search *search,
                         const struct cairn_inferred_function *functions, size_t function_count,
                         double *entered, size_t *entry)
{
    for (size_t i = 0; i < function_count; i++)
        entered[i] += functions[i].total;
    for (size_t i = 0; i < search->first_call[function_count]; i++) {
        const struct cairn_inferred_call *call = &search->calls[i];

        if (search->cycle[call->caller] != search->cycle[call->callee])
            entered[call->callee] += call->total;
    }
    for (size_t i = 0; i < function_count; i++) {
        size_t *best = &entry[search->cycle[i]];

        if (*best == SIZE_MAX || entered[i] > entered[*best] ||
            (entered[i] == entered[*best] && functions[i].total_ns > functions[*best].total_ns))
            *best = i;
    }
}

/* Down into one cycle. */
static void order_from(struct search *search, size_t entry, size_t *left, size_t *clock)
{
    enter(search, entry);
    while (search->depth > 0) {
        size_t function = search->way[search->depth - 1];

        if (search->next_call[function] < search->first_call[function + 1]) {
            size_t callee = search->calls[search->next_call[function]++].callee;

            if (search->cycle[callee] == search->cycle[entry] && !search->is_open[callee])
                enter(search, callee);
        } else {
            left[function] = ++*clock;
            search->depth--;
        }
    }
}

static int order(struct search *search, const struct cairn_inferred_function *functions,
                 size_t function_count, size_t *left)
{
    double *entered = cairn_calloc(function_count + 1, sizeof(*entered));
    size_t *entry = cairn_calloc(search->cycles + 1, sizeof(*entry)), clock = 0;
    int code = -CAIRN_ENOMEM;

    if (entered && entry) {
        memset(entry, 0xff, (search->cycles + 1) * sizeof(*entry)); /* SIZE_MAX: none yet */
        find_entries(search, functions, function_count, entered, entry);
        search->open_count = 0;
        for (uint32_t cycle = 1; cycle <= search->cycles; cycle++)
            order_from(search, entry[cycle], left, &clock);
        code = 0;
    }
    free(entered);
    free(entry);
    return code;
}

int cairn_cycles_find(const struct cairn_inferred_function *functions,
                      const struct cairn_inferred_call *calls, const size_t *first_call,
                      size_t function_count, struct cairn_cycles *ret_cycles)
{
    struct search search = {.calls = calls, .first_call = first_call};
    size_t *room = cairn_calloc(function_count + 1, 5 * sizeof(*room));
    int code = -CAIRN_ENOMEM;

    *ret_cycles = (struct cairn_cycles){
        .cycle = cairn_calloc(function_count + 1, sizeof(*ret_cycles->cycle)),
        .left = cairn_calloc(function_count + 1, sizeof(*ret_cycles->left)),
    };
    search.is_open = cairn_calloc(function_count + 1, sizeof(*search.is_open));
    if (room && search.is_open && ret_cycles->cycle && ret_cycles->left) {
        search.cycle = ret_cycles->cycle;
        search.met = room;
        search.lowest = room + function_count;
        search.next_call = room + 2 * function_count;
        search.way = room + 3 * function_count;
        search.open = room + 4 * function_count;
        for (size_t i = 0; i < function_count; i++)
            if (search.met[i] == 0)
                walk_from(&search, i);
        code = order(&search, functions, function_count, ret_cycles->left);
    }
    free(room);
    free(search.is_open);
    return code;
}

void cairn_cycles_release(struct cairn_cycles *cycles)
{
    free(cycles->cycle);
    free(cycles->left);
}

/* Tarjan's: functions in the order in which they are met; a part of the graph in which each reaches
 * each is known when the first of it is left. The way down is kept here: a stack of C has no room
 * for a million calls. */
#include "cycles.h"

#include <stdlib.h>

#include "alloc.h"

struct search {
    const struct cairn_inferred_call *calls;
    const size_t *first_call;
    bool *in_cycle;
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
    do {
        member = search->open[--search->open_count];
        search->is_open[member] = false;
        search->in_cycle[member] = !alone;
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

int cairn_cycles_find(const struct cairn_inferred_call *calls, const size_t *first_call,
                      size_t function_count, bool *ret_in_cycle)
{
    struct search search = {.calls = calls, .first_call = first_call, .in_cycle = ret_in_cycle};
    size_t *room = cairn_calloc(function_count + 1, 5 * sizeof(*room));
    int code = -CAIRN_ENOMEM;

    search.is_open = cairn_calloc(function_count + 1, sizeof(*search.is_open));
    if (room && search.is_open) {
        search.met = room;
        search.lowest = room + function_count;
        search.next_call = room + 2 * function_count;
        search.way = room + 3 * function_count;
        search.open = room + 4 * function_count;
        for (size_t i = 0; i < function_count; i++)
            if (search.met[i] == 0)
                walk_from(&search, i);
        code = 0;
    }
    free(room);
    free(search.is_open);
    return code;
}

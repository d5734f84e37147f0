#include "slices.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "events.h"
#include "format.h"
#include "map.h"

#define DEPTH_MAX ((size_t)1 << 28)
#define FREE_NUMBERS ((uint64_t)1 << 30) /* above all that Linux gives to a process */

struct open_call { /* of a timeline */
    uint32_t node;
    uint64_t last_ns;
};

struct walk {
    const struct cairn_tally *tally;
    const struct cairn_calltree *tree;
    const struct cairn_slices_ops *ops;
    void *ctx;
    uint32_t open; /* the innermost function that is on */
    uint64_t until_ns;
    CAIRN_VEC(uint32_t) path;
    CAIRN_VEC(struct open_call) calls; /* that are on, of the thread whose calls are told */
    bool *counted;                     /* of each thread: it has a timeline */
};

static int close_to(struct walk *walk, uint32_t node)
{
    while (walk->open != node) {
        CAIRN_TRY(walk->ops->end(walk->ctx, walk->open, walk->until_ns));
        walk->open = walk->tree->nodes.items[walk->open].parent;
    }
    return 0;
}

static int open_to(struct walk *walk, uint32_t node, uint64_t time_ns)
{
    walk->path.count = 0;
    for (uint32_t at = node; at != walk->open; at = walk->tree->nodes.items[at].parent) {
        CAIRN_TRY(cairn_vec_reserve(&walk->path, walk->path.count + 1, DEPTH_MAX));
        walk->path.items[walk->path.count++] = at;
    }
    while (walk->path.count > 0)
        CAIRN_TRY(walk->ops->begin(walk->ctx, walk->path.items[--walk->path.count], time_ns));
    walk->open = node;
    return 0;
}

static int walk_thread(struct walk *walk, const struct cairn_moment *moments, size_t count)
{
    bool counted = walk->counted && walk->counted[moments->thread];

    if (counted && !walk->ops->moment)
        return 0;
    CAIRN_TRY(walk->ops->thread(walk->ctx, moments->thread));
    for (size_t i = 0; i < count; i++) {
        uint32_t node = walk->tree->of[moments[i].node];

        if (walk->ops->moment)
            CAIRN_TRY(walk->ops->moment(walk->ctx, &moments[i]));
        if (moments[i].value_ns == 0 || counted)
            continue;
        CAIRN_TRY(close_to(walk, walk->until_ns == moments[i].first_ns
                                     ? cairn_calltree_common(walk->tree, walk->open, node)
                                     : 0));
        CAIRN_TRY(open_to(walk, node, moments[i].first_ns));
        walk->until_ns = moments[i].first_ns + moments[i].value_ns;
    }
    return close_to(walk, 0);
}

/* --- timelines --- */

bool cairn_slices_counted(const struct cairn_tally *tally)
{
    return tally->filter.metric == CAIRN_METRIC_WALL && !tally->filter.overlays &&
           cairn_model_counter(tally->model, "timeline_calls") > 0;
}

/* Ends the calls that are over when another begins. One that ends at that very moment, as all do
 * that were on when a process was killed, is not over for what it called. */
static int end_calls(struct walk *walk, uint64_t time_ns, uint32_t beginning)
{
    while (walk->calls.count > 0) {
        const struct open_call *call = &walk->calls.items[walk->calls.count - 1];

        if (call->last_ns > time_ns ||
            (call->last_ns == time_ns && call->node != beginning &&
             cairn_calltree_common(walk->tree, call->node, beginning) == call->node))
            break;
        walk->calls.count--;
        CAIRN_TRY(walk->ops->end(walk->ctx, call->node, call->last_ns));
    }
    return 0;
}

/* Whether it is to be seen. With only my code a library's call is a part of its caller's. */
static bool keeps_call(const struct walk *walk, const struct cairn_event_call *call,
                       uint32_t *ret_node)
{
    const struct cairn_tally *tally = walk->tally;
    const struct cairn_model *model = cairn_model_whole(tally->model);
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;

    *ret_node = tally->fold ? tally->fold[call->node] : call->node;
    /* No calls were told of that stack: of a chunk that is damaged. */
    if (!cairn_tally_keeps_node(tally, call->node) || walk->tree->of[*ret_node] == 0)
        return false;
    if (!tally->fold)
        return true;
    cairn_model_functions(model, &functions);
    cairn_model_frames(model, &frames);
    cairn_model_nodes(model, &nodes);
    return functions[frames[nodes[call->node].frame].function].origin == CAIRN_ORIGIN_USER;
}

/* A call that began lies within those that are on: a duration that was too long for its place was
 * rounded, and may be less than that of what it called. */
static int begin_call(struct walk *walk, uint32_t node, const struct cairn_event_call *call)
{
    struct open_call *calls;
    uint64_t last_ns = call->last_ns;

    CAIRN_TRY(end_calls(walk, call->first_ns, walk->tree->of[node]));
    CAIRN_TRY(cairn_vec_reserve(&walk->calls, walk->calls.count + 1, DEPTH_MAX));
    calls = walk->calls.items;
    if (walk->calls.count > 0 && calls[walk->calls.count - 1].last_ns < last_ns)
        last_ns = calls[walk->calls.count - 1].last_ns;
    calls[walk->calls.count++] = (struct open_call){walk->tree->of[node], last_ns};
    return walk->ops->begin(walk->ctx, walk->tree->of[node], call->first_ns);
}

static int walk_calls(struct walk *walk, struct cairn_events *events)
{
    struct cairn_event_call call;
    uint32_t thread = UINT32_MAX, node;
    int code;

    while ((code = cairn_events_next(events, &call)) == 0) {
        if (!keeps_call(walk, &call, &node))
            continue;
        if (call.thread != thread) {
            CAIRN_TRY(end_calls(walk, UINT64_MAX, 0));
            thread = call.thread;
            walk->counted[thread] = true;
            CAIRN_TRY(walk->ops->thread(walk->ctx, thread));
        }
        CAIRN_TRY(begin_call(walk, node, &call));
    }
    CAIRN_TRY(end_calls(walk, UINT64_MAX, 0));
    return code == -CAIRN_EEND ? 0 : code;
}

static int walk_timelines(struct walk *walk)
{
    const struct cairn_filter *filter = &walk->tally->filter;
    const struct cairn_thread *threads;
    struct cairn_events *events;
    int code;

    walk->counted =
        cairn_calloc(cairn_model_threads(walk->tally->model, &threads) + 1, sizeof(*walk->counted));
    if (!walk->counted)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_events_open(
        walk->tally->model, CAIRN_ROW_EVENT, filter->from_ns == 0 ? 0 : walk->tally->first_ns,
        filter->to_ns == UINT64_MAX ? UINT64_MAX : walk->tally->last_ns, &events));
    code = filter->thread || filter->process ? cairn_events_choose(events, walk->tally->kept) : 0;
    if (code == 0)
        code = walk_calls(walk, events);
    cairn_events_free(events);
    return code;
}

int cairn_slices_walk(const struct cairn_tally *tally, const struct cairn_timeline *timeline,
                      const struct cairn_calltree *tree, const struct cairn_slices_ops *ops,
                      void *ctx)
{
    struct walk walk = {.tally = tally, .tree = tree, .ops = ops, .ctx = ctx};
    int code = cairn_slices_counted(tally) ? walk_timelines(&walk) : 0;

    for (size_t first = 0, end; first < timeline->count && code == 0; first = end) {
        end = cairn_timeline_thread_end(timeline, first);
        code = walk_thread(&walk, timeline->items + first, end - first);
    }
    cairn_vec_release(&walk.path);
    cairn_vec_release(&walk.calls);
    free(walk.counted);
    return code;
}

/* The number, when nobody has it yet; else one of its own. */
static int unique(struct cairn_map *taken, uint64_t number, size_t index, uint64_t *ret_number)
{
    uint64_t other;

    *ret_number = cairn_map_get(taken, number, 0, &other) ? FREE_NUMBERS + index : number;
    return cairn_map_put(taken, *ret_number, 0, index);
}

/* Numbers out of `count` structs of `size_bytes`, `offset` bytes into each, made unique. */
static int make_unique(const void *structs, size_t size_bytes, size_t offset, size_t count,
                       uint64_t **ret_numbers)
{
    uint64_t number, *numbers = cairn_calloc(count + 1, sizeof(*numbers));
    struct cairn_map taken;
    int code = numbers ? 0 : -CAIRN_ENOMEM;

    cairn_map_init(&taken, count + 1);
    for (size_t i = 0; i < count && code == 0; i++) {
        memcpy(&number, (const char *)structs + i * size_bytes + offset, sizeof(number));
        code = unique(&taken, number, i, &numbers[i]);
    }
    cairn_map_release(&taken);
    *ret_numbers = numbers;
    return code;
}

int cairn_slices_pids(const struct cairn_model *model, uint64_t **ret_pids)
{
    const struct cairn_process *processes;
    size_t count = cairn_model_processes(model, &processes);

    return make_unique(processes, sizeof(*processes), offsetof(struct cairn_process, pid), count,
                       ret_pids);
}

int cairn_slices_tids(const struct cairn_model *model, uint64_t **ret_tids)
{
    const struct cairn_thread *threads;
    size_t count = cairn_model_threads(model, &threads);

    return make_unique(threads, sizeof(*threads), offsetof(struct cairn_thread, tid), count,
                       ret_tids);
}

#include "slices.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "map.h"

#define DEPTH_MAX ((size_t)1 << 28)
#define FREE_NUMBERS ((uint64_t)1 << 30) /* above all that Linux gives to a process */

struct walk {
    const struct cairn_calltree *tree;
    const struct cairn_slices_ops *ops;
    void *ctx;
    uint32_t open; /* the innermost function that is on */
    uint64_t until_ns;
    CAIRN_VEC(uint32_t) path;
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
    CAIRN_TRY(walk->ops->thread(walk->ctx, moments->thread));
    for (size_t i = 0; i < count; i++) {
        uint32_t node = walk->tree->of[moments[i].node];

        if (walk->ops->moment)
            CAIRN_TRY(walk->ops->moment(walk->ctx, &moments[i]));
        if (moments[i].value_ns == 0)
            continue;
        CAIRN_TRY(close_to(walk, walk->until_ns == moments[i].first_ns
                                     ? cairn_calltree_common(walk->tree, walk->open, node)
                                     : 0));
        CAIRN_TRY(open_to(walk, node, moments[i].first_ns));
        walk->until_ns = moments[i].first_ns + moments[i].value_ns;
    }
    return close_to(walk, 0);
}

int cairn_slices_walk(const struct cairn_timeline *timeline, const struct cairn_calltree *tree,
                      const struct cairn_slices_ops *ops, void *ctx)
{
    struct walk walk = {.tree = tree, .ops = ops, .ctx = ctx};
    int code = 0;

    for (size_t first = 0, end; first < timeline->count && code == 0; first = end) {
        end = cairn_timeline_thread_end(timeline, first);
        code = walk_thread(&walk, timeline->items + first, end - first);
    }
    cairn_vec_release(&walk.path);
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

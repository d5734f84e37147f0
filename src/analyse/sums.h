/* sums.h: what each group of threads spent on each stack, added up many million times over.
 *
 * A group that is met gets an array over all stacks, as long as those arrays together stay small;
 * the groups behind that go through a map.
 */
#ifndef CAIRN_SUMS_H
#define CAIRN_SUMS_H

#include "map.h"
#include "samples.h"
#include "vec.h"

/* As large as a cache line: misses decide how long a tally takes. */
struct cairn_sum {
    uint64_t ticks;
    uint64_t waiting_ticks; /* of samples that were blocked for most of their time */
    uint64_t state_ns[CAIRN_STATE_COUNT];
};

struct cairn_sum_place {
    uint32_t group, node;
};

struct cairn_sums {
    CAIRN_VEC(struct cairn_sum) items;
    CAIRN_VEC(struct cairn_sum_place) places; /* of the items */
    struct cairn_map index; /* {group, node} to its item, of groups without an array */
    uint32_t **arrays;      /* of each group, NULL: item + 1 by node */
    size_t arrays_bytes, group_count, node_count;
};

/* 0 or -CAIRN_ENOMEM; release in both cases. */
int cairn_sums_init(struct cairn_sums *sums, size_t group_count, size_t node_count);
void cairn_sums_release(struct cairn_sums *sums);

/* No further item is asked for: what only finds them is let go. */
void cairn_sums_settle(struct cairn_sums *sums);

int cairn_sums_item_new(struct cairn_sums *sums, uint32_t group, uint32_t node, uint32_t *ret_item);

/* The item of a group and a stack, a new one when there is none. 0, -CAIRN_ENOMEM or
 * -CAIRN_ELIMIT. */
static inline int cairn_sums_item(struct cairn_sums *sums, uint32_t group, uint32_t node,
                                  uint32_t *ret_item)
{
    const uint32_t *items = sums->arrays[group];

    if (!items || !items[node])
        return cairn_sums_item_new(sums, group, node, ret_item);
    *ret_item = items[node] - 1;
    return 0;
}

static inline void cairn_sum_add_to(struct cairn_sum *sum, uint64_t ticks, uint64_t waiting_ticks,
                                    const uint64_t state_ns[CAIRN_STATE_COUNT])
{
    sum->ticks += ticks;
    sum->waiting_ticks += waiting_ticks;
#pragma GCC unroll 8
    for (int i = 0; i < CAIRN_STATE_COUNT; i++)
        sum->state_ns[i] += state_ns[i];
}

static inline void cairn_sum_add(struct cairn_sum *sum, const struct cairn_sum *more)
{
    cairn_sum_add_to(sum, more->ticks, more->waiting_ticks, more->state_ns);
}

/* Fetches into the cache what cairn_sums_item() will look at. */
static inline __attribute__((always_inline)) void cairn_sums_prefetch(const struct cairn_sums *sums,
                                                                      uint32_t group, uint32_t node)
{
    if (sums->arrays[group])
        __builtin_prefetch(&sums->arrays[group][node]);
}

/* And what cairn_sum_add_to() will write: an item may lie in two lines of it. */
static inline __attribute__((always_inline)) void cairn_sum_prefetch(const struct cairn_sum *sum)
{
    __builtin_prefetch(sum, 1);
    __builtin_prefetch((const char *)(sum + 1) - 1, 1);
}

/* The items by group and node, as indexes; free() them. NULL: no memory. */
uint32_t *cairn_sums_order(const struct cairn_sums *sums);

#endif

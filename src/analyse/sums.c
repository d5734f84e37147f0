#include "sums.h"

#include <stdbool.h>
#include <stdlib.h>

#include "alloc.h"
#include "err.h"

#define ITEMS_MAX (1u << 30)
#define ARRAYS_MAX_BYTES ((size_t)64 << 20)

int cairn_sums_init(struct cairn_sums *sums, size_t group_count, size_t node_count)
{
    *sums = (struct cairn_sums){.group_count = group_count, .node_count = node_count};
    cairn_map_init(&sums->index, ITEMS_MAX);
    sums->arrays = cairn_calloc(group_count + 1, sizeof(*sums->arrays));
    return sums->arrays ? 0 : -CAIRN_ENOMEM;
}

void cairn_sums_settle(struct cairn_sums *sums)
{
    for (size_t i = 0; sums->arrays && i < sums->group_count; i++)
        free(sums->arrays[i]);
    free(sums->arrays);
    sums->arrays = NULL;
    cairn_map_release(&sums->index);
}

void cairn_sums_release(struct cairn_sums *sums)
{
    cairn_sums_settle(sums);
    cairn_vec_release(&sums->items);
    cairn_vec_release(&sums->places);
    *sums = (struct cairn_sums){0};
}

/* Where the group's array says which item it is; NULL when the group has none. */
static uint32_t *slot_of(struct cairn_sums *sums, uint32_t group, uint32_t node)
{
    size_t size_bytes = sums->node_count * sizeof(uint32_t);

    if (!sums->arrays[group]) {
        if (size_bytes > ARRAYS_MAX_BYTES - sums->arrays_bytes)
            return NULL;
        sums->arrays[group] = cairn_calloc(sums->node_count, sizeof(uint32_t));
        if (!sums->arrays[group])
            return NULL; /* the map does as well: slower, not wrong */
        sums->arrays_bytes += size_bytes;
    }
    return &sums->arrays[group][node];
}

static int add_item(struct cairn_sums *sums, uint32_t group, uint32_t node)
{
    size_t count = sums->items.count;

    CAIRN_TRY(cairn_vec_reserve(&sums->places, count + 1, ITEMS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&sums->items, count + 1, ITEMS_MAX));
    sums->places.items[sums->places.count++] = (struct cairn_sum_place){group, node};
    sums->items.count++;
    return 0;
}

int cairn_sums_item_new(struct cairn_sums *sums, uint32_t group, uint32_t node, uint32_t *ret_item)
{
    uint32_t *slot = slot_of(sums, group, node);
    uint64_t at;

    if (slot && *slot) {
        *ret_item = *slot - 1;
        return 0;
    }
    if (slot || !cairn_map_get(&sums->index, group, node, &at)) {
        at = sums->items.count;
        CAIRN_TRY(add_item(sums, group, node));
        if (slot)
            *slot = (uint32_t)at + 1;
        else
            CAIRN_TRY(cairn_map_put(&sums->index, group, node, at));
    }
    *ret_item = (uint32_t)at;
    return 0;
}

static uint32_t key_of(const struct cairn_sum_place *place, bool by_group)
{
    return by_group ? place->group : place->node;
}

/* Puts the items of `from` into `to` by group or node; those of one keep their order. `ends` has
 * `key_count` entries, zeroed. */
static void distribute(const struct cairn_sums *sums, bool by_group, const uint32_t *from,
                       uint32_t *to, uint32_t *ends, size_t key_count)
{
    const struct cairn_sum_place *places = sums->places.items;
    size_t count = sums->items.count;

    for (size_t i = 0; i < count; i++)
        ends[key_of(&places[i], by_group)]++;
    for (size_t i = 1; i < key_count; i++)
        ends[i] += ends[i - 1];
    for (size_t i = count; i-- > 0;) {
        uint32_t item = from ? from[i] : (uint32_t)i;

        to[--ends[key_of(&places[item], by_group)]] = item;
    }
}

/* Keys are dense and small: two rounds of counting, where comparing would take most of a tally. */
uint32_t *cairn_sums_order(const struct cairn_sums *sums)
{
    size_t count = sums->items.count;
    uint32_t *by_node = cairn_calloc(count + 1, sizeof(*by_node));
    uint32_t *order = cairn_calloc(count + 1, sizeof(*order));
    uint32_t *node_ends = cairn_calloc(sums->node_count + 1, sizeof(*node_ends));
    uint32_t *group_ends = cairn_calloc(sums->group_count + 1, sizeof(*group_ends));

    if (by_node && order && node_ends && group_ends) {
        distribute(sums, false, NULL, by_node, node_ends, sums->node_count);
        distribute(sums, true, by_node, order, group_ends, sums->group_count);
    } else {
        free(order);
        order = NULL;
    }
    free(by_node);
    free(node_ends);
    free(group_ends);
    return order;
}

#include "pyblocks.h"

#include <string.h>

#include "err.h"

#define PAGE_BYTES UINT64_C(4096)
#define BLOCKS_MAX 16384

void cairn_pyblocks_release(struct cairn_pyblocks *blocks)
{
    cairn_vec_release(&blocks->blocks);
    cairn_vec_release(&blocks->runs);
}

static uint64_t page_of(uint64_t address)
{
    return address / PAGE_BYTES;
}

/* The block of that page, or where it would stand. */
static size_t find(struct cairn_pyblocks *blocks, uint64_t page)
{
    const struct cairn_pyblock *items = blocks->blocks.items;
    size_t low = 0, high = blocks->blocks.count;

    if (blocks->last < high && page_of(items[blocks->last].start) == page)
        return blocks->last;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (page_of(items[middle].start) < page)
            low = middle + 1;
        else
            high = middle;
    }
    blocks->last = low;
    return low;
}

static void use(struct cairn_pyblock *block, uint64_t tick, uint32_t from_leaf)
{
    if (block->used_tick != tick || block->from_leaf > from_leaf)
        block->from_leaf = from_leaf;
    block->returned |= block->used_tick + 1 < tick;
    block->used_tick = tick;
}

int cairn_pyblocks_add(struct cairn_pyblocks *blocks, uint64_t address, size_t size_bytes,
                       uint64_t tick, uint32_t from_leaf)
{
    size_t at = find(blocks, page_of(address)), count = blocks->blocks.count;
    struct cairn_pyblock *block;

    if (address > UINT64_MAX - size_bytes)
        return 0; /* nothing lies there */
    if (count == BLOCKS_MAX)
        return 0; /* it will be missing again, and asked for alone */
    if (at == count || page_of(blocks->blocks.items[at].start) != page_of(address)) {
        CAIRN_TRY(cairn_vec_reserve(&blocks->blocks, count + 1, BLOCKS_MAX));
        memmove(blocks->blocks.items + at + 1, blocks->blocks.items + at,
                (count - at) * sizeof(*blocks->blocks.items));
        blocks->blocks.items[at] = (struct cairn_pyblock){.start = address,
                                                          .end = address + size_bytes,
                                                          .used_tick = tick,
                                                          .from_leaf = from_leaf};
        blocks->blocks.count++;
    }
    block = &blocks->blocks.items[at];
    if (address < block->start)
        block->start = address;
    if (address + size_bytes > block->end)
        block->end = address + size_bytes;
    use(block, tick, from_leaf);
    return 0;
}

const uint8_t *cairn_pyblocks_at(struct cairn_pyblocks *blocks, uint64_t address, size_t size_bytes,
                                 uint64_t tick, uint32_t from_leaf, size_t *ret_run)
{
    size_t at = find(blocks, page_of(address));
    struct cairn_pyblock *block;
    uint64_t offset;

    if (at == blocks->blocks.count)
        return NULL;
    block = &blocks->blocks.items[at];
    if (page_of(block->start) != page_of(address))
        return NULL;
    offset = address - block->copy.address;
    if (!block->copy.data || address < block->copy.address || offset > block->copy.size_bytes ||
        size_bytes > block->copy.size_bytes - offset)
        return NULL;
    use(block, tick, from_leaf);
    *ret_run = block->run;
    return block->copy.data + offset;
}

/* Returns how many of those that are left the last chain did not go through. */
static size_t age(struct cairn_pyblocks *blocks, uint64_t tick)
{
    struct cairn_pyblock *items = blocks->blocks.items;
    size_t some = 0, idle = 0;

    for (size_t i = 0; i < blocks->blocks.count; i++) {
        if (!items[i].used_tick || items[i].used_tick + CAIRN_PYBLOCKS_TICKS < tick)
            continue;
        idle += items[i].used_tick + 1 < tick;
        items[some] = items[i];
        items[some++].copy.data = NULL;
    }
    blocks->blocks.count = some;
    return idle;
}

static bool is_left_out(const struct cairn_pyblock *block, uint64_t tick, size_t idle)
{
    return idle > CAIRN_PYBLOCKS_FEW && block->used_tick + 1 < tick && !block->returned;
}

static int by_leaf(const void *a, const void *b)
{
    const struct cairn_pyrun *x = a, *y = b;

    return x->from_leaf < y->from_leaf ? -1 : x->from_leaf > y->from_leaf;
}

int cairn_pyblocks_plan(struct cairn_pyblocks *blocks, uint64_t tick, size_t most_pages)
{
    size_t idle = age(blocks, tick), count = blocks->blocks.count;

    blocks->runs.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&blocks->runs, count, BLOCKS_MAX));
    for (size_t i = 0, next; i < count; i = next) {
        const struct cairn_pyblock *block = &blocks->blocks.items[i];
        struct cairn_pyrun run = {i, 1, block->start, 0, block->from_leaf};
        uint64_t end = block->end;

        next = i + 1;
        if (is_left_out(block, tick, idle))
            continue;
        /* No page between them is without a frame, hence none is not there. */
        for (; next < count && run.count < most_pages; next++, run.count++) {
            block = &blocks->blocks.items[next];
            if (is_left_out(block, tick, idle) ||
                (block->start > end && block->start - end >= PAGE_BYTES))
                break;
            if (block->end > end)
                end = block->end;
            if (block->from_leaf < run.from_leaf)
                run.from_leaf = block->from_leaf;
        }
        run.size_bytes = (size_t)(end - run.address);
        blocks->runs.items[blocks->runs.count++] = run;
    }
    if (blocks->runs.count)
        qsort(blocks->runs.items, blocks->runs.count, sizeof(*blocks->runs.items), by_leaf);
    return 0;
}

void cairn_pyblocks_take(struct cairn_pyblocks *blocks, size_t run, const uint8_t *data,
                         uint64_t tick)
{
    const struct cairn_pyrun *r = &blocks->runs.items[run];

    for (size_t i = r->first; i < r->first + r->count; i++) {
        struct cairn_pyblock *block = &blocks->blocks.items[i];

        block->copy = (struct cairn_pypiece){
            .address = r->address, .size_bytes = r->size_bytes, .data = data};
        block->run = run;
        if (!data && block->used_tick < tick)
            block->used_tick = 0; /* one of them is not there any more */
    }
}

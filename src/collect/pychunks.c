#include "pychunks.h"

#include <string.h>

#include "err.h"

#define CHUNKS_MAX 8192
#define CHUNK_MAX_BYTES ((uint64_t)256 << 20)
#define SLACK_BYTES 2048 /* read behind the frames of last time: the stack may have grown */
#define SHRINK_SHARE 16  /* of what is read beyond that, what is left out the next time */

static uint64_t field_of(const uint8_t *data, uint32_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

/* Reads the head of the chunk at `address`. False: that is none. */
static bool read_chunk(const struct cairn_pycontext *ctx, uint64_t address,
                       struct cairn_pychunk *ret_chunk, uint64_t *ret_previous)
{
    const struct cairn_pylayout *l = ctx->layout;
    uint8_t head[CAIRN_PYLAYOUT_OBJECT_BYTES];
    uint64_t used;

    if (address % 8 != 0 || cairn_remote_get(ctx->remote, address, head, l->chunk_size) < 0)
        return false;
    *ret_chunk = (struct cairn_pychunk){.address = address,
                                        .size_bytes = field_of(head, l->chunk_size_bytes)};
    *ret_previous = field_of(head, l->chunk_previous);
    used = field_of(head, l->chunk_used_words);
    if (ret_chunk->size_bytes < l->chunk_size || ret_chunk->size_bytes > CHUNK_MAX_BYTES ||
        used > (ret_chunk->size_bytes - l->chunk_data) / 8)
        return false;
    ret_chunk->used_bytes = l->chunk_data + used * 8;
    return true;
}

/* The index of the chunk at `address`; the number of chunks when it is not among them. */
static size_t find(const struct cairn_pychunks *chunks, uint64_t address)
{
    size_t i = 0;

    while (i < chunks->count && chunks->items[i].address != address)
        i++;
    return i;
}

/* The chain in use rests from now on, in the place of `other`, which it changes with. */
static void rest(struct cairn_pykept *kept, size_t other)
{
    struct cairn_pychunks chunks = kept->chunks;

    kept->chunks = kept->resting[other];
    kept->resting[other] = chunks;
    kept->rested_tick[other] = kept->ticks;
}

void cairn_pychunks_turn(struct cairn_pykept *kept)
{
    size_t hot = find(&kept->chunks, kept->hot_chunk);

    for (size_t i = 0; i < CAIRN_PYCHAINS && hot == kept->chunks.count; i++) {
        if (find(&kept->resting[i], kept->hot_chunk) < kept->resting[i].count) {
            rest(kept, i);
            hot = find(&kept->chunks, kept->hot_chunk);
            break;
        }
    }
    if (hot < kept->chunks.count)
        kept->chunks.count = hot + 1;
}

/* Makes place for a chain that has nothing to do with the one in use. */
static void rest_longest(struct cairn_pykept *kept)
{
    size_t longest = 0;

    for (size_t i = 1; i < CAIRN_PYCHAINS; i++)
        if (kept->rested_tick[i] < kept->rested_tick[longest])
            longest = i;
    rest(kept, longest);
    kept->chunks.count = 0;
}

static void reverse_chunks(struct cairn_pychunk *chunks, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct cairn_pychunk swap = chunks[i];

        chunks[i] = chunks[count - 1 - i];
        chunks[count - 1 - i] = swap;
    }
}

/* The `added` chunks behind those of the chain in use, innermost first, are one of their own. */
static int learn_other(struct cairn_pykept *kept, size_t added)
{
    size_t behind = kept->chunks.count;
    const struct cairn_pychunk *chunks = kept->chunks.items + behind;

    rest_longest(kept);
    CAIRN_TRY(cairn_vec_reserve(&kept->chunks, added, 2 * CHUNKS_MAX));
    memcpy(kept->chunks.items, chunks, added * sizeof(*chunks));
    reverse_chunks(kept->chunks.items, added);
    kept->chunks.count = added;
    return 0;
}

/* Goes from the hot chunk to the root; only heads that are new are read. */
int cairn_pychunks_learn(const struct cairn_pycontext *ctx, struct cairn_pykept *kept)
{
    uint64_t address = kept->hot_chunk, previous;
    size_t known = find(&kept->chunks, address), added = 0;

    if (known < kept->chunks.count)
        kept->chunks.count = 0; /* the same hot chunk, and yet something is not as it was */
    while (address && (known = find(&kept->chunks, address)) == kept->chunks.count) {
        struct cairn_pychunk chunk;

        if (added == CHUNKS_MAX || !read_chunk(ctx, address, &chunk, &previous))
            break;
        CAIRN_TRY(cairn_vec_reserve(&kept->chunks, kept->chunks.count + added + 1, 2 * CHUNKS_MAX));
        kept->chunks.items[kept->chunks.count + added++] = chunk;
        address = previous;
    }
    /* Those known up to the junction stay, the new ones follow, outermost first. */
    known = address ? known + 1 : 0;
    if (known > kept->chunks.count)
        known = 0;
    if (!known && added && kept->chunks.count)
        return learn_other(kept, added);
    if (added) {
        memmove(kept->chunks.items + known, kept->chunks.items + kept->chunks.count,
                added * sizeof(*kept->chunks.items));
        reverse_chunks(kept->chunks.items + known, added);
    }
    kept->chunks.count = known + added;
    return 0;
}

void cairn_pychunks_stretch_hot(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                                bool may_shrink)
{
    struct cairn_pychunk *hot;
    uint64_t used;

    if (!kept->chunks.count)
        return;
    hot = &kept->chunks.items[kept->chunks.count - 1];
    used = kept->chunk_top - hot->address;
    if (!cairn_pylayout_has(ctx->layout->thread_chunk_top))
        used = hot->size_bytes;
    else if (used > hot->size_bytes)
        return;
    used += SLACK_BYTES;
    if (used < hot->used_bytes) /* a stack that comes back goes that far again */
        used = hot->used_bytes - (may_shrink ? (hot->used_bytes - used) / SHRINK_SHARE : 0);
    hot->used_bytes = used < hot->size_bytes ? used : hot->size_bytes;
}

/* A frame lies behind what was read of its chunk. */
void cairn_pychunks_stretch(const struct cairn_pycontext *ctx, struct cairn_pychunk *chunk,
                            uint64_t frame)
{
    uint64_t used = frame - chunk->address + ctx->layout->frame_size + SLACK_BYTES;

    if (used > chunk->size_bytes)
        used = chunk->size_bytes;
    if (used > chunk->used_bytes)
        chunk->used_bytes = used;
}

/* Whether the chunks that were read are the chunks there are. Those of a thread that has none yet
 * are of the one that was there before: it may get them. */
bool cairn_pychunks_hold(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    const struct cairn_pylayout *l = ctx->layout;
    uint64_t previous = 0;

    if (!kept->hot_chunk || !kept->chunks.count)
        return !kept->hot_chunk;
    for (size_t i = 0; i < kept->chunks.count; i++) {
        const struct cairn_pychunk *chunk = &kept->chunks.items[i];

        if (chunk->piece.size_bytes < l->chunk_size ||
            field_of(chunk->piece.data, l->chunk_previous) != previous ||
            field_of(chunk->piece.data, l->chunk_size_bytes) != chunk->size_bytes)
            return false;
        previous = chunk->address;
    }
    return previous == kept->hot_chunk;
}

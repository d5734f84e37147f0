#include "writer_tracks.h"

#include <stdlib.h>

#include "alloc.h"
#include "err.h"

#define BLOCKS_MAX ((size_t)UINT32_MAX / CAIRN_TRACK_BLOCK)

void cairn_writer_tracks_release(struct cairn_writer_tracks *tracks)
{
    for (size_t i = 0; i < tracks->blocks.count; i++)
        free(tracks->blocks.items[i]);
    cairn_vec_release(&tracks->blocks);
    cairn_vec_release(&tracks->over);
}

static struct cairn_kept_track *find(const struct cairn_writer_tracks *tracks, uint32_t id)
{
    size_t block = id / CAIRN_TRACK_BLOCK;

    if (block >= tracks->blocks.count || !tracks->blocks.items[block])
        return NULL;
    return &tracks->blocks.items[block]->items[id % CAIRN_TRACK_BLOCK];
}

const struct cairn_track_def *cairn_writer_tracks_get(const struct cairn_writer_tracks *tracks,
                                                      uint32_t id)
{
    const struct cairn_kept_track *kept = find(tracks, id);

    return kept ? &kept->def : NULL;
}

static int add_block(struct cairn_writer_tracks *tracks)
{
    struct cairn_track_block *block;

    CAIRN_TRY(cairn_vec_reserve(&tracks->blocks, tracks->blocks.count + 1, BLOCKS_MAX));
    block = cairn_calloc(1, sizeof(*block));
    if (!block)
        return -CAIRN_ENOMEM;
    tracks->blocks.items[tracks->blocks.count++] = block;
    return 0;
}

static void count_child(struct cairn_writer_tracks *tracks, uint32_t parent, uint32_t more)
{
    struct cairn_kept_track *kept = parent ? find(tracks, parent) : NULL;

    if (kept)
        kept->children += more;
}

int cairn_writer_tracks_put(struct cairn_writer_tracks *tracks, uint32_t id,
                            const struct cairn_track_def *def)
{
    struct cairn_kept_track *kept;

    while (id / CAIRN_TRACK_BLOCK >= tracks->blocks.count)
        CAIRN_TRY(add_block(tracks));
    kept = find(tracks, id);
    if (!kept)
        return 0; /* nobody will ask for it */
    count_child(tracks, kept->def.parent, (uint32_t)-1);
    kept->def = *def;
    count_child(tracks, def->parent, 1);
    return 0;
}

void cairn_writer_tracks_end(struct cairn_writer_tracks *tracks, uint32_t id)
{
    struct cairn_kept_track *kept = id ? find(tracks, id) : NULL;

    if (!kept || kept->state != CAIRN_KEPT ||
        cairn_vec_reserve(&tracks->over, tracks->over.count + 1, UINT32_MAX) < 0)
        return;
    kept->state = CAIRN_KEPT_OVER;
    tracks->over.items[tracks->over.count++] = id;
}

/* It, and its parents that were over before and had no more than it. */
static void drop(struct cairn_writer_tracks *tracks, uint32_t id)
{
    struct cairn_kept_track *kept = find(tracks, id);

    while (kept && kept->state == CAIRN_KEPT_OVER && !kept->children) {
        struct cairn_track_block **block = &tracks->blocks.items[id / CAIRN_TRACK_BLOCK];

        id = kept->def.parent;
        kept->state = CAIRN_KEPT_GONE;
        if (++(*block)->gone == CAIRN_TRACK_BLOCK) {
            free(*block);
            *block = NULL;
        }
        count_child(tracks, id, (uint32_t)-1);
        kept = id ? find(tracks, id) : NULL;
    }
}

void cairn_writer_tracks_drop(struct cairn_writer_tracks *tracks)
{
    for (size_t i = 0; i < tracks->over.count; i++)
        drop(tracks, tracks->over.items[i]);
    tracks->over.count = 0;
}

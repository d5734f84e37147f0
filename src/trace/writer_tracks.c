#include "writer_tracks.h"

#include <stdlib.h>

#include "alloc.h"
#include "err.h"

#define BLOCKS_MAX ((size_t)UINT32_MAX / CAIRN_TRACK_BLOCK)

void cairn_writer_tracks_init(struct cairn_writer_tracks *tracks,
                              struct cairn_writer_strings *strings)
{
    *tracks = (struct cairn_writer_tracks){.strings = strings};
    cairn_map_init(&tracks->blocks, BLOCKS_MAX);
}

static struct cairn_track_block *block_of(uint64_t value)
{
    return (struct cairn_track_block *)(uintptr_t)value;
}

void cairn_writer_tracks_release(struct cairn_writer_tracks *tracks)
{
    uint64_t number, none, block;
    size_t at = 0;

    while (cairn_map_next(&tracks->blocks, &at, &number, &none, &block))
        free(block_of(block));
    cairn_map_release(&tracks->blocks);
    cairn_vec_release(&tracks->over);
}

static struct cairn_kept_track *find(const struct cairn_writer_tracks *tracks, uint32_t id)
{
    uint64_t block;

    if (!cairn_map_get(&tracks->blocks, id / CAIRN_TRACK_BLOCK, 0, &block))
        return NULL;
    return &block_of(block)->items[id % CAIRN_TRACK_BLOCK];
}

const struct cairn_track_def *cairn_writer_tracks_get(const struct cairn_writer_tracks *tracks,
                                                      uint32_t id)
{
    const struct cairn_kept_track *kept = find(tracks, id);

    return kept ? &kept->def : NULL;
}

uint32_t *cairn_writer_tracks_stamp(const struct cairn_writer_tracks *tracks, uint32_t id)
{
    struct cairn_kept_track *kept = find(tracks, id);

    return kept && kept->state != CAIRN_KEPT_GONE ? &kept->stamp : NULL;
}

static int add_block(struct cairn_writer_tracks *tracks)
{
    struct cairn_track_block *block = cairn_calloc(1, sizeof(*block));
    int code =
        block ? cairn_map_put(&tracks->blocks, tracks->made, 0, (uintptr_t)block) : -CAIRN_ENOMEM;

    if (code < 0)
        free(block);
    else
        tracks->made++;
    return code;
}

static void count_child(struct cairn_writer_tracks *tracks, uint32_t parent, uint32_t more)
{
    struct cairn_kept_track *kept = parent ? find(tracks, parent) : NULL;

    if (kept)
        kept->children += more;
}

static void hold_names(struct cairn_writer_tracks *tracks, const struct cairn_track_def *def)
{
    cairn_writer_strings_hold(tracks->strings, def->name);
    cairn_writer_strings_hold(tracks->strings, def->detail);
}

static void let_names_go(struct cairn_writer_tracks *tracks, const struct cairn_track_def *def)
{
    cairn_writer_strings_let_go(tracks->strings, def->name);
    cairn_writer_strings_let_go(tracks->strings, def->detail);
}

int cairn_writer_tracks_put(struct cairn_writer_tracks *tracks, uint32_t id,
                            const struct cairn_track_def *def)
{
    struct cairn_kept_track *kept;

    while (id / CAIRN_TRACK_BLOCK >= tracks->made)
        CAIRN_TRY(add_block(tracks));
    kept = find(tracks, id);
    if (!kept)
        return 0; /* nobody will ask for it */
    count_child(tracks, kept->def.parent, (uint32_t)-1);
    hold_names(tracks, def);
    let_names_go(tracks, &kept->def);
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
        uint64_t number = id / CAIRN_TRACK_BLOCK, block = 0;

        id = kept->def.parent;
        kept->state = CAIRN_KEPT_GONE;
        let_names_go(tracks, &kept->def);
        cairn_map_get(&tracks->blocks, number, 0, &block);
        if (++block_of(block)->gone == CAIRN_TRACK_BLOCK) {
            cairn_map_remove(&tracks->blocks, number, 0);
            free(block_of(block));
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

/* chunks.h: the chunks of a model's files that may matter, one after the other, one in memory at a
 * time. For the streams of this folder.
 */
#ifndef CAIRN_CHUNKS_H
#define CAIRN_CHUNKS_H

#include "buf.h"
#include "cursor.h"
#include "model_priv.h"

struct cairn_chunks {
    const struct cairn_model *model;
    uint64_t from_ns, to_ns; /* chunks without a moment of (from_ns, to_ns] do not matter */
    uint64_t lead_ns;        /* … but for those so long before it */
    uint32_t holds;        /* nor do those that hold nothing of this: as cairn_model_chunk.holds */
    uint64_t *track_masks; /* of each writer: what its chunks' mask must share; NULL: all */
    uint64_t passed_ticks; /* of the time, in chunks that hold no track of those */

    size_t file, chunk; /* the next ones */
    struct cairn_reader *reader;
    struct cairn_buf buf;
    uint32_t writer;              /* of the chunk at hand: index in the model's */
    uint64_t shift_ns;            /* to be added to its times; wraps */
    struct cairn_cursor sections; /* of it */
};

/* `model`: no folded view. */
void cairn_chunks_init(struct cairn_chunks *chunks, const struct cairn_model *model,
                       uint64_t from_ns, uint64_t to_ns, uint32_t holds);
void cairn_chunks_release(struct cairn_chunks *chunks);

/* Before the first one: those that hold none of these threads do not matter. 0 or -CAIRN_ENOMEM. */
int cairn_chunks_choose(struct cairn_chunks *chunks, const bool *chosen);

/* The next one is at hand. 0, -CAIRN_EEND, or a negative code; damaged ones are passed over. */
int cairn_chunks_next(struct cairn_chunks *chunks);

/* What rows of the chunk at hand name. The thread is UINT32_MAX when there is none even for those
 * that are lost, because the file changed since it was loaded. */
static inline uint32_t cairn_chunks_thread(const struct cairn_chunks *chunks, uint64_t track)
{
    const struct cairn_model_writer *writer = &chunks->model->writers.items[chunks->writer];
    uint32_t thread =
        track > UINT32_MAX ? CAIRN_IDS_LOST : cairn_ids_get(&writer->tracks, (uint32_t)track);

    return thread == CAIRN_IDS_LOST ? chunks->model->lost_thread : thread;
}

static inline uint32_t cairn_chunks_node(const struct cairn_chunks *chunks, uint64_t stack)
{
    const struct cairn_model_writer *writer = &chunks->model->writers.items[chunks->writer];
    uint32_t node;

    if (stack == 0)
        return CAIRN_NODE_NOT_PYTHON;
    node = stack > UINT32_MAX ? CAIRN_IDS_LOST : cairn_ids_get(&writer->stacks, (uint32_t)stack);
    return node == CAIRN_IDS_LOST ? CAIRN_NODE_UNKNOWN : node;
}

/* Whether a section is passed over that is decoded with this code: damage was counted when the
 * model was loaded, and behind it anything may seem to be of a newer format. */
static inline bool cairn_chunks_pass_over(int code)
{
    return code == -CAIRN_EDAMAGED || code == -CAIRN_ETOONEW;
}

#endif

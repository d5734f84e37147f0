#include "pylearn.h"

#include <string.h>

#include "err.h"
#include "pychunks.h"
#include "pyresume.h"

#define CHAIN_MAX (4 * CAIRN_PY_DEPTH_MAX)
#define FRAME_MOST_BYTES 1024 /* of one elsewhere, with its variables */

static uint64_t field_of(const uint8_t *data, uint32_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

/* 0; 1: it was noted already; -CAIRN_ENOMEM. */
static int add_frame(const struct cairn_pycontext *ctx, struct cairn_pykept *kept, uint64_t address,
                     const uint8_t *frame)
{
    const struct cairn_pylayout *l = ctx->layout;
    const struct cairn_pycode_entry *entry =
        cairn_pycodes_find(ctx->codes, field_of(frame, l->frame_code) & ~CAIRN_PYSTACK_TAG_BITS);
    size_t size_bytes = CAIRN_PYSTACK_LEAD_BYTES + l->frame_size;

    /* A generator's frame tells what it resumed in turn. */
    if (entry && entry->frame_bytes > l->frame_size && entry->frame_bytes <= FRAME_MOST_BYTES)
        size_bytes = CAIRN_PYSTACK_LEAD_BYTES + entry->frame_bytes;
    return cairn_pyplaces_add(&kept->others, address - CAIRN_PYSTACK_LEAD_BYTES, size_bytes, false,
                              kept->ticks);
}

int cairn_pylearn_again(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                        uint64_t address)
{
    int code =
        cairn_pyplaces_add(&kept->after, address, ctx->layout->frame_size, false, kept->ticks);

    cairn_pyplaces_touch(&kept->after, address, kept->ticks);
    return code < 0 ? code : 0;
}

/* One frame of a chain that is being learned, by a read of its own where it was not copied. 0; 1:
 * the chain is not followed further; or a negative code. */
static int learn_frame(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                       uint64_t address, uint8_t *frame, bool *generator)
{
    const struct cairn_pylayout *l = ctx->layout;
    struct cairn_pyimage image = cairn_pykept_image(ctx, kept);
    int32_t chunk = -1;
    const uint8_t *data = cairn_pyimage_at(&image, address, l->frame_size, &chunk);
    int code = 0;

    if (!data && chunk >= 0)
        cairn_pychunks_stretch(ctx, &kept->chunks.items[chunk], address);
    if (!data && chunk >= 0 && kept->chunks.items[chunk].piece.data)
        return 1;
    if (data)
        memcpy(frame, data, l->frame_size);
    else
        code = cairn_remote_get(ctx->remote, address, frame, l->frame_size);
    if (code < 0)
        return code == -CAIRN_EGONE || code == -CAIRN_EPERM ? code : 1;
    if (chunk >= 0 && *generator)
        CAIRN_TRY(cairn_pylearn_again(ctx, kept, address));
    if (chunk >= 0)
        *generator = false;
    else if (frame[l->frame_owner] == CAIRN_PYSTACK_OWNER_GENERATOR)
        *generator = true;
    /* Met before: stale frames go in circles. */
    return chunk < 0 && !data ? add_frame(ctx, kept, address, frame) : 0;
}

/* Follows the chain by single reads over what lies elsewhere, noting each place, as far as the
 * copied chunks reach. */
static int learn_chain(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                       uint64_t address)
{
    const struct cairn_pylayout *l = ctx->layout;
    uint64_t base_frame = cairn_pykept_field(kept, l->thread_base_frame);
    uint64_t mark = 0;
    size_t next_mark = 1;
    bool generator = false;

    for (size_t hops = 0; hops < CHAIN_MAX && address && address != base_frame; hops++) {
        uint8_t frame[CAIRN_PYLAYOUT_FRAME_BYTES];
        int code = address % 8 == 0 ? learn_frame(ctx, kept, address, frame, &generator) : 1;

        if (code != 0)
            return code < 0 ? code : 0;
        if (address == mark) /* stale frames go in circles */
            return 0;
        if (hops + 1 == next_mark) {
            mark = address;
            next_mark *= 2;
        }
        cairn_pyplaces_touch(&kept->others, address, kept->ticks);
        address = field_of(frame, l->frame_previous);
    }
    return 0;
}

int cairn_pylearn_chain(const struct cairn_pycontext *ctx, struct cairn_pykept *kept)
{
    const struct cairn_pylayout *l = ctx->layout;
    uint64_t frame = cairn_pykept_field(kept, l->thread_current_frame);
    struct cairn_pyimage image;

    if (!cairn_pychunks_hold(ctx, kept))
        CAIRN_TRY(cairn_pychunks_learn(ctx, kept));
    cairn_pychunks_stretch_hot(ctx, kept, false);
    if (cairn_pylayout_has(l->thread_cframe) && kept->cframe) {
        int code =
            cairn_pycframes_learn(l, ctx->remote, &kept->others, kept->cframe, kept->ticks, &frame);

        if (code != 0)
            return code < 0 ? code : 0;
    }
    CAIRN_TRY(learn_chain(ctx, kept, frame));
    if (kept->good.count || !kept->chunks.count)
        return 0;
    /* It may lead nowhere, and nothing is known yet that does not: at least what the root needs. */
    image = cairn_pykept_image(ctx, kept);
    return learn_chain(ctx, kept, cairn_pyimage_first(&image));
}

int cairn_pylearn_touch(const struct cairn_pycontext *ctx, struct cairn_pykept *kept)
{
    for (size_t i = 0; i < kept->others.pieces.count; i++) {
        if (ctx->used.items[i])
            cairn_pyplaces_use(&kept->others, i, kept->ticks);
    }
    for (size_t i = 0; i < kept->raws.count; i++) {
        const struct cairn_pyraw *raw = &kept->raws.items[i];

        if (raw->generator && raw->entry && raw->entry->frame_bytes <= FRAME_MOST_BYTES &&
            raw->entry->frame_bytes > ctx->layout->frame_size)
            CAIRN_TRY(cairn_pyplaces_add(&kept->others, raw->address - CAIRN_PYSTACK_LEAD_BYTES,
                                         CAIRN_PYSTACK_LEAD_BYTES + raw->entry->frame_bytes, false,
                                         kept->ticks));
    }
    return 0;
}

int cairn_pylearn_resumers(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                           const struct cairn_pyimage *image)
{
    for (size_t i = 1; i < kept->raws.count; i++) {
        const struct cairn_pyraw *raw = &kept->raws.items[i], *caller = raw - 1;

        if (raw->generator && caller->chunk >= 0)
            CAIRN_TRY(cairn_pylearn_again(ctx, kept, caller->address));
        if (!cairn_pyresume_is_known(image, ctx->codes, caller, raw))
            CAIRN_TRY(cairn_pylearn_again(ctx, kept, raw->address));
        /* Where C called it, a generator that is resumed next may call another. */
        if (raw->entered && raw->chunk >= 0 && (caller->generator || i + 1 == kept->raws.count))
            CAIRN_TRY(cairn_pylearn_again(ctx, kept, raw->address));
    }
    return 0;
}

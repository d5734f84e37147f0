/* What is shown of a stack that could not be read: as far from the root as it is known to hold. */
#include <string.h>

#include "err.h"
#include "pypublish.h"
#include "pythread.h"

/* Where only a part of a new stack is known to hold, the last good one may reach further in. */
static int fall_back(struct cairn_pykept *kept)
{
    size_t count = kept->good.count, same = 0;

    if (count <= kept->raws.count)
        return 0;
    while (same < kept->raws.count &&
           cairn_pyraw_same(&kept->raws.items[same], &kept->good.items[same]))
        same++;
    CAIRN_TRY(cairn_vec_reserve(&kept->raws, count, CAIRN_PY_DEPTH_MAX));
    memcpy(kept->raws.items + same, kept->good.items + same,
           (count - same) * sizeof(*kept->raws.items));
    kept->raws.count = count;
    if (kept->raws_shown > same)
        kept->raws_shown = same;
    return 0;
}

int cairn_pykept_give_up(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         enum cairn_pystack_status status, enum cairn_pycheck check)
{
    struct cairn_pyimage image = cairn_pykept_image(ctx, kept);
    struct cairn_pyraw raw = {.chunk = -1};
    size_t same = 0, holds = 0;
    bool entry, changed = false;

    kept->thread.trimmed = kept->thread.unchecked = false;
    CAIRN_TRY(fall_back(kept));
    /* From the root: what lies there as it did, is called from there still. */
    for (; holds < kept->raws.count; holds++) {
        struct cairn_pyraw *old = &kept->raws.items[holds];
        enum cairn_pycheck ignored;

        raw.chunk = -1;
        if (cairn_pystack_frame(&image, old->address, &raw, &entry, &ignored) < 0 || entry ||
            raw.code != old->code || raw.previous != old->previous ||
            !cairn_pycodes_find(ctx->codes, raw.code))
            break;
        changed |= raw.instr != old->instr;
        old->instr = raw.instr;
        if (!changed)
            same = holds + 1;
    }
    ctx->stats->stacks++;
    if (status == CAIRN_PYSTACK_TORN) {
        ctx->stats->torn++;
        ctx->stats->refused[check]++;
    } else {
        ctx->stats->unreadable++;
    }
    return cairn_pypublish(ctx, kept, &image, same, holds, status);
}

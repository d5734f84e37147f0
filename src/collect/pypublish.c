#include "pypublish.h"

#include "err.h"
#include "pypassed.h"

/* What the caller (NULL: there is none) says of code whose name is not known. */
static int tell_nameless(struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                         const struct cairn_pycode_entry *entry, struct cairn_pycode **ret_code)
{
    const struct cairn_pycode_entry *by =
        caller ? cairn_pycodes_find(ctx->codes, caller->code) : NULL;

    return caller && !by ? 0 : cairn_pypassed_called_by(ctx->codes, by, entry, ret_code);
}

/* The public form of frames `from` to `count` of the good stack; `rooted`: nobody called its first.
 */
static int show(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                const struct cairn_pyimage *image, size_t from, size_t count, bool rooted)
{
    size_t shown = from ? kept->raws.items[from - 1].published : 0;

    CAIRN_TRY(cairn_vec_reserve(&kept->frames, shown + (count - from), CAIRN_PY_DEPTH_MAX));
    for (size_t i = from; i < count; i++) {
        struct cairn_pyraw *raw = &kept->raws.items[i];
        struct cairn_pycode_entry *entry = cairn_pycodes_find(ctx->codes, raw->code);
        struct cairn_pyframe *frame = &kept->frames.items[shown];

        if (!entry || !entry->hidden) {
            *frame = (struct cairn_pyframe){.address = raw->address, .offset = -1};
            if (entry && entry->named)
                frame->code = &entry->code;
            else if (i || rooted)
                CAIRN_TRY(tell_nameless(ctx, i ? &raw[-1] : NULL, entry, &frame->code));
            if (entry)
                (void)cairn_pystack_offset(image, entry, raw->instr, &frame->offset);
            shown++;
        }
        raw->published = (uint32_t)shown;
    }
    kept->raws_shown = count;
    kept->frames.count = shown;
    kept->thread.frames = kept->frames.items;
    return 0;
}

static bool has_nameless(const struct cairn_pykept *kept)
{
    size_t i = 0;

    while (i < kept->frames.count && kept->frames.items[i].code)
        i++;
    return i < kept->frames.count;
}

int cairn_pypublish(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                    const struct cairn_pyimage *image, size_t same, size_t count,
                    enum cairn_pystack_status status)
{
    struct cairn_pythread *thread = &kept->thread;
    uint32_t depth = thread->depth;
    enum cairn_pystack_status before = thread->status;

    if (same > kept->raws_shown)
        same = kept->raws_shown;
    if (same > count)
        same = count;
    CAIRN_TRY(show(ctx, kept, image, same, count, status != CAIRN_PYSTACK_TRUNCATED));
    ctx->stats->nameless += has_nameless(kept);
    thread->kept = same ? kept->raws.items[same - 1].published : 0;
    thread->depth = (uint32_t)kept->frames.count;
    thread->status = status;
    thread->unchanged = thread->kept == thread->depth && thread->depth == depth && status == before;
    return 0;
}

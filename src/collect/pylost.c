#include "pylost.h"

#include <string.h>

#include "err.h"
#include "pyframe.h"
#include "pyfresh.h"
#include "pylinks.h"

#define LOST_MAX 8       /* frames; calls that end within microseconds are not many */
#define ZOMBIE_OFFSET 8u /* of co_zombieframe behind the line table, 3.8 to 3.10 (code.h) */

/* A call of a function, of code that is known. */
static bool is_call(struct cairn_pycontext *ctx, struct cairn_pyraw *raw)
{
    struct cairn_pyimage image = {.layout = ctx->layout, .table = ctx->table};
    int32_t offset;

    raw->entry = cairn_pycodes_find(ctx->codes, raw->code);
    return !raw->generator && raw->entry &&
           cairn_pystack_offset(&image, raw->entry, raw->instr, &offset);
}

/* Whether it is the frame that its code keeps, which is in no list. 1, 0, or a negative code. */
static int is_own(const struct cairn_pycontext *ctx, const struct cairn_pyraw *raw)
{
    uint64_t frame;
    int code =
        cairn_remote_get(ctx->remote, raw->code + ctx->layout->code_linetable + ZOMBIE_OFFSET,
                         &frame, sizeof(frame));

    if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
        return code;
    return code == 0 && frame == raw->address;
}

int cairn_pylost_keep(struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    struct cairn_pyraws *walk = &ctx->walk, *inner = &ctx->inner;
    int code = 1; /* above 0: the last frame tells its caller */

    CAIRN_TRY(cairn_vec_reserve(inner, LOST_MAX, LOST_MAX));
    inner->count = 0;
    /* A hook is called from anywhere. */
    if (!walk->count || walk->items[walk->count - 1].generator ||
        cairn_pylinks_is_hooked(ctx, kept))
        return 0;
    while (code > 0 && inner->count < walk->count && inner->count < LOST_MAX) {
        struct cairn_pyraw *raw = &walk->items[inner->count];

        code = is_call(ctx, raw);
        if (code > 0 && inner->count > 0)
            code = cairn_pylinks_place(ctx, raw, raw - 1);
        if (code <= 0)
            break;
        inner->items[inner->count++] = *raw;
        code = cairn_pyframe_runs(ctx->table, raw) ? 1 : is_own(ctx, raw);
    }
    return code < 0 ? code : 0;
}

/* Whether the frame serves another call by now. */
static bool is_taken(const struct cairn_pyraws *walk, const struct cairn_pyraw *lost)
{
    size_t i = 0;

    while (i < walk->count && walk->items[i].address != lost->address)
        i++;
    return i < walk->count;
}

/* Leaves of what was kept the frames that are of the same code still. */
static int renew(struct cairn_pycontext *ctx)
{
    struct cairn_pyraws *inner = &ctx->inner;

    for (size_t i = 0; i < inner->count; i++) {
        if (!cairn_pycodes_is_fresh(ctx->codes, inner->items[i].entry, CAIRN_PYCODE_NEW,
                                    ctx->now_ns))
            CAIRN_TRY(cairn_pycodes_want(ctx->codes, inner->items[i].code));
    }
    if (ctx->codes->wanted.count > 0)
        CAIRN_TRY(cairn_pycodes_load(ctx->codes, ctx->now_ns));
    for (size_t i = 0; i < inner->count; i++) {
        const struct cairn_pycode_entry *before = inner->items[i].entry;

        if (!is_call(ctx, &inner->items[i]) || inner->items[i].entry != before ||
            is_taken(&ctx->walk, &inner->items[i]))
            inner->count = i;
    }
    return 0;
}

/* The innermost frame of the walk that calls such a callee is put to where it does. Of the frames
 * that were there before the innermost one may have called it, those around that may not.
 * SIZE_MAX: none does. */
static int find_base(struct cairn_pycontext *ctx, size_t stood, const struct cairn_pyraw *callee,
                     size_t *ret_base)
{
    struct cairn_pyraws *walk = &ctx->walk;
    size_t end = stood ? walk->count - stood + 1 : walk->count;

    *ret_base = SIZE_MAX;
    for (size_t i = 0; i < end && walk->items[i].entry; i++) {
        int code = cairn_pylinks_place(ctx, &walk->items[i], callee);

        if (code > 0)
            *ret_base = i;
        if (code != 0)
            return code < 0 ? code : 0;
    }
    return 0;
}

/* The `base` innermost frames of the walk give way to those that were kept. */
static void put(struct cairn_pycontext *ctx, size_t base)
{
    struct cairn_pyraws *walk = &ctx->walk;
    const struct cairn_pyraws *inner = &ctx->inner;
    size_t rest = walk->count - base;

    memmove(walk->items + inner->count, walk->items + base, rest * sizeof(*walk->items));
    memcpy(walk->items, inner->items, inner->count * sizeof(*inner->items));
    walk->items[inner->count - 1].previous = walk->items[inner->count].address;
    walk->count = inner->count + rest;
    ctx->stats->inferred++;
}

/* So many of the outermost frames stood there when the thread was last read as well. */
static size_t count_stood(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    const struct cairn_pyraws *walk = &ctx->walk, *before = &kept->raws;
    size_t stood = 0;

    while (stood < walk->count && stood < before->count &&
           walk->items[walk->count - 1 - stood].address == before->items[stood].address &&
           walk->items[walk->count - 1 - stood].code == before->items[stood].code)
        stood++;
    return stood;
}

int cairn_pylost_graft(struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                       size_t *ret_count)
{
    struct cairn_pyraws *inner = &ctx->inner;
    size_t base = SIZE_MAX;

    *ret_count = 0;
    if (!inner->count || inner->count + ctx->walk.count > CAIRN_PY_DEPTH_MAX)
        return 0;
    CAIRN_TRY(renew(ctx));
    if (inner->count > 0)
        CAIRN_TRY(find_base(ctx, count_stood(ctx, kept), &inner->items[inner->count - 1], &base));
    if (base == SIZE_MAX)
        return 0;
    put(ctx, base);
    *ret_count = inner->count;
    return 0;
}

#include "pylost.h"

#include <string.h>

#include "err.h"
#include "pyfresh.h"
#include "pylinks.h"

#define LOST_MAX 8 /* frames; calls that end within microseconds are not many */

/* A call of a function, of code that is known. */
static bool is_call(struct cairn_pycontext *ctx, struct cairn_pyraw *raw)
{
    struct cairn_pyimage image = {.layout = ctx->layout, .table = ctx->table};
    int32_t offset;

    if (raw->generator)
        return false;
    raw->entry = cairn_pycodes_find(ctx->codes, raw->code);
    return raw->entry && cairn_pystack_offset(&image, raw->entry, raw->instr, &offset);
}

int cairn_pylost_keep(struct cairn_pycontext *ctx)
{
    struct cairn_pyraws *walk = &ctx->walk, *inner = &ctx->inner;
    int code = 1;

    CAIRN_TRY(cairn_vec_reserve(inner, LOST_MAX, LOST_MAX));
    inner->count = 0;
    if (!walk->count || walk->items[walk->count - 1].generator)
        return 0;
    while (code > 0 && inner->count < walk->count && inner->count < LOST_MAX) {
        struct cairn_pyraw *raw = &walk->items[inner->count];

        if (!is_call(ctx, raw))
            break;
        if (!cairn_pycodes_is_fresh(ctx->codes, raw->entry, CAIRN_PYCODE_NEW, ctx->now_ns))
            CAIRN_TRY(cairn_pycodes_want(ctx->codes, raw->code));
        if (inner->count > 0)
            code = cairn_pylinks_place(ctx, raw, raw - 1);
        if (code > 0)
            inner->items[inner->count++] = *raw;
    }
    return code < 0 ? code : 0;
}

/* The innermost frame of the walk that calls such a callee is put to where it does. SIZE_MAX: none
 * does. */
static int find_base(struct cairn_pycontext *ctx, const struct cairn_pyraw *callee,
                     size_t *ret_base)
{
    int code = 0;
    size_t i = 0;

    while (i < ctx->walk.count &&
           (code = cairn_pylinks_place(ctx, &ctx->walk.items[i], callee)) == 0)
        i++;
    *ret_base = code > 0 ? i : SIZE_MAX;
    return code < 0 ? code : 0;
}

/* The `base` innermost frames of the walk give way to those that were kept. */
static int put(struct cairn_pycontext *ctx, size_t base)
{
    struct cairn_pyraws *walk = &ctx->walk;
    const struct cairn_pyraws *inner = &ctx->inner;
    size_t rest = walk->count - base;

    if (inner->count + rest > CAIRN_PY_DEPTH_MAX)
        return 0;
    memmove(walk->items + inner->count, walk->items + base, rest * sizeof(*walk->items));
    memcpy(walk->items, inner->items, inner->count * sizeof(*inner->items));
    walk->items[inner->count - 1].previous = walk->items[inner->count].address;
    walk->count = inner->count + rest;
    ctx->stats->inferred++;
    return 0;
}

int cairn_pylost_graft(struct cairn_pycontext *ctx)
{
    struct cairn_pyraws *inner = &ctx->inner;
    size_t base = SIZE_MAX;

    for (size_t i = 0; i < inner->count; i++) {
        if (!is_call(ctx, &inner->items[i]))
            inner->count = i; /* other code lies there by now */
    }
    /* The outermost of them may be another call's: of which a frame of the list is the next one. */
    for (; inner->count > 0 && base == SIZE_MAX; inner->count -= base == SIZE_MAX)
        CAIRN_TRY(find_base(ctx, &inner->items[inner->count - 1], &base));
    return base == SIZE_MAX ? 0 : put(ctx, base);
}

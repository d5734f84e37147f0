#include "pyrecall.h"

#include "err.h"
#include "pynotes.h"

#define INNER_MAX 32 /* frames on top of the data stack; deeper chains are not told */
#define BLOCK_KEY                                                                                  \
    (UINT64_C(1) << 60) /* {caller, block of memory} -> which of its callees is there */
#define BLOCK_SHIFT 10

static uint32_t place_of(const struct cairn_pyraw *raw)
{
    return (uint32_t)(raw->instr - raw->entry->start);
}

static int note_link(struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                     const struct cairn_pyraw *callee)
{
    uint32_t caller_key = cairn_pynotes_key(caller), callee_key = cairn_pynotes_key(callee);

    CAIRN_TRY(cairn_pynotes_add(&ctx->calls, caller_key, callee_key, place_of(caller)));
    if (callee->generator)
        CAIRN_TRY(cairn_pynotes_add(&ctx->calls, 0, callee_key, caller_key));
    return cairn_pynotes_add(&ctx->calls, BLOCK_KEY, callee->instr >> BLOCK_SHIFT, callee_key);
}

int cairn_pyrecall_note(struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    size_t count = kept->raws.count, first = count > INNER_MAX ? count - INNER_MAX : 1;
    bool inside = false;

    for (size_t i = first; i < count; i++) {
        const struct cairn_pyraw *callee = &kept->raws.items[i], *caller = callee - 1;

        inside |= callee->generator;
        if (inside && callee->entry && caller->entry)
            CAIRN_TRY(note_link(ctx, caller, callee));
    }
    return 0;
}

int cairn_pyrecall_keep(struct cairn_pycontext *ctx, const struct cairn_pyimage *image)
{
    const struct cairn_pyraws *walk = &ctx->walk;
    size_t count = walk->count;
    const struct cairn_pyraw *outer;

    ctx->inner.count = 0;
    if (!count || count > INNER_MAX)
        return 0;
    outer = &walk->items[count - 1];
    if (!outer->generator || (outer->previous && outer->state == image->table->executing))
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&ctx->inner, count, INNER_MAX));
    for (size_t i = 0; i < count; i++)
        ctx->inner.items[i] = walk->items[count - 1 - i];
    ctx->inner.count = count;
    return 0;
}

/* From 3.14 on a frame that has returned has no code any more, but still tells where it stood. */
static void name(const struct cairn_pycontext *ctx, struct cairn_pyraw *raw)
{
    uint32_t key;

    if (cairn_pynotes_known(&ctx->calls, BLOCK_KEY, raw->instr >> BLOCK_SHIFT, &key))
        raw->code = ctx->codes->entries.items[key - 1]->code.address;
}

/* Whether what was kept is code that runs, each called by the one before it as it was before. */
static bool can_be(const struct cairn_pycontext *ctx, const struct cairn_pyimage *image,
                   struct cairn_pyraws *inner)
{
    int32_t offset;
    uint64_t known;

    for (size_t i = 0; i < inner->count; i++) {
        struct cairn_pyraw *raw = &inner->items[i];

        if (!raw->code)
            name(ctx, raw);
        raw->entry = raw->code ? cairn_pycodes_find(ctx->codes, raw->code) : NULL;
        if (!raw->entry || !cairn_pystack_offset(image, raw->entry, raw->instr, &offset))
            return false;
        if (i == 0)
            continue;
        if (!cairn_map_get(&ctx->calls, cairn_pynotes_key(raw - 1), cairn_pynotes_key(raw), &known))
            return false;
        raw[-1].instr = raw[-1].entry->start + (uint32_t)known;
    }
    return true;
}

/* The innermost frame of the stack that runs this code; SIZE_MAX: none. */
static size_t find(const struct cairn_pyraws *raws, uint32_t key)
{
    for (size_t i = raws->count; i-- > 0;)
        if (raws->items[i].entry && cairn_pynotes_key(&raws->items[i]) == key)
            return i;
    return SIZE_MAX;
}

/* The frame of some generator of this code, which stands where it resumes `callee`. */
static bool imagine(const struct cairn_pycontext *ctx, uint32_t key, uint32_t callee,
                    struct cairn_pyraw *ret_raw)
{
    const struct cairn_pycode_entry *entry = ctx->codes->entries.items[key - 1];
    uint64_t place;

    if (!cairn_map_get(&ctx->calls, key, callee, &place) ||
        cairn_pycodes_find(ctx->codes, entry->code.address) != entry)
        return false;
    *ret_raw = (struct cairn_pyraw){
        .code = entry->code.address,
        .instr = entry->start + (uint32_t)place,
        .chunk = -1,
        .generator = true,
        .entry = entry,
    };
    return true;
}

/* A frame that has gone on since is put back to where it called from. */
static void put_back(const struct cairn_pycontext *ctx, const struct cairn_pyimage *image,
                     struct cairn_pyraw *caller, uint32_t callee)
{
    uint64_t place;
    bool resumes;

    if (cairn_pystack_calls(image, ctx->codes, caller, &resumes) && resumes)
        return;
    if (cairn_map_get(&ctx->calls, cairn_pynotes_key(caller), callee, &place))
        caller->instr = caller->entry->start + (uint32_t)place;
}

int cairn_pyrecall_graft(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         const struct cairn_pyimage *image, size_t *ret_base)
{
    struct cairn_pyraw between[INNER_MAX];
    struct cairn_pyraws *inner = &ctx->inner, *raws = &kept->raws;
    size_t base, count = 0;
    uint32_t callee, caller;

    if (!inner->count || !can_be(ctx, image, inner))
        return 0;
    for (callee = cairn_pynotes_key(&inner->items[0]);; callee = caller) {
        if (!cairn_pynotes_known(&ctx->calls, 0, callee, &caller))
            return 0;
        base = find(raws, caller);
        if (base != SIZE_MAX)
            break;
        if (count == INNER_MAX || !imagine(ctx, caller, callee, &between[count]))
            return 0;
        count++;
    }
    CAIRN_TRY(cairn_vec_reserve(raws, base + 1 + count + inner->count, CAIRN_PY_DEPTH_MAX));
    put_back(ctx, image, &raws->items[base], callee);
    raws->count = *ret_base = base + 1;
    while (count > 0)
        raws->items[raws->count++] = between[--count];
    for (size_t i = 0; i < inner->count; i++)
        raws->items[raws->count++] = inner->items[i];
    return 1;
}

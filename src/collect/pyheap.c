#include "pyheap.h"

#include <string.h>

#include "err.h"
#include "pyframe.h"
#include "pylinks.h"

#define SPARE_MAX 16   /* places that the last chain did not go through, read with it */
#define SPARE_TICKS 12 /* for so long */
#define GROUP_MAX 64
#define PAGE_BYTES 4096

/* What a chain is followed with. */
struct trail {
    struct cairn_pycontext *ctx;
    struct cairn_pykept *kept;
    size_t planned, next; /* of the places read together: how many, and which is the likeliest */
    bool strayed;         /* not every frame was in the plan */
};

static int refuse(enum cairn_pycheck check, enum cairn_pycheck *ret_check)
{
    *ret_check = check;
    return -CAIRN_EDAMAGED;
}

/* --- The chain --- */

/* The type of all frames is the one whose name is "frame"; asked once. */
static bool is_frame_type(struct cairn_pycontext *ctx, const uint8_t *data)
{
    static const char frame[] = "frame";
    uint64_t type, name;
    char text[sizeof(frame)];

    memcpy(&type, data + ctx->layout->object_type, sizeof(type));
    if (ctx->frame_type)
        return type == ctx->frame_type;
    if (!type || cairn_remote_get(ctx->remote, type + ctx->layout->type_name, &name, 8) < 0 ||
        cairn_remote_get(ctx->remote, name, text, sizeof(text)) < 0 ||
        memcmp(text, frame, sizeof(text)) != 0)
        return false;
    ctx->frame_type = type;
    return true;
}

static const uint8_t *planned_at(struct trail *trail, uint64_t address)
{
    const struct cairn_pypiece *pieces = trail->kept->objects.items;

    for (size_t i = 0, at = trail->next; i < trail->planned; i++, at++) {
        if (at >= trail->planned)
            at = 0;
        if (pieces[at].address != address || !pieces[at].data)
            continue;
        trail->next = at + 1;
        trail->kept->object_uses.items[at].tick = trail->kept->ticks;
        return pieces[at].data;
    }
    trail->strayed = true;
    return NULL;
}

static int frame_at(struct trail *trail, uint64_t address, struct cairn_pyraw *ret_raw,
                    enum cairn_pycheck *ret_check)
{
    struct cairn_pycontext *ctx = trail->ctx;
    uint8_t copy[CAIRN_PYLAYOUT_FRAME_BYTES];
    const uint8_t *data = address % 8 == 0 ? planned_at(trail, address) : NULL;

    if (!data) {
        int code = -CAIRN_EUNREADABLE;

        if (address % 8 == 0)
            code = cairn_remote_get(ctx->remote, address, copy, ctx->layout->frame_size);
        if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
            return code;
        if (code < 0)
            return refuse(CAIRN_PYCHECK_MOVED, ret_check);
        data = copy;
    }
    if (!is_frame_type(ctx, data))
        return refuse(CAIRN_PYCHECK_OWNER, ret_check);
    return cairn_pyframe_decode(ctx->layout, ctx->table, address, data, ctx->frame_type, ret_raw,
                                ret_check);
}

/* Fills the walk, innermost frame first. -CAIRN_ELIMIT: the stack is deeper than that. */
static int follow(struct trail *trail, enum cairn_pycheck *ret_check)
{
    struct cairn_pyraws *walk = &trail->ctx->walk;
    uint64_t address = cairn_pykept_field(trail->kept, trail->ctx->layout->thread_current_frame);
    uint64_t passed = 0;
    size_t mark = 1;
    bool runs;

    walk->count = 0;
    while (address) {
        struct cairn_pyraw *raw = &walk->items[walk->count];

        if (walk->count == CAIRN_PY_DEPTH_MAX)
            return -CAIRN_ELIMIT;
        if (address == passed) /* stale frames go in circles */
            return refuse(CAIRN_PYCHECK_HOPS, ret_check);
        CAIRN_TRY(frame_at(trail, address, raw, ret_check));
        if (++walk->count == mark) {
            passed = address;
            mark *= 2;
        }
        /* A copy is not of one instant: a generator that was just resumed may run by it, and yet
         * have no caller. One that C drives at the root of a thread is told only when it is still.
         */
        runs = cairn_pyframe_runs(trail->ctx->table, raw);
        if (!raw->previous && (raw->generator || !runs)) {
            raw->previous = cairn_pylinks_resumer(trail->kept, address);
            raw->entered = false;
            if (!raw->previous && !(runs && trail->kept->thread.still))
                return refuse(CAIRN_PYCHECK_GENERATOR, ret_check);
        }
        address = raw->previous;
    }
    return 0;
}

static void swap(struct cairn_pykept *kept, size_t a, size_t b)
{
    struct cairn_pypiece piece = kept->objects.items[a];
    struct cairn_pyuse use = kept->object_uses.items[a];

    kept->objects.items[a] = kept->objects.items[b];
    kept->object_uses.items[a] = kept->object_uses.items[b];
    kept->objects.items[b] = piece;
    kept->object_uses.items[b] = use;
}

/* Puts those of the innermost frames next to each other that lie in one page, as small objects of
 * a size do: a page is copied as fast as two frames are that are asked for one by one. */
static void group(struct cairn_pykept *kept)
{
    size_t count = kept->objects.count < GROUP_MAX ? kept->objects.count : GROUP_MAX;

    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        for (size_t j = next; j < count; j++)
            if ((kept->objects.items[j].address ^ kept->objects.items[i].address) < PAGE_BYTES)
                swap(kept, next++, j);
    }
}

/* The next read asks for the frames of this chain, innermost first, and for some that were in it
 * lately, each in front of those that lie further from the leaf: the nearer to it, the sooner is a
 * frame over, and the sooner must it be copied after the thread state. */
static int plan(const struct cairn_pycontext *ctx, struct cairn_pykept *kept)
{
    const struct cairn_pyraws *walk = &ctx->walk;
    size_t spares = 0, next = 0, count = 0, max = CAIRN_PY_DEPTH_MAX + SPARE_MAX;
    struct cairn_pypiece pieces[SPARE_MAX];
    struct cairn_pyuse uses[SPARE_MAX];

    for (size_t i = 0; i < kept->objects.count && spares < SPARE_MAX; i++) {
        uint64_t age = kept->ticks - kept->object_uses.items[i].tick;

        if (age == 0 || age > SPARE_TICKS)
            continue;
        pieces[spares] = kept->objects.items[i];
        uses[spares++] = kept->object_uses.items[i];
    }
    CAIRN_TRY(cairn_vec_reserve(&kept->objects, walk->count + spares, max));
    CAIRN_TRY(cairn_vec_reserve(&kept->object_uses, walk->count + spares, max));
    for (size_t i = 0; i < walk->count; i++) {
        for (; next < spares && uses[next].from_leaf <= i; next++, count++) {
            kept->objects.items[count] = pieces[next];
            kept->object_uses.items[count] = uses[next];
        }
        kept->objects.items[count] =
            (struct cairn_pypiece){walk->items[i].address, ctx->layout->frame_size, NULL};
        kept->object_uses.items[count++] = (struct cairn_pyuse){kept->ticks, (uint32_t)i};
    }
    for (; next < spares; next++, count++) {
        kept->objects.items[count] = pieces[next];
        kept->object_uses.items[count] = uses[next];
    }
    kept->objects.count = kept->object_uses.count = count;
    group(kept);
    return 0;
}

/* --- Code objects --- */

/* How many of the outermost frames stand as they did in the last stack, which was judged. */
static size_t unchanged(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    const struct cairn_pyraws *walk = &ctx->walk;
    size_t same = 0;

    while (same < walk->count && same < kept->raws.count) {
        const struct cairn_pyraw *a = &walk->items[walk->count - 1 - same];
        const struct cairn_pyraw *b = &kept->raws.items[same];

        if (a->address != b->address || a->code != b->code || a->previous != b->previous ||
            a->instr != b->instr || a->state != b->state)
            break;
        same++;
    }
    return same;
}

static bool is_placed(const struct cairn_pycontext *ctx, const struct cairn_pyraw *raw)
{
    struct cairn_pyimage image = {.layout = ctx->layout, .table = ctx->table};
    int32_t offset;

    return raw->entry && cairn_pystack_offset(&image, raw->entry, raw->instr, &offset);
}

/* Whether the code of frame `i` of the walk has to be asked for: it is not known, does not fit its
 * frame, or was seen too long ago for a frame in that place. */
static bool is_wanted(const struct cairn_pycontext *ctx, size_t i, bool changed)
{
    const struct cairn_pyraw *raw = &ctx->walk.items[i];
    bool outer = !changed && i >= CAIRN_PYCODE_INNER_FRAMES;

    return (changed && !is_placed(ctx, raw)) ||
           !cairn_pycodes_is_fresh(ctx->codes, raw->entry, outer, ctx->now_ns);
}

/* Finds the code of all frames; what does not fit its frame is asked for anew. *same outermost
 * frames were judged before, with the code that they had: as many as still have it. Refuses if
 * some frame still stands at no place of its code. */
static int identify(struct cairn_pycontext *ctx, const struct cairn_pykept *kept, size_t *same,
                    enum cairn_pycheck *ret_check)
{
    size_t count = ctx->walk.count, changed = count - *same;
    bool loaded = true;

    for (size_t i = changed; i < count; i++)
        ctx->walk.items[i].entry = kept->raws.items[count - 1 - i].entry;
    for (int attempt = 0; attempt < 2 && loaded; attempt++) {
        for (size_t i = 0; i < count; i++) {
            struct cairn_pyraw *raw = &ctx->walk.items[i];

            if (i < changed)
                raw->entry = cairn_pycodes_find(ctx->codes, raw->code);
            if (is_wanted(ctx, i, i < changed))
                CAIRN_TRY(cairn_pycodes_want(ctx->codes, raw->code));
        }
        loaded = ctx->codes->wanted.count != 0;
        CAIRN_TRY(cairn_pycodes_load(ctx->codes, ctx->now_ns));
        for (size_t i = changed; loaded && i < count; i++) {
            if (ctx->walk.items[i].entry != cairn_pycodes_find(ctx->codes, ctx->walk.items[i].code))
                changed = i + 1;
        }
    }
    *same = count - changed;
    for (size_t i = 0; i < changed; i++) {
        struct cairn_pyraw *raw = &ctx->walk.items[i];

        raw->entry = cairn_pycodes_find(ctx->codes, raw->code);
        if (!raw->entry)
            return refuse(CAIRN_PYCHECK_CODE, ret_check);
        if (!is_placed(ctx, raw))
            return refuse(CAIRN_PYCHECK_INSTR, ret_check);
    }
    return 0;
}

/* Judges from the root inwards; *ret_holds outermost frames hold. */
static int judge_all(struct trail *trail, size_t same, size_t *ret_holds,
                     enum cairn_pycheck *ret_check)
{
    struct cairn_pyraw *walk = trail->ctx->walk.items;
    size_t count = trail->ctx->walk.count, holds = same ? same : 1;
    int code = 0;

    /* The innermost of what stands as it did may call another now. */
    for (; holds < count && code == 0; holds++)
        code = cairn_pylinks_judge(trail->ctx, trail->kept, &walk[count - holds],
                                   &walk[count - holds - 1], ret_check);
    *ret_holds = code < 0 ? holds - 1 : count;
    return code;
}

static int torn(struct cairn_pycontext *ctx, struct cairn_pykept *kept, size_t holds,
                enum cairn_pycheck check)
{
    struct cairn_pyraws *walk = &ctx->walk;

    /* Innermost first: what holds is the end. */
    memmove(walk->items, walk->items + (walk->count - holds), holds * sizeof(*walk->items));
    walk->count = holds;
    return cairn_pykept_take(ctx, kept, CAIRN_PYSTACK_TORN, check);
}

int cairn_pyheap_settle(struct cairn_pycontext *ctx, struct cairn_pykept *kept, bool last)
{
    struct trail trail = {.ctx = ctx, .kept = kept, .planned = kept->objects.count};
    enum cairn_pycheck check = CAIRN_PYCHECK_MOVED;
    enum cairn_pystack_status status = CAIRN_PYSTACK_OK;
    size_t holds = 0, same;
    int code = follow(&trail, &check);

    kept->thread.trimmed = kept->thread.unchecked = false;
    if (code == -CAIRN_ELIMIT) {
        status = CAIRN_PYSTACK_TRUNCATED;
        code = 0;
    }
    if (code == 0 && ctx->walk.count) {
        if (trail.strayed || kept->objects.count != ctx->walk.count)
            CAIRN_TRY(plan(ctx, kept));
        same = unchanged(ctx, kept);
        code = identify(ctx, kept, &same, &check);
        if (code == 0)
            code = judge_all(&trail, same, &holds, &check);
        CAIRN_TRY(cairn_pylinks_note_owners(ctx, kept, same));
    }
    if (code == 0)
        return cairn_pykept_take(ctx, kept, status, check);
    if (code == -CAIRN_EDAMAGED && last)
        return torn(ctx, kept, holds, check);
    return code;
}

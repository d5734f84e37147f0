#include "pyheap.h"

#include <string.h>

#include "err.h"
#include "pyframe.h"
#include "pyfresh.h"
#include "pylinks.h"
#include "pylost.h"

/* What a chain is followed with. */
struct trail {
    struct cairn_pycontext *ctx;
    struct cairn_pykept *kept;
    size_t earlier; /* runs that had been copied at the moment of the stack */
    struct cairn_pycodes_mark mark;
    bool last; /* the stack is not read again, or need not be */
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

static int frame_at(struct trail *trail, uint64_t address, struct cairn_pyraw *ret_raw,
                    enum cairn_pycheck *ret_check)
{
    struct cairn_pycontext *ctx = trail->ctx;
    struct cairn_pyblocks *blocks = &trail->kept->blocks;
    uint32_t from_leaf = (uint32_t)ctx->walk.count;
    size_t run = SIZE_MAX;
    size_t size_bytes = ctx->layout->frame_size;
    const uint8_t *data;

    if (address % 8 != 0)
        return refuse(CAIRN_PYCHECK_ALIGN, ret_check);
    data = cairn_pyblocks_at(blocks, address, size_bytes, trail->kept->ticks, from_leaf, &run);
    if (!data) {
        int code = cairn_pyahead_get(&ctx->ahead, ctx->remote, address, size_bytes, &data);

        if (code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM)
            return code;
        if (code < 0)
            return refuse(CAIRN_PYCHECK_MOVED, ret_check);
        CAIRN_TRY(cairn_pyblocks_add(blocks, address, size_bytes, trail->kept->ticks, from_leaf));
    }
    if (!is_frame_type(ctx, data))
        return refuse(CAIRN_PYCHECK_OWNER, ret_check);
    CAIRN_TRY(cairn_pyframe_decode(ctx->layout, ctx->table, address, data, ctx->frame_type, ret_raw,
                                   ret_check));
    /* It did not run yet when it was copied, so what it says is of another call. */
    if (run < trail->earlier && !cairn_pyframe_runs(ctx->table, ret_raw))
        return refuse(CAIRN_PYCHECK_UNBORN, ret_check);
    return 0;
}

/* Fills the walk, innermost frame first. -CAIRN_ELIMIT: the stack is deeper than that. */
static int follow(struct trail *trail, uint64_t address, enum cairn_pycheck *ret_check)
{
    struct cairn_pyraws *walk = &trail->ctx->walk;
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
    enum cairn_pycode_place place =
        i < CAIRN_PYCODE_INNER_FRAMES ? CAIRN_PYCODE_INNER : CAIRN_PYCODE_OUTER;

    if (changed)
        place = CAIRN_PYCODE_NEW;
    return (changed && !is_placed(ctx, raw)) ||
           !cairn_pycodes_is_fresh(ctx->codes, raw->entry, place, ctx->now_ns);
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
        for (size_t i = count; i-- > 0;) {
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

        if (loaded)
            raw->entry = cairn_pycodes_find(ctx->codes, raw->code);
        if (!raw->entry)
            return refuse(CAIRN_PYCHECK_CODE, ret_check);
        if (!is_placed(ctx, raw))
            return refuse(CAIRN_PYCHECK_INSTR, ret_check);
    }
    return 0;
}

/* What lies in front of a link that was refused is in doubt as well: it is seen in this read, and
 * need not wait for its turn at another tick. An import within an import has one such link each. */
static void doubt_rest(struct trail *trail, size_t holds)
{
    const struct cairn_pyraw *walk = trail->ctx->walk.items;
    size_t count = trail->ctx->walk.count;
    bool again;

    for (size_t i = holds + 1; i < count && i < holds + CAIRN_PYDOUBTS_MAX; i++)
        (void)cairn_pykept_is_steady(trail->kept, &walk[count - i], &walk[count - i - 1], &again);
}

/* What a generator runs is no root. Its frame is made anew at each call, of the memory of the last
 * one: a copy that begins before that and ends when it runs says that it is nobody's and runs. */
static bool ends_at_generator(const struct cairn_pyraws *walk)
{
    const struct cairn_pyraw *root = &walk->items[walk->count - 1];

    return !root->previous && !root->generator && root->entry && root->entry->yields;
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
    for (holds = same ? same : 1; holds < count && code == 0; holds++) {
        if (cairn_pylinks_may_resume(trail->ctx, &walk[count - holds], &walk[count - holds - 1]))
            continue;
        *ret_holds = holds;
        code = refuse(CAIRN_PYCHECK_GENERATOR, ret_check);
    }
    if (code == -CAIRN_EDAMAGED)
        doubt_rest(trail, *ret_holds);
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

/* The stack whose innermost frame was at `address` at the moment of the trail. */
static int settle_at(struct trail *trail, uint64_t address, bool last)
{
    struct cairn_pycontext *ctx = trail->ctx;
    struct cairn_pykept *kept = trail->kept;
    enum cairn_pycheck check = CAIRN_PYCHECK_MOVED;
    enum cairn_pystack_status status = CAIRN_PYSTACK_OK;
    size_t holds = 0, same, grafted = 0;
    int code = follow(trail, address, &check);

    if (code == -CAIRN_EDAMAGED && check == CAIRN_PYCHECK_GENERATOR && !kept->later)
        CAIRN_TRY(cairn_pylost_keep(ctx, kept));
    if (code == -CAIRN_EDAMAGED)
        kept->refused_tick = kept->ticks;
    kept->thread.trimmed = kept->thread.unchecked = false;
    if (code == -CAIRN_ELIMIT) {
        status = CAIRN_PYSTACK_TRUNCATED;
        code = 0;
    }
    if (code == 0 && ctx->walk.count) {
        same = unchanged(ctx, kept);
        cairn_pylinks_prefetch(ctx, kept, same);
        code = identify(ctx, kept, &same, &check);
        if (code == 0 && !trail->last && cairn_pycodes_came_late(ctx->codes, trail->mark)) {
            doubt_rest(trail, same ? same - 1 : 0);
            code = refuse(CAIRN_PYCHECK_CODE, &check);
        }
        if (code == 0 && ends_at_generator(&ctx->walk))
            code = refuse(CAIRN_PYCHECK_GENERATOR, &check);
        if (code == 0)
            code = judge_all(trail, same, &holds, &check);
        CAIRN_TRY(cairn_pylinks_note_owners(ctx, kept, same));
        if (code == 0 && status == CAIRN_PYSTACK_OK)
            CAIRN_TRY(cairn_pylost_graft(ctx, kept, &grafted));
    }
    if (code == 0) {
        CAIRN_TRY(cairn_pykept_take(ctx, kept, status, check));
        kept->raws.count -= grafted; /* what is over says nothing of the next time */
        return 0;
    }
    if (code == -CAIRN_EDAMAGED && last)
        return torn(ctx, kept, holds, check);
    return code;
}

/* The moments of the read at which another frame was current: the last one, of which most is known,
 * first. Returns how many. */
static size_t find_moments(const struct cairn_pykept *kept, uint64_t first, size_t *ret_moments)
{
    size_t count = 0;

    for (size_t i = CAIRN_PYMOMENTS; i-- > 0;) {
        uint64_t current = kept->currents[i];

        if (current && current != first &&
            (!count || current != kept->currents[ret_moments[count - 1]]))
            ret_moments[count++] = i;
    }
    return count;
}

int cairn_pyheap_settle(struct cairn_pycontext *ctx, struct cairn_pykept *kept, bool last)
{
    uint64_t current = cairn_pykept_field(kept, ctx->layout->thread_current_frame);
    size_t moments[CAIRN_PYMOMENTS], count = find_moments(kept, current, moments);
    struct trail trail = {.ctx = ctx,
                          .kept = kept,
                          .mark = cairn_pycodes_mark(ctx->codes),
                          .last = last || kept->thread.still};
    int code;

    cairn_pyahead_clear(&ctx->ahead);
    ctx->inner.count = 0;
    code = settle_at(&trail, current, last && !count);

    kept->later = true;
    for (size_t i = 0; i < count && code == -CAIRN_EDAMAGED; i++) {
        size_t moment = moments[ctx->inner.count ? count - 1 - i : i];

        trail.earlier = moment + 1;
        code = settle_at(&trail, kept->currents[moment], last && i + 1 == count);
    }
    kept->later = false;
    return code;
}

#include "pythread.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "pybump.h"
#include "pychunks.h"
#include "pyclimb.h"
#include "pyframe.h"
#include "pyfresh.h"
#include "pyheap.h"
#include "pylearn.h"
#include "pypublish.h"
#include "pyrecall.h"
#include "pyresume.h"

#define USED_MAX 65536
#define CLIMB_FRAMES 64 /* that a call can go further in while the stack is read */
#define RESTLESS_TICKS 64

bool cairn_pykept_is_restless(const struct cairn_pykept *kept)
{
    return kept->refused_tick && kept->ticks - kept->refused_tick <= RESTLESS_TICKS;
}

void cairn_pykept_free(struct cairn_pykept *kept)
{
    if (!kept)
        return;
    cairn_vec_release(&kept->chunks);
    for (size_t i = 0; i < CAIRN_PYCHAINS; i++)
        cairn_vec_release(&kept->resting[i]);
    cairn_pyplaces_release(&kept->others);
    cairn_pyplaces_release(&kept->after);
    cairn_vec_release(&kept->raws);
    cairn_vec_release(&kept->good);
    cairn_vec_release(&kept->frames);
    cairn_pyblocks_release(&kept->blocks);
    cairn_map_release(&kept->resumers);
    free(kept);
}

void cairn_pykept_forget_stack(struct cairn_pykept *kept)
{
    kept->raws.count = kept->raws_shown = kept->good.count = 0;
    kept->thread.depth = kept->thread.kept = 0;
    kept->thread.unchanged = false;
    kept->thread.status = CAIRN_PYSTACK_NONE;
}

uint64_t cairn_pyheader_field(const uint8_t *header, uint32_t place)
{
    uint64_t value;

    if (!cairn_pylayout_has(place))
        return 0;
    memcpy(&value, header + place, sizeof(value));
    return value;
}

uint64_t cairn_pykept_field(const struct cairn_pykept *kept, uint32_t place)
{
    return cairn_pyheader_field(kept->header, place);
}

struct cairn_pyimage cairn_pykept_image(const struct cairn_pycontext *ctx,
                                        const struct cairn_pykept *kept)
{
    return (struct cairn_pyimage){
        .layout = ctx->layout,
        .table = ctx->table,
        .base_frame = cairn_pykept_field(kept, ctx->layout->thread_base_frame),
        .chunks = kept->chunks.items,
        .chunk_count = kept->hot_chunk ? kept->chunks.count : 0,
        .chunk_top = kept->chunk_top,
        .others = kept->others.pieces.items,
        .other_count = kept->others.pieces.count,
        .after = kept->after.pieces.items,
        .after_count = kept->after.pieces.count,
    };
}

/* The current frame by what was read; else as cairn_pycframes_current(). */
static int current_frame(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         const struct cairn_pyimage *image, uint64_t *ret_frame)
{
    if (cairn_pylayout_has(ctx->layout->thread_cframe))
        return cairn_pycframes_current(&kept->cframes, image, &kept->others, kept->cframe,
                                       kept->thread.still, kept->ticks, ret_frame);
    *ret_frame = cairn_pykept_field(kept, ctx->layout->thread_current_frame);
    return 0;
}

/* Asks anew for the code of the `count` outermost frames that is not known, or not fresh; with
 * `all`, for any that was not asked for at this tick. Code that runs is not freed, so it is asked
 * for more rarely further out among the `same` frames that were there before. */
static int want_codes(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                      size_t same, size_t count, bool all)
{
    for (size_t i = 0; i < count; i++) {
        const struct cairn_pyraw *raw = &kept->raws.items[i];
        enum cairn_pycode_place place = CAIRN_PYCODE_OUTER;
        bool fresh;

        if (i >= same)
            place = CAIRN_PYCODE_NEW;
        else if (count - i <= CAIRN_PYCODE_INNER_FRAMES)
            place = CAIRN_PYCODE_INNER;
        if (all && place != CAIRN_PYCODE_OUTER)
            fresh = raw->entry && raw->entry->looked_ns >= ctx->codes->copied_ns;
        else
            fresh = cairn_pycodes_is_fresh(ctx->codes, raw->entry, place, ctx->now_ns);
        if (raw->code && !fresh)
            CAIRN_TRY(cairn_pycodes_want(ctx->codes, raw->code));
    }
    return ctx->codes->wanted.count ? cairn_pycodes_load(ctx->codes, ctx->now_ns) : 0;
}

/* The first frame whose code is not the one it was taken for; all of them are right after. */
static size_t renew_entries(const struct cairn_pycontext *ctx, struct cairn_pykept *kept)
{
    size_t first = kept->raws.count;

    for (size_t i = kept->raws.count; i-- > 0;) {
        struct cairn_pyraw *raw = &kept->raws.items[i];
        const struct cairn_pycode_entry *entry = cairn_pycodes_find(ctx->codes, raw->code);

        if (entry != raw->entry)
            first = i;
        raw->entry = entry;
    }
    return first;
}

/* What a frame may have changed while it stands where it stood: whether it is suspended. */
static void refresh(struct cairn_pyraw *raw, const struct cairn_pyraw *now)
{
    raw->stacktop = now->stacktop;
    raw->chunk = now->chunk;
    raw->state = now->state;
}

/* Takes over the walk from the first frame that differs on; fetches code objects not known. */
static int take_walk(struct cairn_pycontext *ctx, struct cairn_pykept *kept, size_t *ret_same)
{
    size_t count = ctx->walk.count, same = 0, loads;

    while (same < count && same < kept->raws.count &&
           cairn_pyraw_stays(&kept->raws.items[same], &ctx->walk.items[count - 1 - same])) {
        refresh(&kept->raws.items[same], &ctx->walk.items[count - 1 - same]);
        same++;
    }
    CAIRN_TRY(cairn_vec_reserve(&kept->raws, count, CAIRN_PY_DEPTH_MAX));
    for (size_t i = same; i < count; i++) {
        struct cairn_pyraw *raw = &kept->raws.items[i];

        *raw = ctx->walk.items[count - 1 - i];
        raw->entry = raw->code ? cairn_pycodes_find(ctx->codes, raw->code) : NULL;
    }
    kept->raws.count = count;
    loads = ctx->codes->loads;
    CAIRN_TRY(want_codes(ctx, kept, same, count, kept->thread.still));
    if (loads != ctx->codes->loads) {
        size_t renewed = renew_entries(ctx, kept);

        same = renewed < same ? renewed : same;
    }
    if (kept->raws_shown > same)
        kept->raws_shown = same;
    *ret_same = same;
    return 0;
}

/* Judges what is new of the stack. *holds: from which frame on, to how many frames hold. A caller
 * that was put back to its call is to be shown anew. 0 or -CAIRN_ENOMEM. */
static int judge_all(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                     const struct cairn_pyimage *image, size_t *holds,
                     enum cairn_pycheck *ret_check)
{
    struct cairn_pyraw *raws = kept->raws.items;
    size_t count = kept->raws.count;
    int code = 0;

    while (*holds < count && code == 0) {
        size_t caller = *holds ? *holds - 1 : 0;
        uint64_t instr = raws[caller].instr;

        code = cairn_pystack_judge(image, ctx->codes, raws, *holds, *holds + 1 == count, ret_check);
        if (raws[caller].instr != instr && kept->raws_shown > caller)
            kept->raws_shown = caller;
        *holds += code == 0;
    }
    return code == -CAIRN_EDAMAGED ? 0 : code;
}

/* A check may have failed for what code was taken for, or not known to be: it is asked for. */
static int judge_again(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                       const struct cairn_pyimage *image, size_t *same, size_t *holds,
                       enum cairn_pycheck *ret_check)
{
    bool bump = *ret_check == CAIRN_PYCHECK_BUMP;
    uint64_t between = bump ? cairn_pybump_unknown(image, ctx->codes, kept->raws.items, *holds) : 0;
    size_t renewed;

    if (between)
        CAIRN_TRY(cairn_pycodes_want(ctx->codes, between));
    CAIRN_TRY(want_codes(ctx, kept, *same, *holds + 1, true));
    renewed = renew_entries(ctx, kept);
    if (renewed > *holds && !(between && cairn_pycodes_find(ctx->codes, between)))
        return 0;
    if (renewed < *same)
        *same = renewed;
    if (kept->raws_shown > *same)
        kept->raws_shown = *same;
    *holds = *same;
    return judge_all(ctx, kept, image, holds, ret_check);
}

static int keep_good(struct cairn_pykept *kept)
{
    CAIRN_TRY(cairn_vec_reserve(&kept->good, kept->raws.count, CAIRN_PY_DEPTH_MAX));
    if (kept->raws.count)
        memcpy(kept->good.items, kept->raws.items, kept->raws.count * sizeof(*kept->raws.items));
    kept->good.count = kept->raws.count;
    return 0;
}

bool cairn_pykept_is_steady(struct cairn_pykept *kept, const struct cairn_pyraw *caller,
                            const struct cairn_pyraw *callee, bool *ret_again)
{
    unsigned times;

    *ret_again = false;
    if (kept->later)
        return false; /* a read is asked once */
    times = cairn_pydoubts_count(&kept->doubts, kept->ticks, caller, callee, ret_again);
    return times == CAIRN_PYREAD_TRIES;
}

/* A link was refused by a check that can be wrong: believes it when it is steady. *ret_again: it is
 * worth another read to know. */
static int weigh_doubt(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                       const struct cairn_pyimage *image, size_t *holds, enum cairn_pycheck *check,
                       bool *ret_again)
{
    *ret_again = false;
    while (*holds > 0 && *holds < kept->raws.count &&
           (*check == CAIRN_PYCHECK_RESUMER || *check == CAIRN_PYCHECK_STACKTOP)) {
        const struct cairn_pyraw *callee = &kept->raws.items[*holds];

        if (!cairn_pykept_is_steady(kept, callee - 1, callee, ret_again))
            return 0;
        CAIRN_TRY(cairn_pystack_believe(image, ctx->codes, &kept->raws.items[*holds - 1], *check,
                                        ctx->now_ns));
        if (*check == CAIRN_PYCHECK_RESUMER)
            return 0;
        ++*holds;
        CAIRN_TRY(judge_all(ctx, kept, image, holds, check));
        *ret_again = false;
    }
    return 0;
}

static bool came_late(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                      struct cairn_pycodes_mark mark, bool last)
{
    return !last && !kept->thread.still && cairn_pycodes_came_late(ctx->codes, mark);
}

/* To note a place may move the others: the copy of them is looked at where it lies then. */
static void look_after(const struct cairn_pykept *kept, struct cairn_pyimage *image)
{
    image->after = kept->after.pieces.items;
    image->after_count = kept->after.pieces.count;
}

/* Goes on from the last frame that holds to what it called when its memory was copied. What that
 * runs is asked anew as for any new frame: its code may lie where other code did, long ago.
 * -CAIRN_EDAMAGED: some of it came late. -CAIRN_ENOTFOUND: it goes on where nothing was copied. */
static int climb(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                 struct cairn_pyimage *image, bool last)
{
    size_t from = kept->raws.count, most = from + CLIMB_FRAMES;
    struct cairn_pycodes_mark mark = cairn_pycodes_mark(ctx->codes);

    if (most > CAIRN_PY_DEPTH_MAX)
        most = CAIRN_PY_DEPTH_MAX;
    CAIRN_TRY(cairn_vec_reserve(&kept->raws, most, CAIRN_PY_DEPTH_MAX));
    for (int i = 0; i < CLIMB_FRAMES; i++) {
        uint64_t unknown, again;
        size_t renewed;

        CAIRN_TRY(cairn_pystack_climb(image, ctx->codes, &kept->raws, most, &unknown, &again));
        if (again)
            CAIRN_TRY(cairn_pylearn_again(ctx, kept, again));
        look_after(kept, image);
        (void)renew_entries(ctx, kept);
        CAIRN_TRY(want_codes(ctx, kept, from, kept->raws.count, false));
        renewed = renew_entries(ctx, kept);
        if (renewed < kept->raws.count) {
            kept->raws.count = renewed > from ? renewed : from;
            continue;
        }
        if (!unknown)
            break;
        CAIRN_TRY(cairn_pycodes_want(ctx->codes, unknown));
        CAIRN_TRY(cairn_pycodes_load(ctx->codes, ctx->now_ns));
        if (!cairn_pycodes_find(ctx->codes, unknown))
            break;
    }
    if (came_late(ctx, kept, mark, last)) {
        kept->raws.count = from;
        return -CAIRN_EDAMAGED;
    }
    return cairn_pystack_is_short(image, ctx->codes, &kept->raws) ? -CAIRN_ENOTFOUND : 0;
}

/* The frames up to the first that does not hold, and what the last one of them called: the stack of
 * the moment that the copy was made. -CAIRN_EDAMAGED: what came instead cannot be told;
 * -CAIRN_EEND: not even the root holds. */
static int cut_and_climb(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         struct cairn_pyimage *image, size_t holds, enum cairn_pycheck check,
                         bool last)
{
    switch (check) {
    case CAIRN_PYCHECK_RESUMER:
    case CAIRN_PYCHECK_AFTER:
        return -CAIRN_EDAMAGED;
    default:
        break;
    }
    if (check == CAIRN_PYCHECK_YIELDED) {
        kept->raws.count = holds + 1; /* it has just yielded: its caller does not know yet */
        return 0;
    }
    /* The header led through a frame that took the place of the one that it led to. */
    if (holds && cairn_pystack_is_unborn(image, ctx->codes, kept->raws.items, holds - 1))
        holds--;
    if (!holds)
        return -CAIRN_EEND;
    kept->raws.count = holds;
    return climb(ctx, kept, image, last);
}

/* Only the first `holds` frames hold. 0: they are published as torn; 1: the last good stack may
 * reach further in. */
static int accept_part(struct cairn_pycontext *ctx, struct cairn_pykept *kept, size_t holds,
                       enum cairn_pycheck check, enum cairn_pystack_status *ret_status)
{
    kept->raws.count = holds;
    if (kept->good.count > holds)
        return 1;
    *ret_status = CAIRN_PYSTACK_TORN;
    ctx->stats->torn++;
    ctx->stats->refused[check]++;
    return 0;
}

/* Whether the last frame may have called what lost its caller; not, if C was seen to make that call
 * for one of the frames: then it would have been climbed to, were it not over. */
static bool may_have_called(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                            const struct cairn_pyimage *image, const struct cairn_pyraw *lost)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(ctx->codes, lost->code);
    bool ignored;

    for (size_t i = 0; entry && i < kept->raws.count; i++) {
        const struct cairn_pyraw *raw = &kept->raws.items[i];

        if (raw->entry && cairn_pystack_enters(ctx->codes, raw->entry, entry))
            return false;
    }
    return kept->raws.count &&
           cairn_pystack_calls(image, ctx->codes, &kept->raws.items[kept->raws.count - 1],
                               &ignored);
}

static bool has_frame(const struct cairn_pyraws *raws, const struct cairn_pyraw *raw)
{
    size_t i = raws->count;

    while (i > 0 &&
           (raws->items[i - 1].address != raw->address || raws->items[i - 1].code != raw->code))
        i--;
    return i > 0;
}

/* All frames hold, but the current frame, which led to no root, belongs onto them. *ret_base: so
 * many were read. -CAIRN_EDAMAGED: where it belongs cannot be told. */
static int recall(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                  const struct cairn_pyimage *image, bool last, size_t *ret_base)
{
    int code;

    if (ctx->inner.count && has_frame(&kept->raws, &ctx->inner.items[0]))
        return 0; /* the way there led over the copy of the data stack */
    code = cairn_pyrecall_graft(ctx, kept, image, ret_base);
    if (code > 0)
        ctx->stats->inferred++;
    if (code == 0 && ctx->inner.count && !last &&
        (ctx->inner.items[0].generator || may_have_called(ctx, kept, image, &ctx->inner.items[0])))
        return -CAIRN_EDAMAGED;
    return code < 0 ? code : 0;
}

/* The first frame whose code was found to be gone since it was judged: while others of the stack
 * were looked for, or the last ones that there were took its place. */
static size_t first_gone(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                         struct cairn_pycodes_mark mark)
{
    size_t at = 0;

    if (ctx->codes->loads == mark.loads)
        return kept->raws.count;
    while (at < kept->raws.count && cairn_pycodes_find(ctx->codes, kept->raws.items[at].code))
        at++;
    return at;
}

/* `current`: the walk began at the current frame. */
static int accept(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                  struct cairn_pyimage *image, bool current, bool last)
{
    enum cairn_pystack_status status = image->cut ? CAIRN_PYSTACK_TRUNCATED : CAIRN_PYSTACK_OK;
    enum cairn_pycheck check;
    /* Of who stands still, the current frame is of the same moment as what it lies in. */
    bool told = current && kept->thread.still, again;
    struct cairn_pycodes_mark mark = cairn_pycodes_mark(ctx->codes);
    size_t same, holds, count;

    CAIRN_TRY(take_walk(ctx, kept, &same));
    holds = same;
    CAIRN_TRY(judge_all(ctx, kept, image, &holds, &check));
    if (holds < kept->raws.count)
        CAIRN_TRY(judge_again(ctx, kept, image, &same, &holds, &check));
    if (came_late(ctx, kept, mark, last)) {
        kept->raws.count = same;
        return -CAIRN_EDAMAGED;
    }
    CAIRN_TRY(weigh_doubt(ctx, kept, image, &holds, &check, &again));
    kept->thread.trimmed = kept->thread.unchecked = false;
    count = kept->raws.count;
    CAIRN_TRY(cairn_pylearn_resumers(ctx, kept, image));
    look_after(kept, image);
    if (holds < count && told) {
        kept->thread.unchecked = true;
    } else if (holds < count) {
        int code =
            again && !last ? -CAIRN_EDAMAGED : cut_and_climb(ctx, kept, image, holds, check, last);
        bool part = code == -CAIRN_EDAMAGED || code == -CAIRN_ENOTFOUND;

        if (code == -CAIRN_EEND || (part && !last)) {
            kept->raws.count = holds; /* what was refused is not known to hold next time */
            return code;
        }
        if (part && accept_part(ctx, kept, holds, check, &status))
            return cairn_pykept_give_up(ctx, kept, CAIRN_PYSTACK_TORN, check);
        if (code < 0 && !part)
            return code;
        kept->thread.trimmed = code == 0;
        ctx->stats->trimmed += code == 0;
    } else if (count && !told) {
        int code = current ? cairn_pystack_note_entered(image, ctx->codes, &kept->raws, same) : 0;

        CAIRN_TRY(code);
        code = climb(ctx, kept, image, last);
        if (code == -CAIRN_ENOTFOUND && last)
            code = accept_part(ctx, kept, kept->raws.count, CAIRN_PYCHECK_MOVED, &status);
        if (code > 0)
            return cairn_pykept_give_up(ctx, kept, CAIRN_PYSTACK_TORN, CAIRN_PYCHECK_MOVED);
        CAIRN_TRY(code);
    }
    holds = first_gone(ctx, kept, mark);
    if (holds < kept->raws.count && !last) {
        kept->raws.count = holds;
        return -CAIRN_EDAMAGED;
    }
    if (holds < kept->raws.count && status != CAIRN_PYSTACK_TORN &&
        accept_part(ctx, kept, holds, CAIRN_PYCHECK_CODE, &status))
        return cairn_pykept_give_up(ctx, kept, CAIRN_PYSTACK_TORN, CAIRN_PYCHECK_CODE);
    if (kept->raws.count == 0 && status == CAIRN_PYSTACK_OK)
        status = CAIRN_PYSTACK_EMPTY;
    CAIRN_TRY(cairn_pylearn_touch(ctx, kept));
    if (status != CAIRN_PYSTACK_TORN)
        CAIRN_TRY(keep_good(kept));
    count = kept->raws.count;
    if (status == CAIRN_PYSTACK_OK) {
        CAIRN_TRY(cairn_pyrecall_note(ctx, kept));
        CAIRN_TRY(cairn_pyresume_rests(image, ctx->codes, &kept->raws.items[count - 1]));
        /* What stands still and is not told of has not begun. */
        if (!current && !kept->thread.still)
            CAIRN_TRY(recall(ctx, kept, image, last, &count));
    }
    ctx->stats->stacks++;
    ctx->stats->truncated += status == CAIRN_PYSTACK_TRUNCATED;
    if (same >= count && count < kept->raws.count)
        same = count - 1; /* it may stand elsewhere in its code than it did */
    CAIRN_TRY(cairn_pypublish(ctx, kept, image, same, kept->raws.count, status));
    kept->raws.count = count; /* the rest was not read: it says nothing of the next time */
    return 0;
}

int cairn_pykept_take(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                      enum cairn_pystack_status status, enum cairn_pycheck check)
{
    struct cairn_pyimage image = cairn_pykept_image(ctx, kept);
    size_t same;

    CAIRN_TRY(take_walk(ctx, kept, &same));
    ctx->stats->stacks++;
    ctx->stats->truncated += status == CAIRN_PYSTACK_TRUNCATED;
    if (status == CAIRN_PYSTACK_TORN) {
        ctx->stats->torn++;
        ctx->stats->refused[check]++;
    } else {
        CAIRN_TRY(keep_good(kept));
    }
    if (kept->raws.count == 0 && status == CAIRN_PYSTACK_OK)
        status = CAIRN_PYSTACK_EMPTY;
    return cairn_pypublish(ctx, kept, &image, same, kept->raws.count, status);
}

/* The stack by the current frame. -CAIRN_EEND: it leads nowhere. */
static int settle_current(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                          struct cairn_pyimage *image, bool last)
{
    enum cairn_pycheck check;
    uint64_t missing;
    int code = current_frame(ctx, kept, image, &image->current_frame);

    if (code == 0)
        code = cairn_pystack_walk(image, &ctx->walk, CAIRN_PY_DEPTH_MAX, &missing, &check);
    image->cut = code == -CAIRN_ELIMIT;
    if (code == 0 || image->cut)
        return accept(ctx, kept, image, true, last);
    return code == -CAIRN_EDAMAGED || (code == -CAIRN_ENOTFOUND && last) ? -CAIRN_EEND : code;
}

/* The same from the innermost frame of the last good stack that is still there, or from the root.
 */
static int settle_foothold(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                           struct cairn_pyimage *image, bool last)
{
    enum cairn_pycheck check;
    uint64_t missing;
    int code;

    if (!kept->chunks.count && !last)
        return -CAIRN_ENOTFOUND;
    code = cairn_pystack_walk_foothold(image, &kept->good, last, &ctx->walk, CAIRN_PY_DEPTH_MAX,
                                       &missing, &check);
    image->cut = code == -CAIRN_ELIMIT;
    if (code == 0 || image->cut)
        code = accept(ctx, kept, image, false, last);
    if (code != -CAIRN_EDAMAGED && code != -CAIRN_ENOTFOUND && code != -CAIRN_EEND)
        return code;
    return last ? cairn_pykept_give_up(ctx, kept, CAIRN_PYSTACK_TORN, check) : -CAIRN_EDAMAGED;
}

static void remember_first(struct cairn_pykept *kept)
{
    kept->first_chunk = kept->chunks.items[0];
    kept->first_chunk.piece = (struct cairn_pypiece){0};
}

int cairn_pykept_settle(struct cairn_pycontext *ctx, struct cairn_pykept *kept, bool last)
{
    const struct cairn_pylayout *l = ctx->layout;
    struct cairn_pyimage image;
    int code;

    if (cairn_pyframe_is_object(l))
        return cairn_pyheap_settle(ctx, kept, last);
    CAIRN_TRY(cairn_vec_reserve(&ctx->used, kept->others.pieces.count, USED_MAX));
    if (kept->others.pieces.count)
        memset(ctx->used.items, 0, kept->others.pieces.count * sizeof(bool));
    kept->cframe = cairn_pykept_field(kept, l->thread_cframe);
    kept->hot_chunk = cairn_pykept_field(kept, l->thread_chunk);
    kept->chunk_top = cairn_pykept_field(kept, l->thread_chunk_top);
    cairn_pychunks_turn(kept);
    if (!cairn_pychunks_hold(ctx, kept))
        return -CAIRN_ENOTFOUND;
    image = cairn_pykept_image(ctx, kept);
    image.used = ctx->used.items;
    /* Of who stands still nothing else lies there; the frame may not say where it stands yet. */
    image.entries = kept->thread.still ? NULL : &kept->entries;
    code = settle_current(ctx, kept, &image, last);
    if (code == -CAIRN_EEND) {
        CAIRN_TRY(cairn_pyrecall_keep(ctx, &image));
        code = settle_foothold(ctx, kept, &image, last);
    }
    cairn_pychunks_stretch_hot(ctx, kept, kept->tries == 1);
    if (code == 0 && kept->hot_chunk)
        remember_first(kept);
    cairn_pyplaces_age(&kept->others, kept->ticks);
    cairn_pyplaces_age(&kept->after, kept->ticks);
    return code;
}

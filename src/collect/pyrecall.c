#include "pyrecall.h"

#include "err.h"
#include "pyclimb.h"
#include "pynotes.h"
#include "pyresume.h"

#define INNER_MAX 32 /* frames on top of the data stack; deeper chains are not told */
#define BLOCK_KEY                                                                                  \
    (UINT64_C(1) << 60) /* {caller, block of memory} -> which of its callees is there */
#define BLOCK_SHIFT 10
#define DRIVER_KEY (UINT64_C(1) << 61) /* {and a number, code} -> who resumed such a generator */
#define DRIVERS_MAX 8
#define TIMES_KEY                                                                                  \
    (UINT64_C(1) << 63) /* {and the caller, callee} -> how often; {alone, callee}: by anybody */
#define TIMES_SHARE 64  /* of all calls: what is rarer may be one stack that was read wrong */
#define TIMES_MIN 2
#define RANGE_KEY                                                                                  \
    (UINT64_C(1) << 62) /* {and who resumes, code} -> the places it stood at then, from and to */

static uint32_t place_of(const struct cairn_pyraw *raw)
{
    return (uint32_t)(raw->instr - raw->entry->start);
}

static int note_driver(struct cairn_pycontext *ctx, uint32_t driver, uint32_t callee)
{
    uint64_t known;
    int code;

    for (uint64_t i = 0; i < DRIVERS_MAX; i++) {
        if (!cairn_map_get(&ctx->calls, DRIVER_KEY | i, callee, &known)) {
            code = cairn_map_put(&ctx->calls, DRIVER_KEY | i, callee, driver);
            return code == -CAIRN_ELIMIT ? 0 : code;
        }
        if (known == driver)
            break;
    }
    return 0;
}

/* The code of a `with` is resumed by another function before its body than behind it. */
static int note_range(struct cairn_pycontext *ctx, uint32_t driver, uint32_t callee, uint32_t place)
{
    uint64_t known = (uint64_t)place << 32 | place, to, from;
    int code;

    if (cairn_map_get(&ctx->calls, RANGE_KEY | driver, callee, &known)) {
        from = (uint32_t)known < place ? (uint32_t)known : place;
        to = known >> 32 > place ? known >> 32 : place;
        if (known == (to << 32 | from))
            return 0;
        known = to << 32 | from;
    }
    code = cairn_map_put(&ctx->calls, RANGE_KEY | driver, callee, known);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

static bool in_range(const struct cairn_pycontext *ctx, uint32_t driver, uint32_t callee,
                     uint32_t place)
{
    uint64_t known;

    return cairn_map_get(&ctx->calls, RANGE_KEY | driver, callee, &known) &&
           (uint32_t)known <= place && place <= known >> 32;
}

static int note_time(struct cairn_pycontext *ctx, uint32_t caller, uint32_t callee)
{
    uint64_t times = 0;
    int code;

    (void)cairn_map_get(&ctx->calls, TIMES_KEY | caller, callee, &times);
    code = cairn_map_put(&ctx->calls, TIMES_KEY | caller, callee, times + 1);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

/* Whether `caller` calls or resumes such frames, and where: seen again, and not once among
 * hundreds. Memory of a generator that has gone is the next one's: who waited for the former is
 * taken, once in some millions of looks, for who resumes the latter. */
static bool is_link(const struct cairn_pycontext *ctx, uint32_t caller, uint32_t callee,
                    uint64_t *ret_place)
{
    uint64_t times, all;

    return cairn_map_get(&ctx->calls, caller, callee, ret_place) &&
           cairn_map_get(&ctx->calls, TIMES_KEY | caller, callee, &times) &&
           cairn_map_get(&ctx->calls, TIMES_KEY, callee, &all) && times >= TIMES_MIN &&
           times >= all / TIMES_SHARE;
}

static int note_link(struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                     const struct cairn_pyraw *callee)
{
    uint32_t caller_key = cairn_pynotes_key(caller), callee_key = cairn_pynotes_key(callee);

    CAIRN_TRY(cairn_pynotes_add(&ctx->calls, caller_key, callee_key, place_of(caller)));
    CAIRN_TRY(note_time(ctx, caller_key, callee_key));
    CAIRN_TRY(note_time(ctx, 0, callee_key));
    if (callee->generator) {
        CAIRN_TRY(cairn_pynotes_add(&ctx->calls, 0, callee_key, caller_key));
        CAIRN_TRY(note_driver(ctx, caller_key, callee_key));
        CAIRN_TRY(note_range(ctx, caller_key, callee_key, place_of(callee)));
    }
    return cairn_pynotes_add(&ctx->calls, BLOCK_KEY, callee->instr >> BLOCK_SHIFT, callee_key);
}

int cairn_pyrecall_note(struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    size_t count = kept->raws.count, first = count > INNER_MAX ? count - INNER_MAX : 1;
    bool inside = false;

    for (size_t i = first; i < count; i++) {
        const struct cairn_pyraw *callee = &kept->raws.items[i], *caller = callee - 1;

        inside |= callee->generator || (i + 1 < count && callee[1].generator);
        if (inside && callee->entry && caller->entry)
            CAIRN_TRY(note_link(ctx, caller, callee));
    }
    return 0;
}

/* Whether the walk can have ended at this frame because it has lost its caller. C calls from a
 * frame of its own, which lies on the C stack (3.12 on) and is written over once the call is over.
 */
static bool is_lost(const struct cairn_pyimage *image, const struct cairn_pyraw *outer)
{
    return outer->generator ||
           (outer->chunk >= 0 && !cairn_pylayout_has(image->layout->frame_is_entry));
}

int cairn_pyrecall_keep(struct cairn_pycontext *ctx, const struct cairn_pyimage *image)
{
    const struct cairn_pyraws *walk = &ctx->walk;
    size_t count = walk->count;

    ctx->inner.count = 0;
    if (!count || count > INNER_MAX || !is_lost(image, &walk->items[count - 1]))
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
        if (!is_link(ctx, cairn_pynotes_key(raw - 1), cairn_pynotes_key(raw), &known))
            return false;
        raw[-1].instr = raw[-1].entry->start + (uint32_t)known;
    }
    return true;
}

/* A frame that runs this code, and stands where it calls or resumes `callee`. */
static bool imagine(const struct cairn_pycontext *ctx, uint32_t key, uint32_t callee,
                    struct cairn_pyraw *ret_raw)
{
    const struct cairn_pycode_entry *entry = ctx->codes->entries.items[key - 1];
    uint64_t place;

    if (!is_link(ctx, key, callee, &place) ||
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
    if (is_link(ctx, cairn_pynotes_key(caller), callee, &place))
        caller->instr = caller->entry->start + (uint32_t)place;
}

/* What is put between the frames that were read and those that lost their caller. */
struct bridge {
    struct cairn_pyraw frames[INNER_MAX]; /* innermost first */
    size_t count;
    uint32_t callee; /* that the frame it stands on calls or resumes, … */
    uint32_t place;  /* … where that stands */
};

static bool extend(struct bridge *bridge, const struct cairn_pyraw *raw)
{
    if (bridge->count == INNER_MAX)
        return false;
    bridge->frames[bridge->count++] = *raw;
    bridge->callee = cairn_pynotes_key(raw);
    bridge->place = place_of(raw);
    return true;
}

/* Generators that wait for each other: whoever waits for one that runs has resumed it. False: what
 * is left of some seems to go in circles. */
static bool add_waiting(const struct cairn_pycontext *ctx, const struct cairn_pyimage *image,
                        const struct cairn_pyraw *outermost, struct bridge *bridge)
{
    struct cairn_pyraw raw = *outermost, holder;

    while (cairn_pyresume_holder(image, ctx->codes, &raw, &holder)) {
        uint64_t place;

        holder.entry = cairn_pycodes_find(ctx->codes, holder.code);
        if (!is_link(ctx, cairn_pynotes_key(&holder), bridge->callee, &place))
            break;
        holder.instr = holder.entry->start + (uint32_t)place;
        if (!extend(bridge, &holder))
            return false;
        raw = holder;
    }
    return true;
}

static bool resumes_itself(const struct cairn_pycontext *ctx, uint32_t key)
{
    uint64_t ignored;

    return is_link(ctx, key, key, &ignored);
}

/* Whether the frame is of who resumes such a generator, or calls who does, who is over. */
static bool stands_on(const struct cairn_pycontext *ctx, const struct cairn_pyraw *raw,
                      uint32_t driver, struct bridge *bridge)
{
    uint32_t key = cairn_pynotes_key(raw);
    struct cairn_pyraw between;
    uint64_t ignored;

    if (!in_range(ctx, driver, bridge->callee, bridge->place))
        return false;
    if (driver == key)
        return is_link(ctx, key, bridge->callee, &ignored);
    return is_link(ctx, key, driver, &ignored) && imagine(ctx, driver, bridge->callee, &between) &&
           extend(bridge, &between);
}

/* The innermost frame of the stack that can have led there: by who mostly resumes such generators,
 * by itself, or by whoever else was seen to. SIZE_MAX: none. */
static size_t find_base(const struct cairn_pycontext *ctx, const struct cairn_pyraws *raws,
                        struct bridge *bridge)
{
    uint32_t callee = bridge->callee, mostly;
    bool known = cairn_pynotes_known(&ctx->calls, 0, callee, &mostly);
    uint64_t driver;

    for (size_t i = raws->count; i-- > 0;) {
        const struct cairn_pyraw *raw = &raws->items[i];

        if (!raw->entry)
            continue;
        if ((known && mostly != callee && stands_on(ctx, raw, mostly, bridge)) ||
            stands_on(ctx, raw, cairn_pynotes_key(raw), bridge))
            return i;
        for (uint64_t k = 0; k < DRIVERS_MAX; k++) {
            if (!cairn_map_get(&ctx->calls, DRIVER_KEY | k, callee, &driver))
                break;
            if (driver != callee && stands_on(ctx, raw, (uint32_t)driver, bridge))
                return i;
        }
    }
    return SIZE_MAX;
}

/* The same by who mostly resumes whom, several generators deep. */
static size_t find_base_far(const struct cairn_pycontext *ctx, const struct cairn_pyraws *raws,
                            struct bridge *bridge)
{
    struct cairn_pyraw between;
    uint32_t caller;
    size_t base;

    while ((base = find_base(ctx, raws, bridge)) == SIZE_MAX) {
        if (!cairn_pynotes_known(&ctx->calls, 0, bridge->callee, &caller) ||
            caller == bridge->callee || !in_range(ctx, caller, bridge->callee, bridge->place) ||
            !imagine(ctx, caller, bridge->callee, &between) || !extend(bridge, &between))
            return SIZE_MAX;
    }
    return base;
}

/* Takes a frame of the data stack onto the others, if its caller's code was seen to call such code
 * through C, or it says itself that it was called there. 1; 0: it does not hold; or -CAIRN_ENOMEM.
 */
static int take_called(struct cairn_pycontext *ctx, struct cairn_pyraws *raws,
                       const struct cairn_pyimage *image, const struct cairn_pyraw *called,
                       bool innermost)
{
    size_t at = raws->count;
    const struct cairn_pyraw *caller;
    struct cairn_pyraw *raw;
    enum cairn_pycheck ignored;
    int code;

    CAIRN_TRY(cairn_vec_reserve(raws, at + 1, CAIRN_PY_DEPTH_MAX));
    raw = &raws->items[at];
    caller = raw - 1;
    *raw = *called;
    raw->entered = raw->previous != caller->address;
    raw->entry = raw->code ? cairn_pycodes_find(ctx->codes, raw->code) : NULL;
    if (!raw->entry ||
        (raw->entered && !cairn_pystack_enters(ctx->codes, caller->entry, raw->entry)))
        return 0;
    code = cairn_pystack_judge(image, ctx->codes, raws->items, at, innermost, &ignored);
    if (code < 0)
        return code == -CAIRN_EDAMAGED ? 0 : code;
    raws->count = at + 1;
    return 1;
}

/* What C called for the last frame that was read lies behind that on the data stack, up to what has
 * lost its caller; as much of it as holds. 1: some does; 0: none; or -CAIRN_ENOMEM. */
static int graft_called(struct cairn_pycontext *ctx, struct cairn_pyraws *raws,
                        const struct cairn_pyimage *image, size_t *ret_base)
{
    const struct cairn_pyraws *inner = &ctx->inner;
    size_t base = raws->count;
    struct cairn_pyraw raw = {.chunk = -1};
    uint64_t end, instr;
    int code = 1;

    *ret_base = base;
    if (!base || !raws->items[base - 1].entry)
        return 0;
    instr = raws->items[base - 1].instr;
    while (code > 0 &&
           (end = cairn_pystack_end(ctx->codes, raws, &raw.chunk)) != inner->items[0].address) {
        enum cairn_pycheck ignored;
        bool entry;

        if (raws->count == base + INNER_MAX || !end ||
            cairn_pystack_frame(image, end, &raw, &entry, &ignored) < 0 || entry)
            code = 0;
        else
            code = take_called(ctx, raws, image, &raw, false);
    }
    if (code > 0)
        code = take_called(ctx, raws, image, &inner->items[0], inner->count == 1);
    if (code <= 0) {
        raws->count = base;
        raws->items[base - 1].instr = instr; /* it may have been put back to a call */
        return code;
    }
    for (size_t i = 1; i < inner->count && code > 0; i++)
        code = take_called(ctx, raws, image, &inner->items[i], i + 1 == inner->count);
    return code < 0 ? code : 1;
}

int cairn_pyrecall_graft(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         const struct cairn_pyimage *image, size_t *ret_base)
{
    struct bridge bridge;
    struct cairn_pyraws *inner = &ctx->inner, *raws = &kept->raws;
    const struct cairn_pyraw *outermost;
    uint32_t driver;
    size_t base;

    if (!inner->count)
        return 0;
    if (!inner->items[0].generator)
        return graft_called(ctx, raws, image, ret_base);
    if (!can_be(ctx, image, inner))
        return 0;
    bridge.count = 0;
    bridge.callee = cairn_pynotes_key(&inner->items[0]);
    bridge.place = place_of(&inner->items[0]);
    if (!add_waiting(ctx, image, &inner->items[0], &bridge))
        return 0;
    outermost = bridge.count > 0 ? &bridge.frames[bridge.count - 1] : &inner->items[0];
    driver = bridge.callee;
    base = find_base_far(ctx, raws, &bridge);
    /* How deep code stands that resumes itself, only who holds the outermost tells. */
    if (base == SIZE_MAX ||
        (resumes_itself(ctx, driver) &&
         !cairn_pyresume_holds(image, ctx->codes, &raws->items[base], outermost)))
        return 0;
    CAIRN_TRY(cairn_vec_reserve(raws, base + 1 + bridge.count + inner->count, CAIRN_PY_DEPTH_MAX));
    put_back(ctx, image, &raws->items[base], bridge.callee);
    raws->count = *ret_base = base + 1;
    while (bridge.count > 0)
        raws->items[raws->count++] = bridge.frames[--bridge.count];
    for (size_t i = 0; i < inner->count; i++)
        raws->items[raws->count++] = inner->items[i];
    return 1;
}

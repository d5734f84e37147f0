#include "pylinks.h"

#include <string.h>

#include "err.h"
#include "pyframe.h"
#include "pynotes.h"

#define LINE_KEY (UINT64_C(1) << 32) /* in the map of calls: how far such a link is known … */
#define LINE_MAX 32 /* … to be made where the callee is called by its name; … */
#define LINE_ODD 8  /* … one that is not takes so much of it */
#define SITE_KEY (UINT64_C(2) << 32) /* likewise: {place of a call, callee} -> when it was seen */
#define RESUMER_KEY                                                                                \
    (UINT64_C(3) << 32) /* likewise: {place in a generator, it} -> who resumes it                  \
                         */
#define GAP_RARE 256    /* one in so many calls from there is too seldom to be believed at once */
#define GAP_MAX 2048
#define GAP_SELDOM 64
#define GAP_USUAL 8 /* and this is often enough for what was over when it was copied */
#define GAP_TIMES 8 /* so many times it must have been seen there, where stacks are refused */
#define MEAN_MASK UINT64_C(0xffff) /* in such a value: one in how many it is, … */
#define READ_SHIFT 16              /* … the read that it was seen in last, … */
#define READ_MASK UINT64_C(0x7fff)
#define FIRST_BIT (UINT64_C(1) << 31) /* … and that this was the first one; above: when */
#define OWNER_KEY 1 /* in the map of resumers: frame -> whose it was when it was last seen, … */
#define HANDED 1    /* … and whether it was ever another's; code is aligned */

/* Its caller is not its own word, for it was not running any more when it was copied. */
static bool is_lost(const struct cairn_pyraw *raw)
{
    return !raw->entered;
}

static int refuse(enum cairn_pycheck check, enum cairn_pycheck *ret_check)
{
    *ret_check = check;
    return -CAIRN_EDAMAGED;
}

uint64_t cairn_pylinks_resumer(const struct cairn_pykept *kept, uint64_t generator)
{
    uint64_t resumer = 0;

    (void)cairn_map_get(&kept->resumers, generator, 0, &resumer);
    return resumer;
}

static int note_call(struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                     const struct cairn_pyraw *callee)
{
    return cairn_pynotes_add(&ctx->calls, cairn_pynotes_key(caller), cairn_pynotes_key(callee),
                             (uint32_t)caller->instr);
}

/* Whoever resumes a generator is its caller as long as it runs, and mostly the next time. */
static int note_resumer(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                        const struct cairn_pyraw *caller, const struct cairn_pyraw *callee)
{
    uint64_t known;
    int code;

    if (!callee->generator || is_lost(callee))
        return 0;
    CAIRN_TRY(
        cairn_pynotes_add(&ctx->calls, 0, cairn_pynotes_key(callee), cairn_pynotes_key(caller)));
    CAIRN_TRY(cairn_pynotes_add(&ctx->calls, RESUMER_KEY | (uint32_t)callee->instr,
                                cairn_pynotes_key(callee), cairn_pynotes_key(caller)));
    if (cairn_map_get(&kept->resumers, callee->address, 0, &known) && known == caller->address)
        return 0;
    code = cairn_map_put(&kept->resumers, callee->address, 0, caller->address);
    if (code == -CAIRN_ELIMIT)
        cairn_map_clear(&kept->resumers);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

bool cairn_pylinks_may_resume(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                              const struct cairn_pyraw *callee)
{
    uint32_t resumer;

    return !is_lost(callee) ||
           (cairn_pynotes_known(&ctx->calls, RESUMER_KEY | (uint32_t)callee->instr,
                                cairn_pynotes_key(callee), &resumer) &&
            resumer == cairn_pynotes_key(caller));
}

static uint8_t unit_of(const struct cairn_pyraw *raw, uint64_t instr)
{
    const struct cairn_pycode_entry *entry = raw->entry;

    return entry->units && instr / 2 < entry->unit_count ? entry->units[instr / 2] : 0;
}

bool cairn_pylinks_is_hooked(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept)
{
    return cairn_pykept_field(kept, ctx->layout->thread_trace) ||
           cairn_pykept_field(kept, ctx->layout->thread_profile);
}

/* From where such links mostly come. */
static bool mend(const struct cairn_pycontext *ctx, struct cairn_pyraw *caller,
                 const struct cairn_pyraw *callee)
{
    const struct cairn_map *calls = &ctx->calls;
    uint32_t instr, resumer;

    if (!cairn_pynotes_known(calls, cairn_pynotes_key(caller), cairn_pynotes_key(callee), &instr))
        return false;
    if (is_lost(callee) && (!cairn_pynotes_known(calls, 0, cairn_pynotes_key(callee), &resumer) ||
                            resumer != cairn_pynotes_key(caller)))
        return false;
    caller->instr = instr;
    return true;
}

/* Or from one of several places that such links come from: which function ran is not in doubt, and
 * to read again until nothing moves would leave those out that are called from two places. */
static bool recall(const struct cairn_pycontext *ctx, struct cairn_pyraw *caller,
                   const struct cairn_pyraw *callee)
{
    uint64_t known;

    if (!cairn_map_get(&ctx->calls, cairn_pynotes_key(caller), cairn_pynotes_key(callee), &known))
        return false;
    caller->instr = (uint32_t)known;
    return true;
}

/* Whether the frame was of the same code before: most are kept for it. One that passes from hand to
 * hand may have been another's at the moment of the stack. */
static bool is_settled(const struct cairn_pykept *kept, const struct cairn_pyraw *raw)
{
    uint64_t owner;

    return cairn_map_get(&kept->resumers, raw->address, OWNER_KEY, &owner) &&
           (owner & ~(uint64_t)HANDED) == raw->code;
}

/* Whether it passes from hand to hand. */
static bool is_handed(const struct cairn_pykept *kept, const struct cairn_pyraw *raw)
{
    uint64_t owner;

    return cairn_map_get(&kept->resumers, raw->address, OWNER_KEY, &owner) && owner & HANDED;
}

/* From where the one calls the other by its name. A frame that serves several functions may have
 * been another's at the moment of the stack: then this call came right after that one.
 * 1: so it is; 0: it has no such place; or a negative code. */
static int find_site(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                     const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                     uint64_t *ret_instr)
{
    if (callee->generator || is_lost(callee) || !is_settled(kept, caller))
        return 0;
    return cairn_pycodes_site(ctx->codes, caller->entry, callee->entry, caller->instr, ret_instr);
}

/* Or from the call that it has just come back from: nothing since then can have called. */
static bool step_back(struct cairn_pyraw *caller)
{
    uint64_t instr = caller->instr;

    if ((int64_t)instr < 0 || unit_of(caller, instr) & CAIRN_PYUNIT_CALLER)
        return false;
    while (!(unit_of(caller, instr) & CAIRN_PYUNIT_CALLER)) {
        if (!instr || unit_of(caller, instr) & CAIRN_PYUNIT_TARGET)
            return false;
        instr -= 2;
    }
    caller->instr = instr;
    return true;
}

void cairn_pylinks_prefetch(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                            size_t same)
{
    for (size_t i = 0; i + same < ctx->walk.count; i++)
        cairn_map_prefetch(&kept->resumers, ctx->walk.items[i].address, OWNER_KEY);
}

int cairn_pylinks_note_owners(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                              size_t same)
{
    for (size_t i = 0; i + same < ctx->walk.count; i++) {
        const struct cairn_pyraw *raw = &ctx->walk.items[i];
        uint64_t owner;
        int code = 0;

        if (!cairn_map_get(&kept->resumers, raw->address, OWNER_KEY, &owner))
            code = cairn_map_put(&kept->resumers, raw->address, OWNER_KEY, raw->code);
        else if ((owner & ~(uint64_t)HANDED) != raw->code)
            code = cairn_map_put(&kept->resumers, raw->address, OWNER_KEY, raw->code | HANDED);
        if (code == -CAIRN_ELIMIT)
            cairn_map_clear(&kept->resumers);
        else if (code < 0)
            return code;
    }
    return 0;
}

/* Whether the caller stands at what hardly ever calls, though its callee is known to be called in
 * so many words: it came back between the two copies. */
static bool is_stray(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                     const struct cairn_pyraw *callee)
{
    uint32_t instr;

    return !(unit_of(caller, caller->instr) & CAIRN_PYUNIT_CALL) &&
           cairn_pynotes_known(&ctx->calls, cairn_pynotes_key(caller), cairn_pynotes_key(callee),
                               &instr) &&
           unit_of(caller, instr) & CAIRN_PYUNIT_CALL;
}

/* Whether the caller stands elsewhere than where it calls the callee by its name, though such links
 * are made there: it came back, and went on, between the two copies. What C calls for it (a key
 * function, a method of a file) is called from elsewhere again and again. */
static int judge_line(struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                      const struct cairn_pyraw *callee, uint64_t site, bool *ret_odd)
{
    uint64_t key_a = LINE_KEY | cairn_pynotes_key(caller), key_b = cairn_pynotes_key(callee),
             known = 0, now;
    int code = 0;

    (void)cairn_map_get(&ctx->calls, key_a, key_b, &known);
    *ret_odd = site != caller->instr && known > 0;
    if (site == caller->instr)
        now = known + (known < LINE_MAX);
    else
        now = known > LINE_ODD ? known - LINE_ODD : 0;
    if (now != known)
        code = cairn_map_put(&ctx->calls, key_a, key_b, now);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

/* Whether it is the body of a module, or gone before it was read whole, and runs once: of what
 * calls it, or what it calls from each of its places, there is nothing that could be usual. Nor was
 * its frame another's before. */
static bool is_body(const struct cairn_pyraw *raw)
{
    static const char name[] = "<module>";

    return raw->entry->passed || !raw->entry->named ||
           (raw->entry->code.name.size_bytes == sizeof(name) - 1 &&
            memcmp(raw->entry->code.name.data, name, sizeof(name) - 1) == 0);
}

/* Counts what is called from the caller's place. *ret_rare: hardly ever the callee, as copies of
 * two moments show it that do not belong together. A function that takes its share of the time
 * there is seen as often as that. Where stacks were refused just now, nothing is believed the first
 * time, nor before it was seen about GAP_TIMES: at a place that is seldom met, one of two moments
 * that do not belong together would soon look usual. */
static int note_sighting(struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                         const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                         bool unnamed, bool *ret_rare)
{
    uint64_t key_a = SITE_KEY | cairn_pynotes_key(caller), place = caller->instr << 32;
    uint64_t key_b = place | cairn_pynotes_key(callee), total = 0, known = 0, gap, mean;
    uint64_t read = (kept->ticks * CAIRN_PYREAD_TRIES + kept->tries) & READ_MASK;
    bool passed = caller->entry->passed || callee->entry->passed, first;
    bool bodies = is_body(caller) || is_body(callee);
    bool restless = !bodies && cairn_pykept_is_restless(kept);
    bool handed = !bodies && unnamed && is_handed(kept, caller);
    int code;

    (void)cairn_map_get(&ctx->calls, key_a, place, &total);
    (void)cairn_map_get(&ctx->calls, key_a, key_b, &known);
    total++;
    gap = known ? (uint32_t)total - (known >> 32) : total;
    if (gap > GAP_MAX)
        gap = GAP_MAX;
    mean = known ? (3 * (known & MEAN_MASK) + gap) / 4 : gap;
    /* The same copies do not say so twice. */
    first = !known || (known & FIRST_BIT && (known >> READ_SHIFT & READ_MASK) == read);
    *ret_rare = (!passed && mean > GAP_RARE) ||
                (restless && (first || (mean > 1 && GAP_TIMES * mean > (uint32_t)total))) ||
                (handed && (first || GAP_TIMES * mean > (uint32_t)total));
    if (kept->later)
        return 0;
    code = cairn_map_put(&ctx->calls, key_a, key_b,
                         total << 32 | (first ? FIRST_BIT : 0) | read << READ_SHIFT | mean);
    if (code == 0)
        code = cairn_map_put(&ctx->calls, key_a, place, total);
    if (code == 0)
        return 0;
    *ret_rare = false; /* what cannot be counted is not seldom */
    return code == -CAIRN_ELIMIT ? 0 : code;
}

/* Whether such calls were seen to be made from there, and not hardly ever. */
static bool is_met(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                   const struct cairn_pyraw *callee, uint64_t instr)
{
    uint64_t known;

    return cairn_map_get(&ctx->calls, SITE_KEY | cairn_pynotes_key(caller),
                         instr << 32 | cairn_pynotes_key(callee), &known) &&
           !(known & FIRST_BIT) && (known & MEAN_MASK) <= GAP_RARE;
}

/* Whether much is called from where the caller stands, and hardly ever this. */
static bool is_seldom(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                      const struct cairn_pyraw *callee)
{
    uint64_t key_a = SITE_KEY | cairn_pynotes_key(caller), place = caller->instr << 32;
    uint64_t total = 0, known = GAP_MAX;

    (void)cairn_map_get(&ctx->calls, key_a, place, &total);
    (void)cairn_map_get(&ctx->calls, key_a, place | cairn_pynotes_key(callee), &known);
    return total > GAP_SELDOM && (known & MEAN_MASK) > GAP_SELDOM;
}

/* Whether a link that was over when it was copied is one that is hardly ever seen while it lasts.
 */
static bool is_rare(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                    const struct cairn_pyraw *callee)
{
    uint64_t key_a = SITE_KEY | cairn_pynotes_key(caller), place = caller->instr << 32;
    uint64_t total = 0, known;

    if (cairn_map_get(&ctx->calls, key_a, place | cairn_pynotes_key(callee), &known))
        return (known & MEAN_MASK) > GAP_RARE;
    (void)cairn_map_get(&ctx->calls, key_a, place, &total);
    return total > GAP_RARE;
}

/* A call that was over when it was copied counts as well, where one was seen that was not: of what
 * is called for a moment hardly any is. Its caller may have gone on since, to what C does for it,
 * so it counts only where nothing is called in so many words (an operator), and is believed only
 * where little else is called. */
static int note_over(struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                     const struct cairn_pyraw *caller, const struct cairn_pyraw *callee)
{
    uint64_t key_a = SITE_KEY | cairn_pynotes_key(caller), place = caller->instr << 32;
    uint64_t key_b = place | cairn_pynotes_key(callee), total = 0, known = 0, mean;
    bool ignored;

    if ((unit_of(caller, caller->instr) & (CAIRN_PYUNIT_CALLER | CAIRN_PYUNIT_CALL)) !=
            CAIRN_PYUNIT_CALLER ||
        !cairn_map_get(&ctx->calls, key_a, key_b, &known))
        return 0;
    CAIRN_TRY(note_sighting(ctx, kept, caller, callee, true, &ignored));
    (void)cairn_map_get(&ctx->calls, key_a, place, &total);
    (void)cairn_map_get(&ctx->calls, key_a, key_b, &known);
    mean = known & MEAN_MASK;
    if (known & FIRST_BIT || mean > GAP_USUAL || GAP_TIMES * mean > total)
        return 0;
    return note_call(ctx, caller, callee);
}

/* Whether a generator that stood at `copied` in its copy has the same resumer at `instr`. */
static bool has_same_resumer(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                             uint64_t instr, uint64_t copied)
{
    uint64_t key = cairn_pynotes_key(caller);
    uint32_t then, now;

    return instr == copied ||
           (cairn_pynotes_known(&ctx->calls, RESUMER_KEY | (uint32_t)copied, key, &then) &&
            cairn_pynotes_known(&ctx->calls, RESUMER_KEY | (uint32_t)instr, key, &now) &&
            then == now);
}

int cairn_pylinks_place(struct cairn_pycontext *ctx, struct cairn_pyraw *caller,
                        const struct cairn_pyraw *callee)
{
    struct cairn_pyraw there = *caller;
    uint64_t site;
    int named;

    if (!recall(ctx, &there, callee))
        return 0;
    named = cairn_pycodes_site(ctx->codes, caller->entry, callee->entry, caller->instr, &site);
    CAIRN_TRY(named);
    if (named)
        there.instr = site;
    if (!is_met(ctx, caller, callee, there.instr) ||
        (caller->generator && !has_same_resumer(ctx, caller, there.instr, caller->instr)))
        return 0;
    caller->instr = there.instr;
    return 1;
}

/* The caller stands where it called from now, and at `copied` in its copy. A generator may have
 * been resumed by another one in between (__enter__ and __exit__ of one manager), and what the
 * copies hold outside of it belongs to the one of them alone: at both places it must be the same.
 */
static int infer(struct cairn_pycontext *ctx, struct cairn_pyraw *caller, uint64_t copied,
                 enum cairn_pycheck *ret_check)
{
    if (caller->generator && !has_same_resumer(ctx, caller, caller->instr, copied)) {
        caller->instr = copied; /* what holds of a torn stack is as it was seen */
        return refuse(CAIRN_PYCHECK_GENERATOR, ret_check);
    }
    ctx->stats->inferred++;
    return 0;
}

int cairn_pylinks_judge(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                        struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                        enum cairn_pycheck *ret_check)
{
    const struct cairn_pytable *table = ctx->table;
    bool runs = cairn_pyframe_runs(table, callee), held = cairn_pyframe_runs(table, caller);
    bool hooked = cairn_pylinks_is_hooked(ctx, kept), odd = false, rare, settled, again;
    bool calls = !caller->entry->units || unit_of(caller, caller->instr) & CAIRN_PYUNIT_CALLER;
    /* A generator has a caller only while that is in the call that resumes it. */
    bool hangs = runs || (callee->generator && !is_lost(callee));
    uint64_t site = 0, copied = caller->instr;
    int named = find_site(ctx, kept, caller, callee, &site);

    CAIRN_TRY(named);
    CAIRN_TRY(note_resumer(ctx, kept, caller, callee));
    if (hangs && held && calls && named)
        CAIRN_TRY(judge_line(ctx, caller, callee, site, &odd));
    if (hangs && held && calls && !odd && !is_stray(ctx, caller, callee)) {
        CAIRN_TRY(note_sighting(ctx, kept, caller, callee, !named, &rare));
        if (!rare || hooked || (named && site == caller->instr) || kept->thread.still ||
            cairn_pykept_is_steady(kept, caller, callee, &again))
            return note_call(ctx, caller, callee);
        if (!named || !is_met(ctx, caller, callee, site) || !is_seldom(ctx, caller, callee))
            return refuse(CAIRN_PYCHECK_CALLER, ret_check);
    }
    if (runs && hooked)
        return 0;
    /* Of who stands still all copies are of one moment: what they say is so, odd as it looks. */
    if (kept->thread.still && !is_lost(callee)) {
        kept->thread.unchecked |= !runs || !held;
        return 0;
    }
    /* The link was over when it was copied: where did it call from? */
    if (named) {
        caller->instr = site;
        return infer(ctx, caller, copied, ret_check);
    }
    settled = is_settled(kept, caller) && is_settled(kept, callee);
    if (settled && !runs && held && !hooked && !callee->generator && !is_lost(callee))
        CAIRN_TRY(note_over(ctx, kept, caller, callee));
    if (settled && mend(ctx, caller, callee) && !is_rare(ctx, caller, callee))
        return infer(ctx, caller, copied, ret_check);
    if (runs && held && cairn_pykept_is_steady(kept, caller, callee, &again))
        return note_call(ctx, caller, callee);
    if (settled && !is_lost(callee) && step_back(caller) && !is_rare(ctx, caller, callee)) {
        CAIRN_TRY(infer(ctx, caller, copied, ret_check));
        return note_call(ctx, caller, callee);
    }
    if (settled && !is_lost(callee) && recall(ctx, caller, callee) && !is_rare(ctx, caller, callee))
        return infer(ctx, caller, copied, ret_check);
    if (hooked && !is_lost(callee))
        return 0;
    return refuse(held ? CAIRN_PYCHECK_CALLER : CAIRN_PYCHECK_STACKTOP, ret_check);
}

#include "pyresume.h"

#include <string.h>

#include "err.h"

#define SLOTS_MAX 56 /* of a frame's stack, that are looked at; a bit each */
#define SLOTS_MASK ((UINT64_C(1) << SLOTS_MAX) - 1)
#define LEARN_TIMES UINT64_C(4)
#define STRANGER_TIMES 3  /* so often at least … */
#define STRANGER_SHARE 16 /* … and one time in so many, it must be */
#define STRANGERS (UINT64_C(1) << 32)
#define CALLS (UINT64_C(1) << 33) /* by a generator, of the code of a number: … */
#define CALL_TIMES 2
#define CALLEE_SHIFT 34           /* … that stands above … */
#define RESTS (STRANGERS | CALLS) /* … and how often nothing lay on top of it there */
#define HOLDERS_MAX 128           /* of generators that were copied, that are looked through */
#define TOP_SLOTS 3               /* the generator, and what is passed to it or kept beside it */

/* The stack of a frame: what lies on it, and how much of it is in use, as far as that is known. */
struct slots {
    const uint8_t *data;
    uint32_t count, used;
    bool exact; /* `used` is known */
};

static uint64_t slot_at(const struct slots *slots, uint32_t at)
{
    uint64_t value;

    memcpy(&value, slots->data + (size_t)at * 8, sizeof(value));
    return value & ~CAIRN_PYSTACK_TAG_BITS;
}

/* False: the frame's stack was not copied, or its size is not known. */
static bool stack_of(const struct cairn_pyimage *image, const struct cairn_pycode_entry *entry,
                     const struct cairn_pyraw *raw, struct slots *ret_slots)
{
    uint32_t locals = entry ? entry->local_slots : 0;
    int32_t chunk = raw->chunk;
    const uint8_t *data;

    if (!entry || !entry->units || entry->stack_slots <= locals)
        return false;
    data = cairn_pyimage_at(image, raw->address, entry->frame_bytes, &chunk);
    if (!data)
        return false;
    ret_slots->data = data + image->layout->frame_size + (size_t)locals * 8;
    ret_slots->count = entry->stack_slots - locals;
    ret_slots->used = ret_slots->count;
    ret_slots->exact =
        raw->stacktop >= (int32_t)locals && (uint32_t)raw->stacktop <= entry->stack_slots;
    if (ret_slots->exact)
        ret_slots->used = (uint32_t)raw->stacktop - locals;
    return true;
}

/* One bit for each slot that holds the generator. */
static uint64_t held_in(const struct slots *slots, uint64_t object)
{
    uint64_t mask = 0;

    for (uint32_t at = 0; at < slots->used && at < SLOTS_MAX; at++)
        if (slot_at(slots, at) == object)
            mask |= UINT64_C(1) << at;
    return mask;
}

static bool is_on_top(const struct slots *slots, uint64_t object)
{
    for (uint32_t i = 1; i <= TOP_SLOTS && i <= slots->used; i++)
        if (slot_at(slots, slots->used - i) == object)
            return true;
    return false;
}

static int refuse(enum cairn_pycheck check, enum cairn_pycheck *ret_check)
{
    *ret_check = check;
    return -CAIRN_EDAMAGED;
}

/* What was copied of a frame of the data stack after all others; NULL: it was not. */
static const uint8_t *copied_after(const struct cairn_pyimage *image, const struct cairn_pyraw *raw)
{
    size_t at = cairn_pypieces_find(image->after, image->after_count, raw->address);

    while (at < image->after_count && image->after[at].address < raw->address)
        at++;
    return at < image->after_count && image->after[at].address == raw->address
               ? image->after[at].data
               : NULL;
}

static bool is_same_after(const struct cairn_pyimage *image, const struct cairn_pyraw *raw,
                          const uint8_t *data)
{
    struct cairn_pyraw after;

    cairn_pystack_decode(image->layout, raw->address, data, &after);
    return after.code == raw->code && after.previous == raw->previous;
}

/* Whether the frame was still there when the generators had been copied. */
static bool is_there_after(const struct cairn_pyimage *image, const struct cairn_pyraw *raw)
{
    const uint8_t *data = raw->chunk < 0 ? NULL : copied_after(image, raw);

    return raw->chunk < 0 /* a generator itself, copied with the others */ ||
           (data && is_same_after(image, raw, data));
}

bool cairn_pyresume_stays(const struct cairn_pyimage *image, const struct cairn_pyraw *callee)
{
    const uint8_t *data = callee->chunk < 0 ? NULL : copied_after(image, callee);

    return !data || is_same_after(image, callee, data);
}

bool cairn_pyresume_is_relinked(const struct cairn_pyimage *image, const struct cairn_pyraw *callee)
{
    const uint8_t *data = callee->chunk < 0 ? NULL : copied_after(image, callee);
    struct cairn_pyraw after;

    if (!data || !cairn_pylayout_has(image->layout->frame_is_entry))
        return false;
    cairn_pystack_decode(image->layout, callee->address, data, &after);
    return after.code == callee->code && after.previous != callee->previous;
}

/* A generator's call of a frame of the data stack, without C: the numbers of their code, and where
 * the generator stands. False: it is none, or not known. */
static bool call_of(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                    const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                    uint32_t *ret_from, uint32_t *ret_to, int32_t *ret_offset)
{
    const struct cairn_pycode_entry *from, *to;

    if (!caller->generator || callee->chunk < 0 || callee->entered)
        return false;
    from = cairn_pycodes_find(codes, caller->code);
    to = cairn_pycodes_find(codes, callee->code);
    if (!from || !to || !cairn_pystack_offset(image, from, caller->instr, ret_offset) ||
        *ret_offset < 0)
        return false;
    *ret_from = from->code.number;
    *ret_to = to->code.number;
    return true;
}

/* Whether the frame, of the data stack, was there behind all others, and not over. One that a trace
 * function was called from looks as if it were: but what runs on top of it did not let it go on. */
static bool is_alive_after(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                           const struct cairn_pyraw *raw, bool innermost)
{
    const uint8_t *data = copied_after(image, raw);
    struct cairn_pyraw after;

    if (!data || !is_same_after(image, raw, data))
        return false;
    cairn_pystack_decode(image->layout, raw->address, data, &after);
    return cairn_pystack_lives(image, codes, &after) ||
           (!innermost && after.instr == raw->instr && after.stacktop == raw->stacktop);
}

bool cairn_pyresume_is_known(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                             const struct cairn_pyraw *caller, const struct cairn_pyraw *callee)
{
    uint64_t ignored;
    uint32_t from, to;
    int32_t offset;

    return !call_of(image, codes, caller, callee, &from, &to, &offset) ||
           cairn_map_get(&codes->called, from, to, &ignored);
}

static uint64_t count_up(struct cairn_pycodes *codes, uint32_t number, uint64_t place, int *code)
{
    uint64_t count = 0;

    cairn_map_get(&codes->counts, number, place, &count);
    *code = cairn_map_put(&codes->counts, number, place, ++count);
    return count;
}

/* Nobody saw the callee alive behind the copy of its caller. So it mostly is where calls are short;
 * where it is so once in a while, and the generator mostly has nothing on top of it, the copies are
 * of two moments. */
static int judge_unsure(struct cairn_pycodes *codes, uint32_t from, uint32_t to, int32_t offset,
                        enum cairn_pycheck *ret_check)
{
    uint64_t rests = 0, hits;
    int code;

    hits = count_up(codes, from, (uint64_t)to << CALLEE_SHIFT | CALLS | (uint32_t)offset, &code);
    if (code < 0)
        return code == -CAIRN_ELIMIT ? 0 : code;
    cairn_map_get(&codes->counts, from, RESTS | (uint32_t)offset, &rests);
    if (hits < CALL_TIMES || hits * STRANGER_SHARE < rests)
        return refuse(CAIRN_PYCHECK_AFTER, ret_check);
    return 0;
}

int cairn_pyresume_judge_callee(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                                const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                                bool innermost, enum cairn_pycheck *ret_check)
{
    uint64_t ignored;
    uint32_t from, to;
    int32_t offset;
    int code;

    if (!call_of(image, codes, caller, callee, &from, &to, &offset) ||
        cairn_map_get(&codes->called, from, to, &ignored))
        return 0;
    if (!is_alive_after(image, codes, callee, innermost))
        return judge_unsure(codes, from, to, offset, ret_check);
    code = cairn_map_put(&codes->called, from, to, 1);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

/* Nothing holds the generator where something should. So it is at calls that were given what holds
 * it in turn, and then again and again; where it is so once in a while, and the frame mostly has
 * nothing on top of it, the copies are of two moments. */
static int judge_stranger(struct cairn_pycodes *codes, uint32_t number, uint64_t offset,
                          enum cairn_pycheck *ret_check)
{
    uint64_t rests = 0, hits;
    int code;

    hits = count_up(codes, number, offset | STRANGERS, &code);
    CAIRN_TRY(code);
    cairn_map_get(&codes->counts, number, offset, &rests);
    if (hits < STRANGER_TIMES || hits * STRANGER_SHARE < rests)
        return refuse(CAIRN_PYCHECK_RESUMER, ret_check);
    return 0; /* not for good: what a few early hits seemed to say must go on to be so */
}

/* A call of C holds what it was given in the same slot every time. Which one that is, the first
 * times tell. */
static int judge_call(struct cairn_pycodes *codes, const struct cairn_pycode_entry *entry,
                      int32_t offset, uint64_t mask, enum cairn_pycheck *ret_check)
{
    uint64_t known = SLOTS_MASK, times;

    cairn_map_get(&codes->holds, entry->code.number, (uint64_t)offset, &known);
    times = known >> SLOTS_MAX;
    known &= SLOTS_MASK;
    if (times == LEARN_TIMES && !known)
        return 0;
    if (!(known & mask))
        return times == LEARN_TIMES
                   ? refuse(CAIRN_PYCHECK_RESUMER, ret_check)
                   : judge_stranger(codes, entry->code.number, (uint64_t)offset, ret_check);
    times += times < LEARN_TIMES;
    return cairn_map_put(&codes->holds, entry->code.number, (uint64_t)offset,
                         (known & mask) | times << SLOTS_MAX);
}

int cairn_pyresume_judge(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                         const struct cairn_pyraw *resumer, const struct cairn_pyraw *generator,
                         enum cairn_pycheck *ret_check)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, resumer->code);
    uint64_t object = generator->address - image->layout->gen_frame;
    struct slots slots;
    int32_t offset, chunk = resumer->chunk;

    if (!is_there_after(image, resumer))
        return refuse(CAIRN_PYCHECK_AFTER, ret_check);
    if (entry && entry->units && resumer->chunk >= 0 &&
        !cairn_pyimage_at(image, resumer->address, entry->frame_bytes, &chunk))
        return refuse(CAIRN_PYCHECK_RESUMER, ret_check); /* not all of it was copied */
    if (!cairn_pylayout_has(image->layout->gen_frame) || !stack_of(image, entry, resumer, &slots) ||
        !cairn_pystack_offset(image, entry, resumer->instr, &offset) || offset < 0)
        return 0;
    /* A frame that stands where nothing is called resumed nothing. */
    if (generator->entered && resumer->chunk >= 0 &&
        !(entry->units[offset / 2] & CAIRN_PYUNIT_CALLER))
        return refuse(CAIRN_PYCHECK_RESUMER, ret_check);
    if (!generator->entered && slots.exact)
        return is_on_top(&slots, object) ? 0 : refuse(CAIRN_PYCHECK_RESUMER, ret_check);
    return judge_call(codes, entry, offset, held_in(&slots, object), ret_check);
}

int cairn_pyresume_rests(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                         const struct cairn_pyraw *leaf)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, leaf->code);
    int32_t offset;
    int code;

    if (!entry || !entry->units || (leaf->chunk < 0 && !leaf->generator) ||
        !cairn_pystack_offset(image, entry, leaf->instr, &offset) || offset < 0 ||
        !(entry->units[offset / 2] & CAIRN_PYUNIT_CALLER))
        return 0;
    count_up(codes, entry->code.number, (uint64_t)offset | (leaf->generator ? RESTS : 0), &code);
    return code == -CAIRN_ELIMIT ? 0 : code; /* what is not counted is believed the sooner */
}

int cairn_pyresume_believe(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                           const struct cairn_pyraw *resumer)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, resumer->code);
    int32_t offset;

    uint64_t rests = 0, hits;
    int code;

    if (!entry || !cairn_pystack_offset(image, entry, resumer->instr, &offset) || offset < 0)
        return 0;
    /* A frame that mostly has nothing on top of it there was met by copies of two moments. */
    hits = count_up(codes, entry->code.number, (uint64_t)offset | STRANGERS, &code);
    CAIRN_TRY(code);
    cairn_map_get(&codes->counts, entry->code.number, (uint64_t)offset, &rests);
    if (hits * STRANGER_SHARE < rests)
        return 0;
    return cairn_map_put(&codes->holds, entry->code.number, (uint64_t)offset,
                         LEARN_TIMES << SLOTS_MAX);
}

bool cairn_pyresume_next(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pyraw *resumer, struct cairn_pyraw *ret_raw)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, resumer->code);
    struct slots slots;
    int32_t offset;

    if (!cairn_pylayout_has(image->layout->gen_frame) || !entry ||
        !stack_of(image, entry, resumer, &slots) || !is_there_after(image, resumer) ||
        !cairn_pystack_offset(image, entry, resumer->instr, &offset) || offset < 0 ||
        !(entry->units[offset / 2] & CAIRN_PYUNIT_RESUMES))
        return false;
    for (uint32_t i = 1; slots.exact && i <= TOP_SLOTS && i <= slots.used; i++) {
        uint64_t object = slot_at(&slots, slots.used - i);
        struct cairn_pyraw raw = {.chunk = -1};
        enum cairn_pycheck ignored;
        bool entry_frame;

        if (object &&
            cairn_pystack_frame(image, object + image->layout->gen_frame, &raw, &entry_frame,
                                &ignored) == 0 &&
            raw.generator && raw.state == image->table->executing &&
            raw.previous == resumer->address && cairn_pycodes_find(codes, raw.code)) {
            *ret_raw = raw;
            return true;
        }
    }
    return false;
}

bool cairn_pyresume_holds(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                          const struct cairn_pyraw *resumer, const struct cairn_pyraw *generator)
{
    struct slots slots;

    return cairn_pylayout_has(image->layout->gen_frame) &&
           stack_of(image, cairn_pycodes_find(codes, resumer->code), resumer, &slots) &&
           held_in(&slots, generator->address - image->layout->gen_frame) != 0;
}

bool cairn_pyresume_holder(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                           const struct cairn_pyraw *generator, struct cairn_pyraw *ret_raw)
{
    struct cairn_pyimage quiet = *image; /* to look is not to go through it */
    uint64_t object = generator->address - image->layout->gen_frame;
    struct slots slots;

    quiet.used = NULL;
    if (!cairn_pylayout_has(image->layout->gen_frame) || !generator->address)
        return false;
    for (size_t i = 0; i < quiet.other_count && i < HOLDERS_MAX; i++) {
        uint64_t address = quiet.others[i].address + CAIRN_PYSTACK_LEAD_BYTES;
        struct cairn_pyraw raw = {.chunk = -1};
        enum cairn_pycheck ignored;
        bool entry_frame;

        if (address == generator->address ||
            cairn_pystack_frame(&quiet, address, &raw, &entry_frame, &ignored) < 0 ||
            !raw.generator || !stack_of(&quiet, cairn_pycodes_find(codes, raw.code), &raw, &slots))
            continue;
        if (slots.exact ? is_on_top(&slots, object) : held_in(&slots, object) != 0) {
            *ret_raw = raw;
            return true;
        }
    }
    return false;
}

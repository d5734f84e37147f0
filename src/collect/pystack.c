#include "pystack.h"

#include <string.h>

#include "err.h"
#include "pybump.h"
#include "pyresume.h"
#include "pyseen.h"

#define OWNER_THREAD 0
#define OWNER_FRAME_OBJECT 2 /* the call is over: an object keeps what is left of it */
#define OWNER_INTERPRETER 3  /* this and above: no Python frame */

#define ENTRY_CODE_BYTES 8 /* of the code of entry frames: a few instructions */

#define NO_STACKTOP INT32_MIN

#define ANYBODY UINT64_MAX /* in the place of the caller's number */
/* What C was seen to call so often, and not once among so many calls: what is rarer may be one
 * stack that was made of two moments, and would be made ever again. */
#define ENTERED_TIMES 3
#define ENTERED_SHARE 64

const char *cairn_pycheck_name(size_t check)
{
    static const char *const names[CAIRN_PYCHECK_COUNT] = {
        "moved",    "align", "owner",     "hops",    "root",   "code",    "instr", "caller",
        "stacktop", "bump",  "generator", "yielded", "unborn", "resumer", "after", "entry",
    };

    return check < CAIRN_PYCHECK_COUNT ? names[check] : NULL;
}

static const uint8_t *piece_at(const struct cairn_pypiece *piece, uint64_t address,
                               size_t size_bytes)
{
    uint64_t offset = address - piece->address;

    if (!piece->data || address < piece->address || offset > piece->size_bytes ||
        size_bytes > piece->size_bytes - offset)
        return NULL;
    return piece->data + offset;
}

static bool in_chunk(const struct cairn_pychunk *chunk, uint64_t address)
{
    return address >= chunk->address && address - chunk->address < chunk->size_bytes;
}

bool cairn_pyimage_has_chunk(const struct cairn_pyimage *image, uint64_t address)
{
    size_t i = 0;

    while (i < image->chunk_count && !in_chunk(&image->chunks[i], address))
        i++;
    return i < image->chunk_count;
}

size_t cairn_pypieces_find(const struct cairn_pypiece *pieces, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pieces[middle].address + pieces[middle].size_bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const uint8_t *other_at(const struct cairn_pyimage *image, uint64_t address,
                               size_t size_bytes, int32_t *ret_chunk)
{
    size_t at = cairn_pypieces_find(image->others, image->other_count, address);

    *ret_chunk = -1;
    for (; at < image->other_count && image->others[at].address <= address; at++) {
        const uint8_t *data = piece_at(&image->others[at], address, size_bytes);

        if (!data)
            continue;
        if (image->used)
            image->used[at] = true;
        *ret_chunk = -1 - (int32_t)at;
        return data;
    }
    return NULL;
}

const uint8_t *cairn_pyimage_at(const struct cairn_pyimage *image, uint64_t address,
                                size_t size_bytes, int32_t *ret_chunk)
{
    /* Most frames lie where the last one did. */
    if (*ret_chunk >= 0 && in_chunk(&image->chunks[*ret_chunk], address))
        return piece_at(&image->chunks[*ret_chunk].piece, address, size_bytes);
    for (size_t i = image->chunk_count; i-- > 0;) {
        if (in_chunk(&image->chunks[i], address)) {
            *ret_chunk = (int32_t)i;
            return piece_at(&image->chunks[i].piece, address, size_bytes);
        }
    }
    return other_at(image, address, size_bytes, ret_chunk);
}

static uint64_t u64_at(const uint8_t *data, uint32_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

static int refuse(enum cairn_pycheck check, enum cairn_pycheck *ret_check)
{
    *ret_check = check;
    return -CAIRN_EDAMAGED;
}

/* A generator's state stands in front of its frame. */
static int8_t generator_state(const struct cairn_pyimage *image, uint64_t address, int32_t chunk)
{
    const struct cairn_pylayout *l = image->layout;
    const uint8_t *data = NULL;

    if (cairn_pylayout_has(l->gen_frame) && cairn_pylayout_has(l->gen_state))
        data = cairn_pyimage_at(image, address - l->gen_frame + l->gen_state, 1, &chunk);
    return data ? (int8_t)*data : (int8_t)image->table->executing;
}

static int32_t slots_in_use(uint64_t first, uint64_t top)
{
    uint64_t bytes = top - first;

    return bytes % 8 == 0 && bytes / 8 <= INT32_MAX ? (int32_t)(bytes / 8) : NO_STACKTOP;
}

/* Each member is put where it stays: what is read as a whole just after it was written in parts
 * makes the processor wait, which at 200 frames was a fifth of a sample. */
void cairn_pystack_decode(const struct cairn_pylayout *l, uint64_t address, const uint8_t *data,
                          struct cairn_pyraw *ret_raw)
{
    *ret_raw = (struct cairn_pyraw){.address = address, .stacktop = NO_STACKTOP};
    ret_raw->previous = u64_at(data, l->frame_previous);
    ret_raw->code = u64_at(data, l->frame_code) & ~CAIRN_PYSTACK_TAG_BITS;
    ret_raw->instr = u64_at(data, l->frame_instr);
    if (cairn_pylayout_has(l->frame_stacktop))
        memcpy(&ret_raw->stacktop, data + l->frame_stacktop, sizeof(ret_raw->stacktop));
    if (cairn_pylayout_has(l->frame_stackpointer))
        ret_raw->stacktop =
            slots_in_use(address + l->frame_size, u64_at(data, l->frame_stackpointer));
    if (cairn_pylayout_has(l->frame_is_entry))
        ret_raw->entered = data[l->frame_is_entry] != 0;
}

int cairn_pystack_frame(const struct cairn_pyimage *image, uint64_t address,
                        struct cairn_pyraw *ret_raw, bool *ret_entry, enum cairn_pycheck *ret_check)
{
    const struct cairn_pylayout *l = image->layout;
    int32_t chunk = ret_raw->chunk;
    const uint8_t *data;
    uint8_t owner;

    if (address % 8 != 0)
        return refuse(CAIRN_PYCHECK_ALIGN, ret_check);
    data = cairn_pyimage_at(image, address, l->frame_size, &chunk);
    if (!data)
        return -CAIRN_ENOTFOUND;
    owner = data[l->frame_owner];
    *ret_entry = owner >= OWNER_INTERPRETER;
    if (owner > OWNER_INTERPRETER + 1 || owner == OWNER_FRAME_OBJECT ||
        (chunk >= 0) != (owner == OWNER_THREAD))
        return refuse(CAIRN_PYCHECK_OWNER, ret_check);
    cairn_pystack_decode(l, address, data, ret_raw);
    ret_raw->chunk = chunk;
    if (owner == CAIRN_PYSTACK_OWNER_GENERATOR) {
        ret_raw->generator = true;
        ret_raw->state = generator_state(image, address, chunk);
    }
    return 0;
}

/* One that is being left has gone on by an instruction or two, and was the same entry before. */
static bool lies_near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= ENTRY_CODE_BYTES;
}

/* Counts what each says: whatever lay there by chance is outvoted. */
static bool is_where_entries_are(struct cairn_pyentries *entries, uint64_t instr)
{
    if (!entries)
        return true;
    if (!entries->lead)
        entries->instr = instr;
    if (!lies_near(entries->instr, instr))
        entries->lead--;
    else if (entries->lead < UINT32_MAX)
        entries->lead++;
    return lies_near(entries->instr, instr);
}

/* While greenlet (3.12 on) takes one stack in exchange for another, the frames of the one that
 * rests are linked to each other without what lies between them on the C stack, which goes. */
static bool is_shown_by_greenlet(const struct cairn_pyimage *image, const struct cairn_pyraw *root)
{
    return image->chunk_count && !root->previous && root->address == cairn_pyimage_first(image);
}

/* Where chains end: at the root, no frame above; from 3.12 on that is an entry frame, from 3.15 on
 * the thread's base frame, before them a frame marked as one. */
static int check_end(const struct cairn_pyimage *image, const struct cairn_pyraws *raws,
                     bool last_was_entry, uint64_t end, enum cairn_pycheck *ret_check)
{
    bool known_end = last_was_entry || (image->base_frame && end == image->base_frame);
    bool marked = cairn_pylayout_has(image->layout->frame_is_entry);
    const struct cairn_pyraw *root;

    if (!raws->count)
        return 0;
    root = &raws->items[raws->count - 1];
    if (marked ? !root->entered : !known_end && !is_shown_by_greenlet(image, root))
        return refuse(CAIRN_PYCHECK_ROOT, ret_check);
    return 0;
}

int cairn_pystack_walk(const struct cairn_pyimage *image, struct cairn_pyraws *raws,
                       size_t max_frames, uint64_t *ret_missing, enum cairn_pycheck *ret_check)
{
    uint64_t address = image->current_frame, mark = 0;
    struct cairn_pyraw beyond;
    int32_t chunk = -1;
    bool entry = false;
    size_t hops = 0, next_mark = 1;

    raws->count = 0;
    while (address && address != image->base_frame) {
        struct cairn_pyraw *raw = raws->count < max_frames ? &raws->items[raws->count] : &beyond;
        int code;

        /* What is left of old frames may go in circles. */
        if (hops++ > 2 * max_frames || address == mark)
            return refuse(CAIRN_PYCHECK_HOPS, ret_check);
        if (hops == next_mark) {
            mark = address;
            next_mark *= 2;
        }
        raw->chunk = chunk; /* where the last one lay */
        code = cairn_pystack_frame(image, address, raw, &entry, ret_check);
        if (code == -CAIRN_ENOTFOUND)
            *ret_missing = address;
        if (code < 0)
            return code;
        chunk = raw->chunk;
        address = raw->previous;
        if (entry) {
            if (!is_where_entries_are(image->entries, raw->instr))
                return refuse(CAIRN_PYCHECK_ENTRY, ret_check);
            if (raws->count)
                raws->items[raws->count - 1].entered = true;
            continue;
        }
        if (raws->count == max_frames)
            return -CAIRN_ELIMIT;
        raws->count++;
    }
    return check_end(image, raws, entry, address, ret_check);
}

bool cairn_pystack_offset(const struct cairn_pyimage *image, const struct cairn_pycode_entry *entry,
                          uint64_t instr, int32_t *ret_offset)
{
    int64_t offset = (int64_t)(instr - entry->start);

    if (offset % 2 != 0 || offset < -2 || offset >= (int64_t)entry->unit_count * 2 ||
        offset > INT32_MAX)
        return false;
    /* Until 3.12 the instruction in front of the next one is named, by any of its units. */
    if (offset >= 0 && entry->units && !image->table->told)
        offset -= 2 * (entry->units[offset / 2] & CAIRN_PYUNIT_BACK);
    *ret_offset = offset < 0 ? -1 : (int32_t)offset;
    return true;
}

/* The unit that the frame stands at; NULL: not known, or outside of the code. */
static uint8_t *unit_of(const struct cairn_pycode_entry *entry, const struct cairn_pyraw *raw)
{
    int64_t unit = (int64_t)(raw->instr - entry->start) / 2;

    if (!entry->units || unit < 0 || unit >= entry->unit_count)
        return NULL;
    return &entry->units[unit];
}

/* 3.11 to 3.13 leave -1 while it runs; later the value is that of the last call. */
static bool is_suspended(const struct cairn_pyimage *image, const struct cairn_pycode_entry *entry,
                         const struct cairn_pyraw *raw)
{
    if (raw->stacktop == NO_STACKTOP || cairn_pylayout_has(image->layout->frame_stackpointer))
        return true;
    return raw->stacktop >= 0 && (uint32_t)raw->stacktop <= entry->stack_slots;
}

bool cairn_pystack_tells(const struct cairn_pylayout *layout)
{
    return cairn_pylayout_has(layout->frame_stacktop) &&
           !cairn_pylayout_has(layout->frame_stackpointer);
}

bool cairn_pystack_calls(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pyraw *raw, bool *ret_resumes)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, raw->code);
    const uint8_t *unit = entry ? unit_of(entry, raw) : NULL;

    if (!unit || !(*unit & CAIRN_PYUNIT_CALLER) || !is_suspended(image, entry, raw))
        return false;
    *ret_resumes = *unit & CAIRN_PYUNIT_RESUMES;
    return true;
}

bool cairn_pystack_lives(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pyraw *raw)
{
    bool ignored;

    if (!raw->code) /* taken away when it returns, from 3.14 on */
        return false;
    if (!cairn_pystack_tells(image->layout))
        return true;
    return raw->stacktop < 0 || cairn_pystack_calls(image, codes, raw, &ignored);
}

bool cairn_pystack_is_unborn(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                             const struct cairn_pyraw *raws, size_t index)
{
    const struct cairn_pyraw *raw = &raws[index];
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, raw->code);
    bool resumed = index > 0 && raws[index - 1].generator && image->table->told;
    int32_t offset;

    return (raw->entered || resumed) && raw->chunk >= 0 && raw->stacktop >= 0 &&
           cairn_pystack_tells(image->layout) && entry &&
           cairn_pystack_offset(image, entry, raw->instr, &offset) && offset <= 0;
}

/* A frame that was over when it was copied was called by whoever lay below it a moment before,
 * which may be over as well: it must be one that was seen to call it while it ran. */
static int judge_over(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                      const struct cairn_pycode_entry *caller, const struct cairn_pyraw *callee,
                      enum cairn_pycheck *ret_check)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, callee->code);
    uint64_t times;
    int code;

    if (!entry || callee->chunk < 0)
        return 0;
    if (cairn_map_get(&codes->entered, caller->code.number, entry->code.number, &times))
        return 0;
    if (!cairn_pystack_lives(image, codes, callee))
        return refuse(CAIRN_PYCHECK_CALLER, ret_check);
    code = cairn_map_put(&codes->entered, caller->code.number, entry->code.number, 0);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

static int count_entered(struct cairn_pycodes *codes, uint64_t caller, uint32_t callee)
{
    uint64_t times = 0;
    int code;

    (void)cairn_map_get(&codes->entered, caller, callee, &times);
    code = cairn_map_put(&codes->entered, caller, callee, times + 1);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

int cairn_pystack_note_entered(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                               const struct cairn_pyraws *raws, size_t from)
{
    for (size_t i = from ? from : 1; i < raws->count; i++) {
        const struct cairn_pyraw *callee = &raws->items[i];
        const struct cairn_pycode_entry *caller = cairn_pycodes_find(codes, callee[-1].code);
        const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, callee->code);

        if (!callee->entered || callee->chunk < 0 || !caller || caller->hidden || !entry ||
            !cairn_pystack_lives(image, codes, callee))
            continue;
        CAIRN_TRY(count_entered(codes, caller->code.number, entry->code.number));
        CAIRN_TRY(count_entered(codes, ANYBODY, entry->code.number));
    }
    return 0;
}

bool cairn_pystack_enters(const struct cairn_pycodes *codes,
                          const struct cairn_pycode_entry *caller,
                          const struct cairn_pycode_entry *callee)
{
    uint64_t times, all;

    return cairn_map_get(&codes->entered, caller->code.number, callee->code.number, &times) &&
           cairn_map_get(&codes->entered, ANYBODY, callee->code.number, &all) &&
           times >= ENTERED_TIMES && times >= all / ENTERED_SHARE;
}

/* C is called, and calls, from anywhere. But a frame that is being made still bears the caller of
 * the one that was there before it, which is not its own if a generator has been resumed since. */
static int judge_entered(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                         const struct cairn_pyraw *caller, const struct cairn_pycode_entry *entry,
                         const struct cairn_pyraw *callee, enum cairn_pycheck *ret_check)
{
    const uint8_t *unit = unit_of(entry, caller);
    bool resumes = caller->generator || (unit && *unit & CAIRN_PYUNIT_RESUMES);

    if (resumes ? !cairn_pyresume_stays(image, callee) : cairn_pyresume_is_relinked(image, callee))
        return refuse(CAIRN_PYCHECK_AFTER, ret_check);
    return judge_over(image, codes, entry, callee, ret_check);
}

/* A call that was over when the caller was copied, which had returned itself: its copy is of
 * another moment than the header, and does not speak against what the header led to. */
static bool was_made(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                     struct cairn_pyraw *caller, const struct cairn_pycode_entry *entry,
                     const struct cairn_pyraw *callee)
{
    const struct cairn_pycode_entry *called = cairn_pycodes_find(codes, callee->code);
    const uint8_t *unit = unit_of(entry, caller);
    uint32_t place;

    if (!cairn_pystack_tells(image->layout) || caller->chunk < 0 || callee->chunk < 0 || !called ||
        !unit || cairn_pystack_lives(image, codes, caller) ||
        !cairn_pyseen_before(codes, entry, (uint32_t)(unit - entry->units), called, &place))
        return false;
    caller->instr = entry->start + UINT64_C(2) * place;
    return true;
}

static int note_seen(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                     const struct cairn_pyraw *caller, const struct cairn_pycode_entry *entry,
                     const struct cairn_pyraw *callee)
{
    const struct cairn_pycode_entry *called = cairn_pycodes_find(codes, callee->code);

    if (!cairn_pystack_tells(image->layout) || caller->chunk < 0 || callee->chunk < 0 || !called ||
        !is_suspended(image, entry, caller) || !cairn_pystack_lives(image, codes, callee))
        return 0;
    return cairn_pyseen_note(codes, entry, (uint32_t)(unit_of(entry, caller) - entry->units),
                             called);
}

static int judge_caller(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                        struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                        bool innermost, enum cairn_pycheck *ret_check)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, caller->code);
    const uint8_t *unit;

    if (!entry || entry->hidden || !entry->units)
        return 0;
    unit = unit_of(entry, caller);
    if (callee->entered)
        return judge_entered(image, codes, caller, entry, callee, ret_check);
    CAIRN_TRY(cairn_pyresume_judge_callee(image, codes, caller, callee, innermost, ret_check));
    if (was_made(image, codes, caller, entry, callee))
        return 0;
    if (!unit || !(*unit & CAIRN_PYUNIT_CALLER))
        return refuse(CAIRN_PYCHECK_CALLER, ret_check);
    /* What resumes generators calls nothing else without C. */
    if (*unit & CAIRN_PYUNIT_RESUMES && !callee->generator)
        return refuse(CAIRN_PYCHECK_CALLER, ret_check);
    /* 3.13 leaves it out for generators. */
    if (!((caller->generator || callee->generator) && image->table->told) &&
        !(*unit & CAIRN_PYUNIT_LOOSE) && !is_suspended(image, entry, caller))
        return refuse(CAIRN_PYCHECK_STACKTOP, ret_check);
    return note_seen(image, codes, caller, entry, callee);
}

/* 3.11 unlinks a generator's frame only after its locals were cleared, which may run code. One
 * that was let go has nothing above it, and is no root. */
static bool generator_runs(const struct cairn_pyimage *image, const struct cairn_pyraw *raw)
{
    if (cairn_pylayout_has(image->layout->frame_is_entry) && raw->previous)
        return raw->state >= image->table->executing;
    return raw->state == image->table->executing;
}

int cairn_pystack_believe(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                          const struct cairn_pyraw *caller, enum cairn_pycheck check,
                          uint64_t now_ns)
{
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, caller->code);
    uint8_t *unit = entry ? unit_of(entry, caller) : NULL;
    bool often;

    if (!unit || !(*unit & CAIRN_PYUNIT_CALLER))
        return 0;
    CAIRN_TRY(cairn_pycodes_confirm(
        codes, entry, (uint32_t)(unit - entry->units) * 2 + (check == CAIRN_PYCHECK_STACKTOP),
        now_ns, &often));
    if (!often)
        return 0;
    if (check != CAIRN_PYCHECK_STACKTOP)
        return cairn_pyresume_believe(image, codes, caller);
    *unit |= CAIRN_PYUNIT_LOOSE;
    return 0;
}

/* One that is just being linked, or unlinked, looks like the end of the chain. It is that where C
 * alone runs it: then there is nothing on the data stack but what it called. */
static bool can_be_root(const struct cairn_pyimage *image, const struct cairn_pyraw *generator)
{
    struct cairn_pyraw first = {.chunk = -1};
    enum cairn_pycheck ignored;
    bool entry;

    if (!image->chunk_count || image->chunk_top == cairn_pyimage_first(image))
        return generator->entered;
    return cairn_pystack_frame(image, cairn_pyimage_first(image), &first, &entry, &ignored) == 0 &&
           first.previous == generator->address;
}

int cairn_pystack_judge(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                        struct cairn_pyraw *raws, size_t index, bool innermost,
                        enum cairn_pycheck *ret_check)
{
    const struct cairn_pyraw *raw = &raws[index];
    const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, raw->code);
    int32_t offset;

    if (!entry)
        return refuse(CAIRN_PYCHECK_CODE, ret_check);
    if (!cairn_pystack_offset(image, entry, raw->instr, &offset))
        return refuse(CAIRN_PYCHECK_INSTR, ret_check);
    if (raw->chunk >= 0 && !entry->hidden && offset < (int64_t)entry->first_unit * 2)
        return refuse(CAIRN_PYCHECK_UNBORN, ret_check);
    if (innermost && cairn_pystack_is_unborn(image, codes, raws, index))
        return refuse(CAIRN_PYCHECK_UNBORN, ret_check);
    if (raw->generator && index == 0 && !can_be_root(image, raw))
        return refuse(CAIRN_PYCHECK_ROOT, ret_check);
    if (raw->chunk >= 0 && !cairn_pybump_holds(image, codes, raws, index))
        return refuse(CAIRN_PYCHECK_BUMP, ret_check);
    if (index > 0)
        CAIRN_TRY(judge_caller(image, codes, &raws[index - 1], raw, innermost, ret_check));
    if (raw->generator && index > 0)
        CAIRN_TRY(cairn_pyresume_judge(image, codes, &raws[index - 1], raw, ret_check));
    /* One that yields is unlinked a moment after its state says so. */
    if (raw->generator && (!innermost || !raw->previous) && !generator_runs(image, raw))
        return refuse(raw->state >= image->table->suspended && raw->state < image->table->executing
                          ? CAIRN_PYCHECK_YIELDED
                          : CAIRN_PYCHECK_GENERATOR,
                      ret_check);
    return 0;
}

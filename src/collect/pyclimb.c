#include "pyclimb.h"

#include "err.h"
#include "pyresume.h"
#include "pyseen.h"

#define FOOTHOLDS_MAX 8 /* that are tried, before the first frame of all */

/* Whether the interpreter, or C, called the frame on behalf of `caller`, by what it says of that.
 * Who is called by C bears, from 3.12 on, the address of an entry frame on the C stack, which is of
 * another moment: whether it is one of the caller's, the counts must tell. Sets raw->entered. */
static bool was_called_by(const struct cairn_pyimage *image, const struct cairn_pyraw *caller,
                          struct cairn_pyraw *raw)
{
    if (raw->previous == caller->address)
        return true;
    raw->entered = true;
    return !cairn_pylayout_has(image->layout->frame_is_entry) &&
           !cairn_pyimage_has_chunk(image, raw->previous);
}

/* Whether the frame was on top of `caller` when that was copied, which waited for it then, though
 * it had returned when it was copied itself, a moment later. From one chunk to the next it may have
 * been copied before, and be another. */
static bool was_there(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                      const struct cairn_pyraw *caller, const struct cairn_pyraw *raw,
                      const struct cairn_pycode_entry *entry)
{
    const struct cairn_pycode_entry *from = cairn_pycodes_find(codes, caller->code);

    return cairn_pystack_tells(image->layout) && caller->chunk == raw->chunk && from &&
           cairn_pyseen_at(codes, from, (uint32_t)((caller->instr - from->start) / 2), entry);
}

/* The frame at `address`, if `caller` called it and its code is known. `calls`: as of
 * cairn_pystack_calls(). */
static bool is_callee(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                      uint64_t address, const struct cairn_pyraw *caller, bool calls,
                      struct cairn_pyraw *ret_raw, uint64_t *ret_code_address)
{
    struct cairn_pyraw raw = {.chunk = -1};
    const struct cairn_pycode_entry *entry, *from;
    enum cairn_pycheck ignored;
    int32_t offset;
    bool entry_frame;

    if (cairn_pystack_frame(image, address, &raw, &entry_frame, &ignored) < 0 || entry_frame ||
        raw.chunk < 0 || !raw.code || !was_called_by(image, caller, &raw) ||
        (!raw.entered && !calls))
        return false;
    entry = cairn_pycodes_find(codes, raw.code);
    if (!entry && !raw.entered)
        *ret_code_address = raw.code;
    /* One that was made to set up a generator is left as it was when that is done. */
    if (!entry || !cairn_pystack_offset(image, entry, raw.instr, &offset) ||
        offset < (int64_t)entry->first_unit * 2)
        return false;
    if (!cairn_pystack_lives(image, codes, &raw) &&
        (raw.entered || !was_there(image, codes, caller, &raw, entry)))
        return false;
    from = raw.entered ? cairn_pycodes_find(codes, caller->code) : NULL;
    if (raw.entered && (!from || !cairn_pystack_enters(codes, from, entry) ||
                        (caller->generator ? !cairn_pyresume_stays(image, &raw)
                                           : cairn_pyresume_is_relinked(image, &raw))))
        return false;
    *ret_raw = raw;
    return true;
}

uint64_t cairn_pystack_end(const struct cairn_pycodes *codes, const struct cairn_pyraws *raws,
                           int32_t *ret_chunk)
{
    const struct cairn_pyraw *last = &raws->items[raws->count - 1];
    const struct cairn_pycode_entry *entry;

    while (last > raws->items && last->chunk < 0)
        last--;
    *ret_chunk = last->chunk;
    entry = last->chunk < 0 ? NULL : cairn_pycodes_find(codes, last->code);
    return entry && entry->frame_bytes ? last->address + entry->frame_bytes : 0;
}

/* A callee lies where the last frame of the data stack ends, or first in the next chunk. */
static bool find_callee(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                        const struct cairn_pyraws *raws, bool calls, struct cairn_pyraw *ret_raw,
                        uint64_t *ret_code_address)
{
    const struct cairn_pyraw *caller = &raws->items[raws->count - 1];
    int32_t chunk;
    uint64_t end = cairn_pystack_end(codes, raws, &chunk);
    size_t next = (size_t)chunk + 1;

    if (!end)
        return false;
    if (is_callee(image, codes, end, caller, calls, ret_raw, ret_code_address))
        return true;
    return next < image->chunk_count &&
           is_callee(image, codes, image->chunks[next].address + image->layout->chunk_data, caller,
                     calls, ret_raw, ret_code_address);
}

bool cairn_pystack_is_short(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                            const struct cairn_pyraws *raws)
{
    int32_t chunk = -1;
    uint64_t end = raws->count ? cairn_pystack_end(codes, raws, &chunk) : 0;

    return end && (size_t)chunk + 1 == image->chunk_count && end < image->chunk_top &&
           !cairn_pyimage_at(image, end, image->layout->frame_size, &chunk);
}

int cairn_pystack_climb(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                        struct cairn_pyraws *raws, size_t max_frames, uint64_t *ret_code_address,
                        uint64_t *ret_again)
{
    enum cairn_pycheck ignored;

    *ret_code_address = *ret_again = 0;
    while (raws->count && raws->count < max_frames) {
        const struct cairn_pyraw *top = &raws->items[raws->count - 1];
        struct cairn_pyraw *next = &raws->items[raws->count];
        bool calls, resumes;
        int code;

        calls = cairn_pystack_calls(image, codes, top, &resumes);
        if (calls && resumes ? !cairn_pyresume_next(image, codes, top, next)
                             : !find_callee(image, codes, raws, calls, next, ret_code_address))
            return 0;
        code = cairn_pyresume_judge_callee(image, codes, top, next, true, &ignored);
        if (code == -CAIRN_EDAMAGED)
            *ret_again = next->address;
        if (code < 0)
            return code == -CAIRN_EDAMAGED ? 0 : code;
        raws->count++;
    }
    return 0;
}

/* Of the *within outermost frames; *within: how many there are outside of it; SIZE_MAX: it is the
 * first of the first chunk. 0: there is none. */
static uint64_t find_foothold(const struct cairn_pyimage *image, const struct cairn_pyraws *good,
                              size_t *within)
{
    size_t most = *within;
    uint64_t address = 0;

    *within = SIZE_MAX;
    for (size_t i = 0; i < good->count && i < most; i++) {
        const struct cairn_pyraw *old = &good->items[i];
        struct cairn_pyraw raw = {.chunk = -1};
        enum cairn_pycheck ignored;
        bool entry_frame;

        if (cairn_pystack_frame(image, old->address, &raw, &entry_frame, &ignored) < 0 ||
            entry_frame || raw.code != old->code || raw.previous != old->previous)
            break;
        if (raw.chunk < 0) /* a generator stays where it is when it has yielded */
            continue;
        address = old->address;
        *within = i;
    }
    if (!address && image->chunk_count && image->chunks[0].piece.data)
        address = cairn_pyimage_first(image);
    return address;
}

int cairn_pystack_walk_foothold(struct cairn_pyimage *image, const struct cairn_pyraws *good,
                                bool last, struct cairn_pyraws *raws, size_t max_frames,
                                uint64_t *ret_missing, enum cairn_pycheck *ret_check)
{
    size_t within = good->count;
    int code = -CAIRN_EDAMAGED;

    *ret_check = CAIRN_PYCHECK_ROOT;
    /* What is over may lie as it did, while where C called it from is another call's by now. */
    for (int i = 0; code == -CAIRN_EDAMAGED && within != SIZE_MAX; i++) {
        if (i == FOOTHOLDS_MAX)
            within = 0;
        image->current_frame = find_foothold(image, good, &within);
        if (!image->current_frame)
            break;
        code = cairn_pystack_walk(image, raws, max_frames, ret_missing, ret_check);
        if (code == -CAIRN_ENOTFOUND && last)
            code = -CAIRN_EDAMAGED;
        /* Whatever it went through leads there as well. */
        while (code == -CAIRN_EDAMAGED && within != SIZE_MAX && within > 0 && raws->count > 0 &&
               good->items[within].address != raws->items[raws->count - 1].address)
            within--;
    }
    return code;
}

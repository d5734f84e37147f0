#include "pyclimb.h"

#include "err.h"
#include "pyresume.h"

/* The frame at `address`, if `caller` called it and its code is known. */
static bool is_callee(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                      uint64_t address, const struct cairn_pyraw *caller,
                      struct cairn_pyraw *ret_raw, uint64_t *ret_code_address)
{
    struct cairn_pyraw raw = {.chunk = -1};
    const struct cairn_pycode_entry *entry;
    enum cairn_pycheck ignored;
    int32_t offset;
    bool entry_frame;

    if (cairn_pystack_frame(image, address, &raw, &entry_frame, &ignored) < 0 || entry_frame ||
        raw.chunk < 0 || raw.entered || raw.previous != caller->address || !raw.code)
        return false;
    entry = cairn_pycodes_find(codes, raw.code);
    if (!entry)
        *ret_code_address = raw.code;
    /* One that was made to set up a generator is left as it was when that is done. */
    if (!entry || !cairn_pystack_offset(image, entry, raw.instr, &offset) ||
        offset < (int64_t)entry->first_unit * 2 || !cairn_pystack_lives(image, codes, &raw))
        return false;
    *ret_raw = raw;
    return true;
}

/* A callee lies where the last frame of the data stack ends, or first in the next chunk. */
static bool find_callee(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                        const struct cairn_pyraws *raws, struct cairn_pyraw *ret_raw,
                        uint64_t *ret_code_address)
{
    const struct cairn_pyraw *caller = &raws->items[raws->count - 1], *last = caller;
    const struct cairn_pycode_entry *entry;
    size_t next;

    while (last > raws->items && last->chunk < 0)
        last--;
    entry = cairn_pycodes_find(codes, last->code);
    if (last->chunk < 0 || !entry || !entry->frame_bytes)
        return false;
    if (is_callee(image, codes, last->address + entry->frame_bytes, caller, ret_raw,
                  ret_code_address))
        return true;
    next = (size_t)last->chunk + 1;
    return next < image->chunk_count &&
           is_callee(image, codes, image->chunks[next].address + image->layout->chunk_data, caller,
                     ret_raw, ret_code_address);
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
        bool resumes;
        int code;

        if (!cairn_pystack_calls(image, codes, top, &resumes))
            return 0;
        if (resumes ? !cairn_pyresume_next(image, codes, top, next)
                    : !find_callee(image, codes, raws, next, ret_code_address))
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

uint64_t cairn_pystack_foothold(const struct cairn_pyimage *image, const struct cairn_pyraws *good)
{
    uint64_t address = 0;

    for (size_t i = 0; i < good->count; i++) {
        const struct cairn_pyraw *old = &good->items[i];
        struct cairn_pyraw raw = {.chunk = -1};
        enum cairn_pycheck ignored;
        bool entry_frame;

        if (cairn_pystack_frame(image, old->address, &raw, &entry_frame, &ignored) < 0 ||
            entry_frame || raw.code != old->code || raw.previous != old->previous)
            break;
        if (raw.chunk >= 0) /* a generator stays where it is when it has yielded */
            address = old->address;
    }
    if (!address && image->chunk_count && image->chunks[0].piece.data)
        address = cairn_pyimage_first(image);
    return address;
}

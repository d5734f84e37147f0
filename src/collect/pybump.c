#include "pybump.h"

#define RETURNING_MAX 8 /* in a row: each has something taken down as it is taken down */

/* Nothing is left on the stack of a frame while its variables are taken down, from 3.13 on. */
static bool is_returning(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pycode_entry *entry, const struct cairn_pyraw *raw)
{
    return (raw->stacktop >= 0 && (uint32_t)raw->stacktop < entry->local_slots) ||
           (cairn_pystack_tells(image->layout) && !cairn_pystack_lives(image, codes, raw));
}

/* The frame at `address` of the chunk, if one of frames `from` to `index` - 1 of `raws` called it,
 * itself or by C, from which C called the next one: that runs while this is taken down. Nobody
 * called what lies in front of the first frame of all. */
static bool find_called(const struct cairn_pyimage *image, const struct cairn_pyraw *raws,
                        size_t from, size_t index, uint64_t address, struct cairn_pyraw *ret_raw)
{
    struct cairn_pyraw entry = {.chunk = -1};
    enum cairn_pycheck ignored;
    uint64_t by;
    bool entry_frame;

    *ret_raw = (struct cairn_pyraw){.chunk = raws[index].chunk};
    if (cairn_pystack_frame(image, address, ret_raw, &entry_frame, &ignored) < 0 || entry_frame ||
        ret_raw->chunk != raws[index].chunk || !ret_raw->code)
        return false;
    by = ret_raw->previous;
    if (by && cairn_pystack_frame(image, by, &entry, &entry_frame, &ignored) == 0 && entry_frame)
        by = entry.previous;
    if (index == 0)
        return by == 0;
    while (from < index && !(raws[from + 1].entered && raws[from].address == by))
        from++;
    return from < index;
}

/* Where the frame `index` lies that is reached from `address` over frames that have returned: while
 * what they had is taken down whoever called them is current again, and what is run for it lies
 * behind them. *ret_unknown: code that must be known to tell, or 0. */
static bool lies_behind(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                        const struct cairn_pyraw *raws, size_t from, size_t index, uint64_t address,
                        uint64_t *ret_unknown)
{
    *ret_unknown = 0;
    for (int i = 0; i < RETURNING_MAX && raws[index].address > address; i++) {
        const struct cairn_pycode_entry *entry;
        struct cairn_pyraw raw;

        if (!find_called(image, raws, from, index, address, &raw))
            return false;
        entry = cairn_pycodes_find(codes, raw.code);
        if (!entry)
            *ret_unknown = raw.code;
        if (!entry || !entry->frame_bytes || !is_returning(image, codes, entry, &raw))
            return false;
        address += entry->frame_bytes;
    }
    return raws[index].address == address;
}

/* The innermost frame on the data stack outside of frame `index`; `index`: there is none. */
static size_t outer_of(const struct cairn_pyraw *raws, size_t index)
{
    size_t outer = index;

    while (outer > 0 && raws[outer - 1].chunk < 0)
        outer--;
    return outer > 0 ? outer - 1 : index;
}

static bool holds(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                  const struct cairn_pyraw *raws, size_t index, uint64_t *ret_unknown)
{
    const struct cairn_pylayout *l = image->layout;
    const struct cairn_pyraw *raw = &raws[index];
    size_t outer = outer_of(raws, index);
    int32_t before = outer < index ? raws[outer].chunk : -1;
    const struct cairn_pycode_entry *entry;
    uint64_t address = raw->chunk == 0 ? cairn_pyimage_first(image)
                                       : image->chunks[raw->chunk].address + l->chunk_data;

    *ret_unknown = 0;
    if (outer == index && image->cut)
        return true;
    if (before != raw->chunk && before != raw->chunk - 1)
        return false;
    if (before == raw->chunk) {
        entry = cairn_pycodes_find(codes, raws[outer].code);
        if (!entry || !entry->frame_bytes)
            return true;
        address = raws[outer].address + entry->frame_bytes;
    }
    return lies_behind(image, codes, raws, outer < index ? outer : 0, index, address, ret_unknown);
}

bool cairn_pybump_holds(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                        const struct cairn_pyraw *raws, size_t index)
{
    uint64_t ignored;

    return holds(image, codes, raws, index, &ignored);
}

uint64_t cairn_pybump_unknown(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                              const struct cairn_pyraw *raws, size_t index)
{
    uint64_t unknown;

    return raws[index].chunk >= 0 && !holds(image, codes, raws, index, &unknown) ? unknown : 0;
}

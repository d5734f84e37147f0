/* Until 3.10: the names that code calls by, asked for when somebody wants to know where it does. */
#include "err.h"
#include "pycode.h"

#define NAMES_MAX 65536

/* The names are asked for once: a code object never changes them. */
static int load_names(struct cairn_pycodes *codes, struct cairn_pycode_entry *entry)
{
    uint64_t tuple = entry->names_at, count;
    int code;

    entry->names_at = 0;
    if (!tuple)
        return 0;
    code = cairn_remote_get(codes->remote, tuple + codes->layout->object_count, &count, 8);
    if (code == 0 && count && count <= NAMES_MAX) {
        if (!entry->names || count > entry->name_count)
            entry->names = cairn_arena_alloc(&codes->arena, count * sizeof(*entry->names));
        if (!entry->names)
            return -CAIRN_ENOMEM;
        /* The items of a tuple lie behind its length. */
        code = cairn_remote_get(codes->remote, tuple + codes->layout->object_count + 8,
                                entry->names, count * sizeof(*entry->names));
        if (code == 0)
            entry->name_count = (uint32_t)count;
    }
    return code == -CAIRN_EGONE || code == -CAIRN_EPERM ? code : 0;
}

int cairn_pycodes_site(struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                       const struct cairn_pycode_entry *callee, uint64_t instr, uint64_t *ret_instr)
{
    struct cairn_pycode_entry *entry = codes->entries.items[caller->code.number];
    bool found = false;

    CAIRN_TRY(load_names(codes, entry));
    for (uint32_t i = 0; i < entry->site_count; i++) {
        const struct cairn_pycallsite *site = &entry->sites[i];
        uint64_t at = 2 * (uint64_t)site->unit;

        if (site->name >= entry->name_count ||
            entry->names[site->name] != callee->parts[CAIRN_PYPART_NAME])
            continue;
        if (!found || at <= instr || *ret_instr > instr)
            *ret_instr = at;
        found = true;
    }
    return found;
}

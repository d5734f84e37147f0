#include "elfnames.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define LOOKED_BACK 64 /* symbols in front of a place, for one that is long enough to hold it */

static int take(void *ctx, const struct cairn_elffunction *function)
{
    struct cairn_elfnames *names = ctx;

    CAIRN_TRY(cairn_vec_reserve(&names->functions, names->functions.count + 1, names->max_count));
    names->functions.items[names->functions.count++] = *function;
    return 0;
}

/* Of those at one address the first is kept: one that has a size, and then by rank. */
static int by_address(const void *left, const void *right)
{
    const struct cairn_elffunction *a = left, *b = right;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if ((a->size_bytes == 0) != (b->size_bytes == 0))
        return a->size_bytes == 0 ? 1 : -1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->name_offset > b->name_offset) - (a->name_offset < b->name_offset);
}

int cairn_elfnames_open(struct cairn_elfnames *names)
{
    size_t kept = 0;
    int code = cairn_elffile_open(&names->file);

    if (code == 0)
        code = cairn_elffile_functions(&names->file, take, names);
    if (code == -CAIRN_ENOMEM)
        return code;
    if (names->functions.count > 0)
        qsort(names->functions.items, names->functions.count, sizeof(*names->functions.items),
              by_address);
    for (size_t i = 0; i < names->functions.count; i++)
        if (i == 0 || names->functions.items[i].address != names->functions.items[kept - 1].address)
            names->functions.items[kept++] = names->functions.items[i];
    names->functions.count = kept;
    return 0;
}

void cairn_elfnames_release(struct cairn_elfnames *names)
{
    cairn_vec_release(&names->functions);
}

/* What covers the address. One without a size goes up to the next of any name, so it covers the
 * place if it stands right in front of it. */
static const struct cairn_elffunction *cover(const struct cairn_elfnames *names, uint64_t address)
{
    size_t low = 0, high = names->functions.count, first;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (names->functions.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    first = low > LOOKED_BACK ? low - LOOKED_BACK : 0;
    for (size_t i = low; i-- > first;) {
        const struct cairn_elffunction *function = &names->functions.items[i];

        if (address - function->address < function->size_bytes)
            return function;
    }
    if (low > 0 && names->functions.items[low - 1].size_bytes == 0 &&
        low < names->functions.count &&
        names->functions.items[low].section == names->functions.items[low - 1].section)
        return &names->functions.items[low - 1];
    return NULL;
}

bool cairn_elfnames_find(struct cairn_elfnames *names, uint64_t offset,
                         char ret_name[CAIRN_ELFNAME_MAX_BYTES])
{
    const struct cairn_elffunction *function;
    uint64_t address;
    char *version;

    if (names->functions.count == 0 || cairn_elffile_address_of(&names->file, offset, &address) < 0)
        return false;
    function = cover(names, address);
    if (!function || cairn_elffile_text(&names->file, function->name_offset, ret_name,
                                        CAIRN_ELFNAME_MAX_BYTES) < 0)
        return false;
    version = strchr(ret_name, '@'); /* "memcpy@@GLIBC_2.14" */
    if (version && version > ret_name)
        *version = 0;
    return *ret_name != 0;
}

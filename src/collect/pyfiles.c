#include "pyfiles.h"

#include "err.h"

#define FILES_MAX 65536
#define KEYS_MAX_BYTES ((size_t)8 << 20)

/* A file that takes over the number of a deleted one seldom has its length too. */
struct key {
    uint32_t major, minor;
    uint64_t inode, offset, size;
};

static int index_of(struct cairn_pyfiles *files, const struct cairn_map_range *range,
                    uint32_t *ret_index)
{
    struct key key = {range->major, range->minor, range->inode, range->offset,
                      range->end - range->start};

    CAIRN_TRY(cairn_intern_add(&files->keys,
                               (struct cairn_span){(const uint8_t *)&key, sizeof(key)}, ret_index));
    --*ret_index; /* id 0 is the empty string, which is no key */
    return 0;
}

int cairn_pyfiles_init(struct cairn_pyfiles *files)
{
    *files = (struct cairn_pyfiles){0};
    return cairn_intern_init(&files->keys, KEYS_MAX_BYTES);
}

void cairn_pyfiles_release(struct cairn_pyfiles *files)
{
    cairn_intern_release(&files->keys);
    cairn_vec_release(&files->items);
}

/* A key that is new has no item yet, and gets none unless it is put next. */
bool cairn_pyfiles_get(struct cairn_pyfiles *files, const struct cairn_map_range *range,
                       struct cairn_pyfile *ret_file)
{
    uint32_t index;

    if (index_of(files, range, &index) < 0 || index >= files->items.count)
        return false;
    if (files->items.items[index].base == UINT64_MAX)
        return false;
    *ret_file = files->items.items[index];
    return true;
}

void cairn_pyfiles_put(struct cairn_pyfiles *files, const struct cairn_map_range *range,
                       const struct cairn_pyfile *file)
{
    uint32_t index;

    if (index_of(files, range, &index) < 0 ||
        cairn_vec_reserve(&files->items, (size_t)index + 1, FILES_MAX) < 0)
        return;
    while (files->items.count <= index) /* files that could not be opened lie between */
        files->items.items[files->items.count++] = (struct cairn_pyfile){.base = UINT64_MAX};
    files->items.items[index] = *file;
}

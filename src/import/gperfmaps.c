#include "gperfmaps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define MAPS_MAX ((size_t)1 << 16)
#define PATHS_MAX_BYTES ((size_t)32 << 20)

int cairn_gperfmaps_init(struct cairn_gperfmaps *maps)
{
    *maps = (struct cairn_gperfmaps){.items = {.items = NULL}};
    return cairn_intern_init(&maps->files, PATHS_MAX_BYTES);
}

/* "5581a000-5581b000 r-xp 00001000 fd:00 12 /usr/bin/x" */
static int read_map(struct cairn_gperfmaps *maps, const char *line, struct cairn_span text)
{
    struct cairn_gperfmap map = {0};
    char rights[5] = "";
    int path = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &map.start, &map.end,
               rights, &map.offset, &path) < 4 ||
        path == 0 || (size_t)path >= text.size_bytes)
        return 0; /* no file is mapped there */
    text.data += path;
    text.size_bytes -= (size_t)path;
    CAIRN_TRY(cairn_intern_add(&maps->files, text, &map.file));
    map.path = cairn_intern_get(&maps->files, map.file);
    map.code = strchr(rights, 'x') != NULL;
    CAIRN_TRY(cairn_vec_reserve(&maps->items, maps->items.count + 1, MAPS_MAX));
    maps->items.items[maps->items.count++] = map;
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct cairn_gperfmap *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

int cairn_gperfmaps_read(struct cairn_gperfmaps *maps, struct cairn_span text)
{
    char line[512];

    while (text.size_bytes > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size_bytes);
        size_t length = end ? (size_t)(end - text.data) : text.size_bytes;
        size_t kept = length < sizeof(line) - 1 ? length : sizeof(line) - 1;

        memcpy(line, text.data, kept);
        line[kept] = 0;
        CAIRN_TRY(read_map(maps, line, (struct cairn_span){text.data, length}));
        length += end != NULL;
        text.data += length;
        text.size_bytes -= length;
    }
    if (maps->items.count > 0)
        qsort(maps->items.items, maps->items.count, sizeof(*maps->items.items), by_start);
    return 0;
}

void cairn_gperfmaps_release(struct cairn_gperfmaps *maps)
{
    cairn_vec_release(&maps->items);
    cairn_intern_release(&maps->files);
}

uint32_t cairn_gperfmaps_find(const struct cairn_gperfmaps *maps, uint64_t address)
{
    size_t low = 0, high = maps->items.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (maps->items.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || maps->items.items[low - 1].end <= address)
        return UINT32_MAX;
    return (uint32_t)low - 1;
}

/* "libm.so.6", "libm-2.31.so" */
static bool is_library(struct cairn_span path)
{
    const uint8_t *at = path.data, *end = path.data + path.size_bytes;

    while ((at = memmem(at, (size_t)(end - at), ".so", 3)) != NULL) {
        at += 3;
        if (at == end || *at == ' ' || *at == '_' || (*at == '.' && at + 1 < end))
            return true;
    }
    return false;
}

struct cairn_span cairn_gperfmaps_main(const struct cairn_gperfmaps *maps)
{
    for (uint32_t i = 0; i < maps->items.count; i++) {
        const struct cairn_gperfmap *map = &maps->items.items[i];

        if (map->code && map->path.data[0] == '/' && !is_library(map->path))
            return map->path;
    }
    return (struct cairn_span){NULL, 0};
}

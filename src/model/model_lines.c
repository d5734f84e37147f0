/* Lines of the Python locations: each line table is walked once, for all offsets asked of it. */
#include "model_raw.h"

#include <stdlib.h>

#include "alloc.h"
#include "linetable.h"

struct asked {
    uint32_t code, location;
    int64_t offset;
};

static int by_code_and_offset(const void *left, const void *right)
{
    const struct asked *a = left, *b = right;

    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* `count` questions to one code, by offset. What its table does not reach stays 0. */
static void answer(struct cairn_loader *loader, const struct asked *asked, size_t count)
{
    const struct cairn_raw_code *code = &loader->codes.items[asked->code];
    struct cairn_line_entry entry = {0};
    struct cairn_linetable table;

    cairn_linetable_init(&table, code->table_kind, code->table, code->first_line);
    for (size_t i = 0; i < count; i++) {
        uint32_t *line = &loader->locations.items[asked[i].location].line;

        if (asked[i].offset < 0) {
            *line = code->first_line;
            continue;
        }
        while (entry.end_bytes <= asked[i].offset)
            if (cairn_linetable_next(&table, &entry) < 0)
                return;
        *line = entry.line;
    }
}

int cairn_model_lines(struct cairn_loader *loader)
{
    struct asked *asked = cairn_calloc(loader->locations.count + 1, sizeof(*asked));
    size_t count = 0;

    if (!asked)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < loader->locations.count; i++) {
        const struct cairn_raw_location *location = &loader->locations.items[i];

        if (location->kind == CAIRN_LOC_PYTHON && location->ref != CAIRN_RAW_LOST)
            asked[count++] = (struct asked){location->ref, (uint32_t)i, location->offset};
    }
    qsort(asked, count, sizeof(*asked), by_code_and_offset);
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at; end < count && asked[end].code == asked[at].code; end++)
            ;
        answer(loader, asked + at, end - at);
    }
    free(asked);
    return 0;
}

#include "blocks.h"

#include "err.h"
#include "reader.h"

/* A block costs a header and tables of its own: below this it is not worth them. */
#define BLOCK_MIN_BYTES 256

struct blocks {
    const uint8_t *start;
    size_t *ends;
    size_t count;
};

static void end_block(struct blocks *blocks, const uint8_t *at)
{
    size_t end = (size_t)(at - blocks->start);
    size_t last = blocks->count == 0 ? 0 : blocks->ends[blocks->count - 1];

    if (end - last >= BLOCK_MIN_BYTES && blocks->count < CAIRN_BLOCKS_MAX - 1)
        blocks->ends[blocks->count++] = end;
}

/* Ends a block in front of the columns' values and behind each column's. */
static int divide_table(struct blocks *blocks, struct cairn_span table)
{
    struct cairn_cursor cur;
    struct cairn_span skipped;
    uint64_t number;
    size_t column_count;
    uint8_t encoding;

    cairn_cursor_init(&cur, table);
    CAIRN_TRY(cairn_cursor_uvarint(&cur, &number));
    CAIRN_TRY(cairn_cursor_count(&cur, 1, &column_count));
    for (size_t i = 0; i < column_count; i++) {
        CAIRN_TRY(cairn_cursor_bytes(&cur, &skipped));
        CAIRN_TRY(cairn_cursor_bytes(&cur, &skipped));
        CAIRN_TRY(cairn_cursor_u8(&cur, &encoding));
    }
    CAIRN_TRY(cairn_cursor_uvarint(&cur, &number));
    end_block(blocks, cur.next);
    for (size_t i = 0; i < column_count; i++) {
        CAIRN_TRY(cairn_cursor_bytes(&cur, &skipped));
        end_block(blocks, cur.next);
    }
    return 0;
}

size_t cairn_blocks_find(struct cairn_span sections, size_t ret_ends[CAIRN_BLOCKS_MAX])
{
    struct blocks blocks = {.start = sections.data, .ends = ret_ends};
    struct cairn_section section;
    struct cairn_cursor cur;
    uint64_t skipped = 0;

    cairn_cursor_init(&cur, sections);
    while (cairn_section_next(&cur, &section, &skipped) == 0) {
        if (section.kind == CAIRN_SECTION_ROWS)
            divide_table(&blocks, section.bytes);
        end_block(&blocks, cur.next);
    }
    if (blocks.count > 0 && ret_ends[blocks.count - 1] == sections.size_bytes)
        return blocks.count;
    ret_ends[blocks.count] = sections.size_bytes;
    return blocks.count + 1;
}

#include "html_block.h"

#include <string.h>

#include "err.h"

#define HEAD_BYTES 8
#define STEP_SHIFT 3

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie");

/* Where the parts of a block are. */
struct block {
    uint32_t entries, far;
    uint8_t *far_at, *values_at, *heads_at;
};

static size_t size_of(uint64_t entries, uint64_t far)
{
    return HEAD_BYTES + far * sizeof(double) + entries * (sizeof(uint32_t) + 1);
}

static void place(struct block *block, uint8_t *data)
{
    block->far_at = data + HEAD_BYTES;
    block->values_at = block->far_at + block->far * sizeof(double);
    block->heads_at = block->values_at + block->entries * sizeof(uint32_t);
}

static struct block count(const struct cairn_html_table *table)
{
    struct block block = {0};
    const uint64_t *value = table->values;
    size_t before = 0;

    for (size_t cell = 0; cell < table->cell_count; cell++)
        for (unsigned i = 0; i < table->column_count; i++, value++) {
            if (*value == 0)
                continue;
            block.entries++;
            block.far += (cell - before >= CAIRN_HTML_BLOCK_FAR_STEP) +
                         (*value >= CAIRN_HTML_BLOCK_FAR_VALUE);
            before = cell;
        }
    return block;
}

static uint8_t *put_far(uint8_t *at, uint64_t value)
{
    double number = (double)value;

    memcpy(at, &number, sizeof(number));
    return at + sizeof(number);
}

static void put_entries(const struct cairn_html_table *table, struct block block)
{
    const uint64_t *value = table->values;
    size_t before = 0;

    for (size_t cell = 0; cell < table->cell_count; cell++)
        for (unsigned i = 0; i < table->column_count; i++, value++) {
            size_t step = cell - before;
            uint32_t low = CAIRN_HTML_BLOCK_FAR_VALUE;

            if (*value == 0)
                continue;
            if (step >= CAIRN_HTML_BLOCK_FAR_STEP) {
                block.far_at = put_far(block.far_at, step);
                step = CAIRN_HTML_BLOCK_FAR_STEP;
            }
            if (*value < CAIRN_HTML_BLOCK_FAR_VALUE)
                low = (uint32_t)*value;
            else
                block.far_at = put_far(block.far_at, *value);
            memcpy(block.values_at, &low, sizeof(low));
            block.values_at += sizeof(low);
            *block.heads_at++ = (uint8_t)(step << STEP_SHIFT | table->numbers[i]);
            before = cell;
        }
}

int cairn_html_block_put(const struct cairn_html_table *table, struct cairn_buf *out)
{
    struct block block = count(table);
    uint32_t head[2] = {block.entries, block.far};
    size_t size_bytes = size_of(block.entries, block.far);

    CAIRN_TRY(cairn_buf_reserve(out, size_bytes));
    memcpy(out->data + out->size_bytes, head, sizeof(head));
    place(&block, out->data + out->size_bytes);
    put_entries(table, block);
    out->size_bytes += size_bytes;
    return 0;
}

/* The next of the numbers apart. */
static bool take_far(struct block *block, uint64_t *ret_value)
{
    double number;

    if (block->far == 0)
        return false;
    block->far--;
    memcpy(&number, block->far_at, sizeof(number));
    block->far_at += sizeof(number);
    *ret_value = (uint64_t)number;
    return number >= 0 && number <= 0x1p53;
}

int cairn_html_block_add(const uint8_t *data, size_t size_bytes, bool off,
                         struct cairn_html_table *table)
{
    struct block block;
    uint64_t *sums[CAIRN_HTML_BLOCK_COLUMNS] = {NULL}, step, value, cell = 0;
    uint32_t head[2], low;

    if (size_bytes < HEAD_BYTES)
        return -CAIRN_EDAMAGED;
    memcpy(head, data, sizeof(head));
    block = (struct block){.entries = head[0], .far = head[1]};
    if (size_bytes != size_of(block.entries, block.far))
        return -CAIRN_EDAMAGED;
    place(&block, (uint8_t *)(uintptr_t)data); /* it is not written to */
    for (unsigned i = 0; i < table->column_count; i++)
        sums[table->numbers[i]] = table->values + i;
    for (uint32_t i = 0; i < block.entries; i++) {
        step = block.heads_at[i] >> STEP_SHIFT;
        if (step == CAIRN_HTML_BLOCK_FAR_STEP && !take_far(&block, &step))
            return -CAIRN_EDAMAGED;
        memcpy(&low, block.values_at + i * sizeof(low), sizeof(low));
        value = low;
        if (low == CAIRN_HTML_BLOCK_FAR_VALUE && !take_far(&block, &value))
            return -CAIRN_EDAMAGED;
        cell += step;
        if (cell >= table->cell_count || !sums[block.heads_at[i] & 7])
            return -CAIRN_EDAMAGED;
        sums[block.heads_at[i] & 7][cell * table->column_count] += off ? -value : value;
    }
    return 0;
}

#include "html_columns.h"

#include <string.h>

#include "err.h"

#define VALUES_MAX ((size_t)1 << 30)
#define ALIGN_BYTES 8 /* of a column, so that it can be looked at as it lies */

void cairn_html_columns_init(struct cairn_html_columns *columns, struct cairn_json *json,
                             struct cairn_buf *out)
{
    *columns = (struct cairn_html_columns){.json = json, .out = out};
}

void cairn_html_columns_release(struct cairn_html_columns *columns)
{
    cairn_vec_release(&columns->values);
}

void cairn_html_columns_begin(struct cairn_html_columns *columns)
{
    columns->values.count = 0;
    if (columns->out == NULL)
        cairn_json_array(columns->json);
}

int cairn_html_columns_put(struct cairn_html_columns *columns, int64_t value)
{
    if (columns->out == NULL) {
        cairn_json_i64(columns->json, value);
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&columns->values, columns->values.count + 1, VALUES_MAX));
    columns->values.items[columns->values.count++] = value;
    return 0;
}

/* Of the smallest kind that holds them all. */
static int bytes_of(const int64_t *values, size_t count)
{
    int64_t least = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (least < 0)
        return most > INT32_MAX || least < INT32_MIN ? 8 : -4;
    return most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

static void put_value(struct cairn_buf *out, int64_t value, int bytes)
{
    double number = (double)value;
    uint8_t text[8];
    uint64_t bits = (uint64_t)value;

    if (bytes == 8)
        memcpy(&bits, &number, sizeof(bits));
    bytes = bytes < 0 ? -bytes : bytes;
    for (int i = 0; i < bytes; i++) /* little-endian, whatever we run on */
        text[i] = (uint8_t)(bits >> 8 * i);
    cairn_buf_add(out, text, (size_t)bytes);
}

int cairn_html_columns_end(struct cairn_html_columns *columns)
{
    struct cairn_json *json = columns->json;
    struct cairn_buf *out = columns->out;
    int bytes;

    if (out == NULL) {
        cairn_json_close(json);
        return 0;
    }
    while (out->size_bytes % ALIGN_BYTES != 0 && out->code == 0)
        cairn_buf_u8(out, 0);
    bytes = bytes_of(columns->values.items, columns->values.count);
    cairn_json_object(json);
    cairn_json_put_u64(json, "at", out->size_bytes);
    cairn_json_put_number(json, "bytes", bytes);
    cairn_json_put_u64(json, "count", columns->values.count);
    cairn_json_close(json);
    for (size_t i = 0; i < columns->values.count && out->code == 0; i++)
        put_value(out, columns->values.items[i], bytes);
    return out->code;
}

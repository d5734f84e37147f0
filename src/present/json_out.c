#include "json_out.h"

#include <math.h>

#include "err.h"
#include "escape.h"

void cairn_json_init(struct cairn_json *json, struct cairn_buf *out, unsigned open_depth)
{
    *json = (struct cairn_json){.out = out, .open_depth = open_depth};
}

static void begin_item(struct cairn_json *json)
{
    if (json->depth == 0)
        return;
    if (json->filled[json->depth - 1])
        cairn_buf_u8(json->out, ',');
    json->filled[json->depth - 1] = true;
    if (json->depth <= json->open_depth)
        cairn_buf_printf(json->out, "\n%*s", (int)json->depth, "");
    else if (json->out->size_bytes && json->out->data[json->out->size_bytes - 1] == ',')
        cairn_buf_u8(json->out, ' ');
}

/* True when a value may stand here, with what goes before it written. */
static bool begin_value(struct cairn_json *json)
{
    bool in_object = json->depth > 0 && json->closing[json->depth - 1] == '}';

    if (json->broken || (in_object && !json->keyed) || (json->depth == 0 && json->written)) {
        json->broken = true;
        return false;
    }
    if (!json->keyed)
        begin_item(json);
    json->keyed = false;
    json->written = true;
    return true;
}

static void open_level(struct cairn_json *json, char opening, char closing)
{
    if (json->depth == CAIRN_JSON_DEPTH_MAX)
        json->broken = true;
    if (!begin_value(json))
        return;
    cairn_buf_u8(json->out, (uint8_t)opening);
    json->closing[json->depth] = closing;
    json->filled[json->depth] = false;
    json->depth++;
}

void cairn_json_object(struct cairn_json *json)
{
    open_level(json, '{', '}');
}

void cairn_json_array(struct cairn_json *json)
{
    open_level(json, '[', ']');
}

void cairn_json_close(struct cairn_json *json)
{
    if (json->broken || json->keyed || json->depth == 0) {
        json->broken = true;
        return;
    }
    json->depth--;
    if (json->filled[json->depth] && json->depth < json->open_depth)
        cairn_buf_printf(json->out, "\n%*s", (int)json->depth, "");
    cairn_buf_u8(json->out, (uint8_t)json->closing[json->depth]);
}

int cairn_json_end(struct cairn_json *json)
{
    if (json->broken || json->depth > 0 || !json->written)
        return -CAIRN_EINTERNAL;
    return cairn_buf_u8(json->out, '\n');
}

void cairn_json_key(struct cairn_json *json, struct cairn_span key)
{
    if (json->broken || json->keyed || json->depth == 0 || json->closing[json->depth - 1] != '}') {
        json->broken = true;
        return;
    }
    begin_item(json);
    cairn_buf_u8(json->out, '"');
    cairn_escape_json(json->out, key);
    cairn_buf_add_str(json->out, "\": ");
    json->keyed = true;
}

void cairn_json_text(struct cairn_json *json, struct cairn_span text)
{
    if (!begin_value(json))
        return;
    cairn_buf_u8(json->out, '"');
    cairn_escape_json(json->out, text);
    cairn_buf_u8(json->out, '"');
}

/* In at least so many digits: pages are made of millions of numbers. */
static void add_digits(struct cairn_buf *out, uint64_t value, unsigned least)
{
    char digits[20]; /* of UINT64_MAX */
    size_t at = sizeof(digits);

    while (value > 0 || sizeof(digits) - at < least) {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    }
    cairn_buf_add(out, digits + at, sizeof(digits) - at);
}

/* What stands before the point, and behind it, in `decimals` digits. */
static void add_decimal(struct cairn_buf *out, uint64_t value, uint64_t unit, unsigned decimals)
{
    add_digits(out, value / unit, 1);
    cairn_buf_u8(out, '.');
    add_digits(out, value % unit, decimals);
}

void cairn_json_u64(struct cairn_json *json, uint64_t value)
{
    if (begin_value(json))
        add_digits(json->out, value, 1);
}

void cairn_json_i64(struct cairn_json *json, int64_t value)
{
    if (!begin_value(json))
        return;
    if (value < 0)
        cairn_buf_u8(json->out, '-');
    add_digits(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

void cairn_json_seconds(struct cairn_json *json, uint64_t ns)
{
    if (begin_value(json))
        add_decimal(json->out, ns, 1000000000, 9);
}

void cairn_json_millis(struct cairn_json *json, uint64_t ns)
{
    if (begin_value(json))
        add_decimal(json->out, ns, 1000000, 6);
}

void cairn_json_micros(struct cairn_json *json, uint64_t ns)
{
    if (begin_value(json))
        add_decimal(json->out, ns, 1000, 3);
}

void cairn_json_number(struct cairn_json *json, double value)
{
    if (!isfinite(value))
        cairn_json_null(json);
    else if (begin_value(json))
        cairn_buf_printf(json->out, "%.9g", value);
}

void cairn_json_bool(struct cairn_json *json, bool value)
{
    if (begin_value(json))
        cairn_buf_add_str(json->out, value ? "true" : "false");
}

void cairn_json_null(struct cairn_json *json)
{
    if (begin_value(json))
        cairn_buf_add_str(json->out, "null");
}

void cairn_json_put_text(struct cairn_json *json, const char *key, struct cairn_span text)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_text(json, text);
}

void cairn_json_put_str(struct cairn_json *json, const char *key, const char *str)
{
    cairn_json_put_text(json, key, cairn_span_of(str));
}

void cairn_json_put_u64(struct cairn_json *json, const char *key, uint64_t value)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_u64(json, value);
}

void cairn_json_put_seconds(struct cairn_json *json, const char *key, uint64_t ns)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_seconds(json, ns);
}

void cairn_json_put_number(struct cairn_json *json, const char *key, double value)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_number(json, value);
}

void cairn_json_put_bool(struct cairn_json *json, const char *key, bool value)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_bool(json, value);
}

void cairn_json_put_null(struct cairn_json *json, const char *key)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_null(json);
}

void cairn_json_put_known(struct cairn_json *json, const char *key, bool known, uint64_t value)
{
    if (known)
        cairn_json_put_u64(json, key, value);
    else
        cairn_json_put_null(json, key);
}

#include "jsonin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define NUMBER_MAX_BYTES                                                                           \
    400                /* the longest that a double needs is some 770, of which all matter less */
#define DIGITS_SURE 18 /* so many fit an int64_t */

void cairn_jsonin_init(struct cairn_jsonin *json, struct cairn_feed *feed)
{
    *json = (struct cairn_jsonin){.feed = feed};
    cairn_buf_init(&json->text, CAIRN_JSONIN_TEXT_MAX_BYTES + 8);
}

void cairn_jsonin_release(struct cairn_jsonin *json)
{
    cairn_buf_release(&json->text);
}

bool cairn_span_is(struct cairn_span span, const char *str)
{
    size_t size_bytes = strlen(str);

    return span.size_bytes == size_bytes && memcmp(span.data, str, size_bytes) == 0;
}

/* The next byte, not taken. The end of the text is damage here: something is still open. */
static int peek(struct cairn_jsonin *json, uint8_t *ret_byte)
{
    struct cairn_feed *feed = json->feed;

    if (feed->next == feed->end) {
        int code = cairn_feed_more(feed);

        if (code < 0)
            return code == -CAIRN_EEND ? -CAIRN_EDAMAGED : code;
    }
    *ret_byte = *feed->next;
    return 0;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static int peek_solid(struct cairn_jsonin *json, uint8_t *ret_byte)
{
    for (;;) {
        CAIRN_TRY(peek(json, ret_byte));
        if (!is_blank(*ret_byte))
            return 0;
        json->feed->next++;
    }
}

static int take(struct cairn_jsonin *json, uint8_t wanted)
{
    uint8_t byte;

    CAIRN_TRY(peek_solid(json, &byte));
    if (byte != wanted)
        return -CAIRN_EDAMAGED;
    json->feed->next++;
    return 0;
}

int cairn_jsonin_kind(struct cairn_jsonin *json, char *ret_kind)
{
    uint8_t byte;

    CAIRN_TRY(peek_solid(json, &byte));
    if (byte == '-' || (byte >= '0' && byte <= '9'))
        byte = '0';
    else if (!strchr("{[\"tfn", byte) || byte == 0)
        return -CAIRN_EDAMAGED;
    *ret_kind = (char)byte;
    return 0;
}

int cairn_jsonin_enter(struct cairn_jsonin *json, char bracket)
{
    CAIRN_TRY(take(json, (uint8_t)bracket));
    if (json->depth == CAIRN_JSONIN_DEPTH_MAX)
        return -CAIRN_ELIMIT;
    json->open[json->depth++] = (uint8_t)bracket;
    json->fresh = true;
    return 0;
}

/* 1: an item begins here; 0: what was open is over, and left. */
static int advance(struct cairn_jsonin *json, uint8_t bracket)
{
    uint8_t byte = 0, close = bracket == '{' ? '}' : ']';
    bool comma = false;
    int code;

    if (json->depth == 0 || json->open[json->depth - 1] != bracket)
        return -CAIRN_EDAMAGED;
    code = peek_solid(json, &byte);
    if (code == 0 && !json->fresh && byte != close) {
        CAIRN_TRY(take(json, ','));
        comma = true;
        code = peek_solid(json, &byte);
    }
    if (code == -CAIRN_EDAMAGED && json->lenient && json->feed->over && bracket == '[') {
        json->depth--;
        json->fresh = false;
        return 0;
    }
    CAIRN_TRY(code);
    json->fresh = false;
    if (byte != close)
        return 1;
    if (comma && !json->lenient)
        return -CAIRN_EDAMAGED;
    json->feed->next++;
    json->depth--;
    return 0;
}

int cairn_jsonin_item(struct cairn_jsonin *json)
{
    return advance(json, '[');
}

static int read_hex(struct cairn_jsonin *json, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        uint8_t byte;

        CAIRN_TRY(peek(json, &byte));
        json->feed->next++;
        unit <<= 4;
        if (byte >= '0' && byte <= '9')
            unit |= (uint32_t)(byte - '0');
        else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')
            unit |= (uint32_t)((byte | 0x20) - 'a' + 10);
        else
            return -CAIRN_EDAMAGED;
    }
    *ret_unit = unit;
    return 0;
}

static bool has_room(const struct cairn_jsonin *json)
{
    return json->text.size_bytes < CAIRN_JSONIN_TEXT_MAX_BYTES;
}

static void put_unit(struct cairn_jsonin *json, uint32_t unit)
{
    if (has_room(json))
        cairn_text_utf8_add(&json->text, unit);
}

/* A unit of UTF-16. `high` is the first half of a pair, until its second comes; half of a pair
 * stands for U+FFFD. */
static void put_utf16(struct cairn_jsonin *json, uint32_t unit, uint32_t *high)
{
    if (*high && unit >= 0xdc00 && unit < 0xe000) {
        put_unit(json, 0x10000 + ((*high - 0xd800) << 10) + (unit - 0xdc00));
        *high = 0;
        return;
    }
    if (*high)
        put_unit(json, 0xfffd);
    *high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    if (!*high)
        put_unit(json, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
}

static int read_escape(struct cairn_jsonin *json, uint32_t *high)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint32_t unit = 0;
    uint8_t byte;

    CAIRN_TRY(peek(json, &byte));
    json->feed->next++;
    if (byte == 'u') {
        CAIRN_TRY(read_hex(json, &unit));
        put_utf16(json, unit, high);
        return 0;
    }
    found = byte ? strchr(from, byte) : NULL;
    if (!found)
        return -CAIRN_EDAMAGED;
    put_utf16(json, (uint8_t)to[found - from], high);
    return 0;
}

/* The bytes up to the next quote or backslash, as they are. Control characters and what is no UTF-8
 * are let pass: who shows a text escapes it. */
static void take_plain(struct cairn_jsonin *json)
{
    struct cairn_feed *feed = json->feed;
    uint8_t *at = feed->next;
    size_t room = CAIRN_JSONIN_TEXT_MAX_BYTES, taken;

    while (at < feed->end && *at != '"' && *at != '\\')
        at++;
    taken = (size_t)(at - feed->next);
    room = has_room(json) ? room - json->text.size_bytes : 0;
    cairn_buf_add(&json->text, feed->next, taken < room ? taken : room);
    feed->next = at;
}

int cairn_jsonin_text(struct cairn_jsonin *json, struct cairn_span *ret_text)
{
    uint32_t high = 0;
    uint8_t byte;

    cairn_buf_clear(&json->text);
    CAIRN_TRY(peek_solid(json, &byte));
    if (byte == 'n') {
        CAIRN_TRY(cairn_jsonin_skip(json));
        *ret_text = (struct cairn_span){NULL, 0};
        return 0;
    }
    CAIRN_TRY(take(json, '"'));
    for (;;) {
        CAIRN_TRY(peek(json, &byte));
        if (high && byte != '\\') {
            put_unit(json, 0xfffd);
            high = 0;
        }
        if (byte == '"' || byte == '\\')
            json->feed->next++;
        if (byte == '"')
            break;
        if (byte == '\\')
            CAIRN_TRY(read_escape(json, &high));
        else
            take_plain(json);
    }
    *ret_text = cairn_buf_span(&json->text);
    return json->text.code;
}

int cairn_jsonin_key(struct cairn_jsonin *json, struct cairn_span *ret_key)
{
    int more = advance(json, '{');
    char kind;

    if (more <= 0)
        return more;
    CAIRN_TRY(cairn_jsonin_kind(json, &kind));
    if (kind != '"')
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_jsonin_text(json, ret_key));
    CAIRN_TRY(take(json, ':'));
    return 1;
}

/* true, false or null. */
static int take_word(struct cairn_jsonin *json, const char *word)
{
    for (; *word; word++) {
        uint8_t byte;

        CAIRN_TRY(peek(json, &byte));
        if (byte != (uint8_t)*word)
            return -CAIRN_EDAMAGED;
        json->feed->next++;
    }
    return 0;
}

static bool is_of_number(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == '.' ||
           byte == 'e' || byte == 'E';
}

/* A number's characters. Those at the very end of a text belong to it. */
static int take_number(struct cairn_jsonin *json, char *out, size_t *ret_length)
{
    struct cairn_feed *feed = json->feed;
    size_t length = 0;
    uint8_t byte;

    CAIRN_TRY(peek_solid(json, &byte));
    for (;;) {
        if (feed->next == feed->end) {
            int code = cairn_feed_more(feed);

            if (code == -CAIRN_EEND)
                break;
            CAIRN_TRY(code);
        }
        if (!is_of_number(*feed->next))
            break;
        if (length == NUMBER_MAX_BYTES)
            return -CAIRN_EDAMAGED;
        out[length++] = (char)*feed->next++;
    }
    out[length] = 0;
    *ret_length = length;
    return length > 0 ? 0 : -CAIRN_EDAMAGED;
}

/* Of digits alone, and few enough of them. */
static bool parse_digits(const char *text, size_t length, int64_t *ret_whole)
{
    bool negative = text[0] == '-';
    int64_t whole = 0;

    if (length == negative || length > DIGITS_SURE)
        return false;
    for (size_t i = negative; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        whole = whole * 10 + (text[i] - '0');
    }
    *ret_whole = negative ? -whole : whole;
    return true;
}

static int parse_real(const char *text, double *ret_real)
{
    char *end;

    *ret_real = strtod(text, &end);
    return *end || !isfinite(*ret_real) ? -CAIRN_EDAMAGED : 0;
}

/* *ret_null: it is null, and was passed over. */
static int number_text(struct cairn_jsonin *json, char *out, size_t *ret_length, bool *ret_null)
{
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(json, &kind));
    *ret_null = kind == 'n';
    if (*ret_null)
        return take_word(json, "null");
    return kind == '0' ? take_number(json, out, ret_length) : -CAIRN_EDAMAGED;
}

int cairn_jsonin_number(struct cairn_jsonin *json, double *ret_number)
{
    char text[NUMBER_MAX_BYTES + 1];
    int64_t whole;
    size_t length;
    bool is_null;

    CAIRN_TRY(number_text(json, text, &length, &is_null));
    if (is_null)
        *ret_number = NAN;
    else if (parse_digits(text, length, &whole))
        *ret_number = (double)whole;
    else
        return parse_real(text, ret_number);
    return 0;
}

int cairn_jsonin_whole(struct cairn_jsonin *json, int64_t *ret_whole)
{
    char text[NUMBER_MAX_BYTES + 1];
    double real;
    size_t length;
    bool is_null;

    *ret_whole = 0;
    CAIRN_TRY(number_text(json, text, &length, &is_null));
    if (is_null || parse_digits(text, length, ret_whole))
        return 0;
    CAIRN_TRY(parse_real(text, &real));
    if (real != floor(real) || fabs(real) >= 0x1p63)
        return -CAIRN_EDAMAGED;
    *ret_whole = (int64_t)real;
    return 0;
}

static int skip_one(struct cairn_jsonin *json)
{
    char text[NUMBER_MAX_BYTES + 1], kind;
    struct cairn_span span;
    size_t length;

    CAIRN_TRY(cairn_jsonin_kind(json, &kind));
    switch (kind) {
    case '"':
        return cairn_jsonin_text(json, &span);
    case '0':
        return take_number(json, text, &length);
    case 't':
        return take_word(json, "true");
    case 'f':
        return take_word(json, "false");
    case 'n':
        return take_word(json, "null");
    default:
        return cairn_jsonin_enter(json, kind);
    }
}

int cairn_jsonin_skip(struct cairn_jsonin *json)
{
    unsigned base = json->depth;
    struct cairn_span key;
    int more = 1;

    do {
        if (more > 0)
            CAIRN_TRY(skip_one(json));
        if (json->depth == base)
            break;
        more = json->open[json->depth - 1] == '{' ? cairn_jsonin_key(json, &key)
                                                  : cairn_jsonin_item(json);
        CAIRN_TRY(more);
    } while (more > 0 || json->depth > base);
    return 0;
}

int cairn_jsonin_end(struct cairn_jsonin *json)
{
    struct cairn_feed *feed = json->feed;

    for (;;) {
        int code = feed->next == feed->end ? cairn_feed_more(feed) : 0;

        if (code < 0)
            return code == -CAIRN_EEND ? 0 : code;
        if (!is_blank(*feed->next))
            return -CAIRN_EDAMAGED;
        feed->next++;
    }
}

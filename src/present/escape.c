#include "escape.h"

#include <stdbool.h>
#include <string.h>

#include "text.h"

/* Appends one character, escaped when the sink wants it. */
typedef void put_fn(struct cairn_buf *out, uint32_t character);

/* What no sink escapes, so that most of a name goes over at once. */
static bool is_plain(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == ' ' || byte == '/' || byte == '-';
}

static void put_all(struct cairn_buf *out, struct cairn_span text, put_fn *put)
{
    for (size_t at = 0; at < text.size_bytes;) {
        size_t begin = at;
        uint32_t character;

        while (at < text.size_bytes && is_plain(text.data[at]))
            at++;
        cairn_buf_add(out, text.data + begin, at - begin);
        if (at == text.size_bytes)
            break;
        at += cairn_text_utf8_next(text.data + at, text.size_bytes - at, &character);
        put(out, character);
    }
}

/* C0, DEL and C1: all below 0x100, so two digits hold them. */
static bool is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

static bool is_line_end(uint32_t character)
{
    return character == 0x2028 || character == 0x2029;
}

static bool turns_direction(uint32_t character)
{
    return (character >= 0x202a && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0x200e ||
           character == 0x200f || character == 0x061c;
}

static void put_terminal(struct cairn_buf *out, uint32_t character)
{
    if (is_control(character))
        cairn_buf_printf(out, "\\x%02x", (unsigned)character);
    else if (turns_direction(character) || is_line_end(character))
        cairn_buf_printf(out, "\\u%04x", (unsigned)character);
    else
        cairn_text_utf8_add(out, character);
}

static void put_xml(struct cairn_buf *out, uint32_t character)
{
    switch (character) {
    case '&':
        cairn_buf_add_str(out, "&amp;");
        break;
    case '<':
        cairn_buf_add_str(out, "&lt;");
        break;
    case '>':
        cairn_buf_add_str(out, "&gt;");
        break;
    case '"':
        cairn_buf_add_str(out, "&quot;");
        break;
    case '\'':
        cairn_buf_add_str(out, "&#39;");
        break;
    case 0xfffe:
    case 0xffff:
        cairn_text_utf8_add(out, 0xfffd); /* XML has no way to write them */
        break;
    default:
        put_terminal(out, character);
    }
}

static void put_json(struct cairn_buf *out, uint32_t character)
{
    if (character == '"' || character == '\\')
        cairn_buf_printf(out, "\\%c", (int)character);
    else if (is_control(character) || is_line_end(character))
        cairn_buf_printf(out, "\\u%04x", (unsigned)character);
    else
        cairn_text_utf8_add(out, character);
}

static void put_collapsed(struct cairn_buf *out, uint32_t character)
{
    if (character == ';' || is_control(character))
        cairn_buf_printf(out, "\\x%02x", (unsigned)character);
    else if (is_line_end(character))
        cairn_buf_printf(out, "\\xe2\\x80\\x%02x", (unsigned)(character - 0x2028 + 0xa8));
    else
        cairn_text_utf8_add(out, character);
}

static void put_csv(struct cairn_buf *out, uint32_t character)
{
    if (character == '"')
        cairn_buf_add_str(out, "\"\"");
    else if (is_control(character))
        cairn_buf_printf(out, "\\x%02x", (unsigned)character);
    else if (is_line_end(character))
        cairn_buf_printf(out, "\\u%04x", (unsigned)character);
    else
        cairn_text_utf8_add(out, character);
}

static void put_entity(struct cairn_buf *out, uint32_t character)
{
    bool is_word = (character >= '0' && character <= '9') ||
                   (character >= 'A' && character <= 'Z') ||
                   (character >= 'a' && character <= 'z') || character == ' ' || character == '/' ||
                   character == '-';

    if (character < 0x7f && !is_word)
        cairn_buf_printf(out, "&#%u;", (unsigned)character);
    else
        cairn_text_utf8_add(out, character);
}

void cairn_escape_markdown(struct cairn_buf *out, struct cairn_span text)
{
    struct cairn_buf shown;

    cairn_buf_init(&shown, out->max_bytes);
    put_all(&shown, text, put_terminal);
    if (shown.code < 0)
        out->code = shown.code;
    put_all(out, cairn_buf_span(&shown), put_entity);
    cairn_buf_release(&shown);
}

static void put_utf8(struct cairn_buf *out, uint32_t character)
{
    if (character == 0)
        cairn_buf_add_str(out, "\\x00");
    else
        cairn_text_utf8_add(out, character);
}

/* Also in the wide forms that East Asian spreadsheets take. */
static bool begins_formula(uint32_t character)
{
    switch (character) {
    case '=':
    case '+':
    case '-':
    case '@':
    case 0xff1d:
    case 0xff0b:
    case 0xff0d:
    case 0xff20:
        return true;
    default:
        return false;
    }
}

void cairn_escape_csv(struct cairn_buf *out, struct cairn_span text)
{
    uint32_t first = 0;

    if (text.size_bytes > 0)
        cairn_text_utf8_next(text.data, text.size_bytes, &first);
    cairn_buf_u8(out, '"');
    if (begins_formula(first))
        cairn_buf_u8(out, '\'');
    put_all(out, text, put_csv);
    cairn_buf_u8(out, '"');
}

void cairn_escape_terminal(struct cairn_buf *out, struct cairn_span text)
{
    put_all(out, text, put_terminal);
}

void cairn_escape_xml(struct cairn_buf *out, struct cairn_span text)
{
    put_all(out, text, put_xml);
}

void cairn_escape_json(struct cairn_buf *out, struct cairn_span text)
{
    put_all(out, text, put_json);
}

void cairn_escape_collapsed(struct cairn_buf *out, struct cairn_span text)
{
    put_all(out, text, put_collapsed);
}

void cairn_escape_utf8(struct cairn_buf *out, struct cairn_span text)
{
    put_all(out, text, put_utf8);
}

struct cairn_span cairn_span_of(const char *str)
{
    return (struct cairn_span){(const uint8_t *)str, str ? strlen(str) : 0};
}

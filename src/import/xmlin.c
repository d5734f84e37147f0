#include "xmlin.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define ENTITY_MAX_BYTES 12

void cairn_xmlin_init(struct cairn_xmlin *xml, struct cairn_feed *feed)
{
    *xml = (struct cairn_xmlin){.feed = feed};
    cairn_buf_init(&xml->text, TEXT_MAX_BYTES);
    cairn_buf_init(&xml->tag, TEXT_MAX_BYTES);
}

void cairn_xmlin_release(struct cairn_xmlin *xml)
{
    cairn_buf_release(&xml->text);
    cairn_buf_release(&xml->tag);
}

/* The next byte; -CAIRN_EEND behind the last. */
static int take(struct cairn_xmlin *xml)
{
    if (xml->feed->next == xml->feed->end)
        CAIRN_TRY(cairn_feed_more(xml->feed));
    return *xml->feed->next++;
}

static void add_utf8(struct cairn_buf *out, unsigned long point)
{
    if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        point = 0xfffd;
    if (point < 0x80) {
        cairn_buf_u8(out, (uint8_t)point);
    } else if (point < 0x800) {
        cairn_buf_u8(out, (uint8_t)(0xc0 | point >> 6));
        cairn_buf_u8(out, (uint8_t)(0x80 | (point & 63)));
    } else {
        if (point < 0x10000) {
            cairn_buf_u8(out, (uint8_t)(0xe0 | point >> 12));
        } else {
            cairn_buf_u8(out, (uint8_t)(0xf0 | point >> 18));
            cairn_buf_u8(out, (uint8_t)(0x80 | (point >> 12 & 63)));
        }
        cairn_buf_u8(out, (uint8_t)(0x80 | (point >> 6 & 63)));
        cairn_buf_u8(out, (uint8_t)(0x80 | (point & 63)));
    }
}

/* Behind "&". */
static int read_entity(struct cairn_xmlin *xml)
{
    static const struct {
        const char *name;
        char byte;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    char word[ENTITY_MAX_BYTES];
    size_t count = 0;
    int byte;

    while ((byte = take(xml)) >= 0 && byte != ';' && count + 1 < sizeof(word))
        word[count++] = (char)byte;
    if (byte < 0 || byte != ';')
        return byte < 0 && byte != -CAIRN_EEND ? byte : -CAIRN_EDAMAGED;
    word[count] = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, word) == 0)
            return cairn_buf_u8(&xml->text, (uint8_t)known[i].byte);
    if (word[0] != '#')
        return -CAIRN_EDAMAGED;
    add_utf8(&xml->text,
             word[1] == 'x' ? strtoul(word + 2, NULL, 16) : strtoul(word + 1, NULL, 10));
    return xml->text.code;
}

/* Behind "<", up to ">": of a comment, up to "-->". */
static int read_tag(struct cairn_xmlin *xml)
{
    int byte;

    cairn_buf_clear(&xml->tag);
    while ((byte = take(xml)) >= 0) {
        const struct cairn_buf *tag = &xml->tag;

        if (byte == '>' &&
            !(tag->size_bytes >= 3 && memcmp(tag->data, "!--", 3) == 0 &&
              (tag->size_bytes < 5 || memcmp(tag->data + tag->size_bytes - 2, "--", 2) != 0)))
            return 0;
        CAIRN_TRY(cairn_buf_u8(&xml->tag, (uint8_t)byte));
    }
    return byte == -CAIRN_EEND ? -CAIRN_EDAMAGED : byte;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static int judge_tag(struct cairn_xmlin *xml, enum cairn_xmlin_kind *ret_kind)
{
    struct cairn_span tag = cairn_buf_span(&xml->tag);
    size_t size_bytes = 0;

    *ret_kind = CAIRN_XMLIN_BEGIN;
    if (tag.size_bytes > 0 && tag.data[0] == '/') {
        *ret_kind = CAIRN_XMLIN_END;
        tag.data++;
        tag.size_bytes--;
    } else if (tag.size_bytes > 0 && tag.data[tag.size_bytes - 1] == '/') {
        xml->ends = true;
        tag.size_bytes--;
    }
    while (size_bytes < tag.size_bytes && !is_blank(tag.data[size_bytes]))
        size_bytes++;
    xml->name = (struct cairn_span){tag.data, size_bytes};
    return size_bytes > 0 ? 1 : -CAIRN_EDAMAGED;
}

int cairn_xmlin_next(struct cairn_xmlin *xml, enum cairn_xmlin_kind *ret_kind)
{
    int byte;

    cairn_buf_clear(&xml->text);
    if (xml->ends) {
        xml->ends = false;
        *ret_kind = CAIRN_XMLIN_END;
        return 1;
    }
    while ((byte = take(xml)) >= 0) {
        if (byte == '&') {
            CAIRN_TRY(read_entity(xml));
        } else if (byte != '<') {
            CAIRN_TRY(cairn_buf_u8(&xml->text, (uint8_t)byte));
        } else {
            CAIRN_TRY(read_tag(xml));
            if (xml->tag.size_bytes == 0 || !memchr("!?", xml->tag.data[0], 2))
                return judge_tag(xml, ret_kind);
        }
    }
    return byte == -CAIRN_EEND ? 0 : byte;
}

bool cairn_xmlin_attribute(const struct cairn_xmlin *xml, const char *name,
                           struct cairn_span *ret_value)
{
    const uint8_t *at = xml->tag.data, *end = at + xml->tag.size_bytes;
    size_t size_bytes = strlen(name);

    for (at += xml->name.size_bytes; at < end; at++) {
        const uint8_t *value = at + size_bytes + 3, *quote;

        if (!is_blank(*at) || (size_t)(end - at) < size_bytes + 4 ||
            memcmp(at + 1, name, size_bytes) != 0 || at[size_bytes + 1] != '=' ||
            (at[size_bytes + 2] != '"' && at[size_bytes + 2] != '\''))
            continue;
        quote = memchr(value, at[size_bytes + 2], (size_t)(end - value));
        if (!quote)
            return false;
        *ret_value = (struct cairn_span){value, (size_t)(quote - value)};
        return true;
    }
    return false;
}

#include "linewords.h"

#include <string.h>

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

bool cairn_words_begin(struct cairn_span text, const char *head)
{
    size_t size_bytes = strlen(head);

    return text.size_bytes >= size_bytes && memcmp(text.data, head, size_bytes) == 0;
}

struct cairn_span cairn_words_trim(struct cairn_span text)
{
    while (text.size_bytes > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size_bytes--;
    }
    while (text.size_bytes > 0 && is_blank(text.data[text.size_bytes - 1]))
        text.size_bytes--;
    return text;
}

struct cairn_span cairn_words_take(struct cairn_span *text)
{
    struct cairn_span word;

    *text = cairn_words_trim(*text);
    word = (struct cairn_span){text->data, 0};
    while (word.size_bytes < text->size_bytes && !is_blank(text->data[word.size_bytes]))
        word.size_bytes++;
    if (word.size_bytes > 0) {
        text->data += word.size_bytes;
        text->size_bytes -= word.size_bytes;
    }
    return word;
}

bool cairn_words_none(struct cairn_span text)
{
    return cairn_words_trim(text).size_bytes == 0;
}

bool cairn_words_decimal(struct cairn_span word, double *ret_value)
{
    double value = 0, unit = 1;
    bool point = false, any = false;

    for (size_t i = 0; i < word.size_bytes; i++) {
        uint8_t byte = word.data[i];

        if (byte == '.' && !point) {
            point = true;
            continue;
        }
        if (byte < '0' || byte > '9')
            return false;
        any = true;
        if (point)
            unit *= 10;
        value = value * 10 + (byte - '0');
    }
    *ret_value = value / unit;
    return any && value <= 1e18 && unit <= 1e18;
}

struct cairn_span cairn_words_without_offset(struct cairn_span name)
{
    size_t at = name.size_bytes;

    while (at > 0 && memchr("0123456789abcdefABCDEF", name.data[at - 1], 22))
        at--;
    if (at < name.size_bytes && at > 3 && memcmp(name.data + at - 3, "+0x", 3) == 0)
        name.size_bytes = at - 3;
    return name;
}

#include "text.h"

#define REPLACEMENT 0xfffdu
#define LAST_CHARACTER 0x10ffffu

static int is_surrogate(uint32_t character)
{
    return character >= 0xd800 && character <= 0xdfff;
}

size_t cairn_text_utf8_next(const uint8_t *data, size_t size_bytes, uint32_t *ret_char)
{
    /* The least character of each length: below it the form is too long, which is how forbidden
     * characters are smuggled past a check. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t character = data[0];
    size_t length = 1;

    if (character >= 0xf0 && character <= 0xf4)
        length = 4;
    else if (character >= 0xe0 && character < 0xf0)
        length = 3;
    else if (character >= 0xc0 && character < 0xe0)
        length = 2;
    else if (character >= 0x80)
        goto invalid;
    if (length > size_bytes)
        goto invalid;
    if (length > 1)
        character &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++) {
        if ((data[i] & 0xc0) != 0x80)
            goto invalid;
        character = character << 6 | (data[i] & 0x3f);
    }
    if (character < least[length] || character > LAST_CHARACTER || is_surrogate(character))
        goto invalid;
    *ret_char = character;
    return length;

invalid:
    *ret_char = REPLACEMENT;
    return 1;
}

void cairn_text_utf8_add(struct cairn_buf *out, uint32_t character)
{
    uint8_t bytes[4];
    size_t length;

    if (character > LAST_CHARACTER || is_surrogate(character))
        character = REPLACEMENT;
    if (character < 0x80) {
        bytes[0] = (uint8_t)character;
        length = 1;
    } else if (character < 0x800) {
        bytes[0] = (uint8_t)(0xc0 | character >> 6);
        length = 2;
    } else if (character < 0x10000) {
        bytes[0] = (uint8_t)(0xe0 | character >> 12);
        length = 3;
    } else {
        bytes[0] = (uint8_t)(0xf0 | character >> 18);
        length = 4;
    }
    for (size_t i = length; i-- > 1; character >>= 6)
        bytes[i] = (uint8_t)(0x80 | (character & 0x3f));
    cairn_buf_add(out, bytes, length);
}

struct range {
    uint32_t first, last;
    int width;
};

/* Sorted; what is in no range is one column wide. */
static const struct range ranges[] = {
#define X(first, last, width) {first, last, width},
#include "width.def"
#undef X
};

int cairn_text_width(uint32_t character)
{
    size_t low = 0, high = sizeof(ranges) / sizeof(ranges[0]);

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (character < ranges[middle].first)
            high = middle;
        else if (character > ranges[middle].last)
            low = middle + 1;
        else
            return ranges[middle].width;
    }
    return 1;
}

size_t cairn_text_columns(struct cairn_span text)
{
    size_t columns = 0;

    for (size_t at = 0; at < text.size_bytes;) {
        uint32_t character;

        at += cairn_text_utf8_next(text.data + at, text.size_bytes - at, &character);
        columns += (size_t)cairn_text_width(character);
    }
    return columns;
}

#include "pstats_words.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX_BYTES 512 /* what is longer is a regular expression */

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f);
}

struct cairn_span cairn_pstats_strip_spaces(struct cairn_span text)
{
    while (text.size_bytes > 0 && is_space(text.data[0])) {
        text.data++;
        text.size_bytes--;
    }
    while (text.size_bytes > 0 && is_space(text.data[text.size_bytes - 1]))
        text.size_bytes--;
    return text;
}

bool cairn_pstats_word(struct cairn_span *text, struct cairn_span *ret_word)
{
    struct cairn_span rest = cairn_pstats_strip_spaces(*text);
    size_t size_bytes = 0;

    while (size_bytes < rest.size_bytes && !is_space(rest.data[size_bytes]))
        size_bytes++;
    *ret_word = (struct cairn_span){rest.data, size_bytes};
    *text = (struct cairn_span){rest.data + size_bytes, rest.size_bytes - size_bytes};
    return size_bytes > 0;
}

/* Behind a row of digits, between which single underscores may stand; NULL: there is none. */
static const char *skip_digits(const char *text)
{
    const char *at = text;

    while (isdigit((unsigned char)*at) ||
           (*at == '_' && at > text && at[-1] != '_' && isdigit((unsigned char)at[1])))
        at++;
    return at > text ? at : NULL;
}

static const char *skip_sign(const char *text)
{
    return text + (*text == '+' || *text == '-');
}

static bool is_int(const char *text)
{
    const char *end = skip_digits(skip_sign(text));

    return end != NULL && *end == '\0';
}

static bool is_float(const char *text)
{
    const char *at = skip_sign(text), *whole = skip_digits(at), *part = NULL;

    if (strcasecmp(at, "nan") == 0 || strcasecmp(at, "inf") == 0 || strcasecmp(at, "infinity") == 0)
        return true;
    at = whole ? whole : at;
    if (*at == '.') {
        part = skip_digits(++at);
        at = part ? part : at;
    }
    if (!whole && !part)
        return false;
    if (*at == 'e' || *at == 'E') {
        at = skip_digits(skip_sign(at + 1));
        return at != NULL && *at == '\0';
    }
    return *at == '\0';
}

static void drop_underscores(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++)
        if (*text != '_')
            *to++ = *text;
    *to = '\0';
}

bool cairn_pstats_limit(struct cairn_span word, struct cairn_pstats_limit *ret_limit)
{
    char text[NUMBER_MAX_BYTES];
    bool whole, real;

    *ret_limit = (struct cairn_pstats_limit){.kind = CAIRN_LIMIT_MATCH, .pattern = word};
    if (word.size_bytes >= sizeof(text) || memchr(word.data, '\0', word.size_bytes))
        return true;
    memcpy(text, word.data, word.size_bytes);
    text[word.size_bytes] = '\0';
    whole = is_int(text);
    real = !whole && is_float(text);
    drop_underscores(text);
    if (whole) {
        ret_limit->kind = CAIRN_LIMIT_COUNT;
        ret_limit->count = strtoll(text, NULL, 10); /* one that is too large is above all rows */
    } else if (real) {
        ret_limit->kind = CAIRN_LIMIT_SHARE;
        ret_limit->share = strtod(text, NULL);
        return !(ret_limit->share > 1 || ret_limit->share < 0);
    }
    return true;
}

#include "highlight.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define INNER_MAX_BYTES 1000 /* of a text in a field */

static int by_text(const void *key, const void *item)
{
    const struct cairn_span *text = key;
    const char *word = *(const char *const *)item;
    int order = strncmp((const char *)text->data, word, text->size_bytes);

    return order ? order : -(int)(word[text->size_bytes] != '\0');
}

static bool is_keyword(struct cairn_span text)
{
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

    return bsearch(&text, words, sizeof(words) / sizeof(*words), sizeof(*words), by_text) != NULL;
}

static bool is_letter(uint8_t byte)
{
    return isalnum(byte) || byte == '_' || byte >= 0x80;
}

/* The letters in front of a text that say what kind of one it is: r, b, u, f, t. */
static bool is_prefix(const uint8_t *word, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!memchr("rRbBuUfFtT", word[i], 10))
            return false;
    return bytes <= 2;
}

static bool has_fields(const uint8_t *prefix, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memchr("fFtT", prefix[i], 4))
            return true;
    return false;
}

static bool is_end(const struct cairn_highlight *highlight, const uint8_t *at, size_t left)
{
    if (*at != highlight->quote || highlight->braces)
        return false;
    return !highlight->triple || (left >= 3 && at[1] == *at && at[2] == *at);
}

/* Behind a text that lies in a field, on one line; `at` itself: none does. */
static size_t inner_end(struct cairn_span line, size_t at)
{
    size_t end = at + 1, most = at + INNER_MAX_BYTES;

    if (most > line.size_bytes)
        most = line.size_bytes;
    while (end < most && line.data[end] != line.data[at])
        end += line.data[end] == '\\' ? 2 : 1;
    return end < most ? end + 1 : at;
}

/* What a brace of a text does; the bytes that it takes. */
static size_t brace(struct cairn_highlight *highlight, const uint8_t *here, bool twice)
{
    if (twice && !highlight->braces)
        return 2; /* one of the text's own */
    if (*here == '{')
        highlight->braces++;
    else if (highlight->braces)
        highlight->braces--;
    if (highlight->braces == (*here == '{'))
        highlight->brackets = highlight->format = 0;
    return 1;
}

/* Takes note of where in a field we are. */
static void pass_in_field(struct cairn_highlight *highlight, uint8_t byte)
{
    if (byte == '(' || byte == '[')
        highlight->brackets++;
    else if ((byte == ')' || byte == ']') && highlight->brackets)
        highlight->brackets--;
    else if (byte == ':' && highlight->braces == 1 && !highlight->brackets)
        highlight->format = true;
}

/* How far the open text goes: to behind its end, or the line's. */
static size_t string_end(struct cairn_highlight *highlight, struct cairn_span line, size_t at)
{
    while (at < line.size_bytes) {
        const uint8_t *here = line.data + at;
        size_t left = line.size_bytes - at;
        bool is_brace = highlight->fields && (*here == '{' || *here == '}');

        if (is_end(highlight, here, left)) {
            at += highlight->triple ? 3 : 1;
            *highlight = (struct cairn_highlight){0};
            return at;
        }
        if (is_brace) {
            at += brace(highlight, here, left > 1 && here[1] == *here);
        } else if (highlight->braces && !highlight->format && (*here == '"' || *here == '\'')) {
            size_t end = inner_end(line, at);

            at = end > at ? end : at + 1;
        } else if (*here == '\\' && !highlight->braces) {
            if (left == 1 && !highlight->triple)
                return at + 1; /* it goes on in the next line */
            at += left == 1 || (highlight->fields && (here[1] == '{' || here[1] == '}')) ? 1 : 2;
        } else {
            pass_in_field(highlight, *here);
            at++;
        }
    }
    if (!highlight->triple)
        *highlight = (struct cairn_highlight){0};
    return at < line.size_bytes ? at : line.size_bytes;
}

/* Takes note of the text whose quotes begin at `at`; where its inside begins. */
static size_t string_begin(struct cairn_highlight *highlight, struct cairn_span line, size_t prefix,
                           size_t at)
{
    const uint8_t *quotes = line.data + at;

    *highlight = (struct cairn_highlight){
        .quote = *quotes,
        .triple = line.size_bytes - at >= 3 && quotes[1] == *quotes && quotes[2] == *quotes,
        .fields = has_fields(line.data + prefix, at - prefix),
    };
    return at + (highlight->triple ? 3 : 1);
}

/* The end of the word, or of the one byte, that begins at `at`. */
static size_t word_end(struct cairn_span line, size_t at)
{
    size_t end = at;

    while (end < line.size_bytes && is_letter(line.data[end]))
        end++;
    return end > at ? end : at + 1;
}

/* What begins at `at` and is not plain; *ret_end: behind it, or behind what is. */
static enum cairn_highlight_kind piece_at(struct cairn_highlight *highlight, struct cairn_span line,
                                          size_t at, size_t *ret_end)
{
    size_t end = word_end(line, at), quotes = at;

    if (line.data[at] == '#') {
        *ret_end = line.size_bytes;
        return CAIRN_HIGHLIGHT_COMMENT;
    }
    if (is_letter(line.data[at]) && is_prefix(line.data + at, end - at))
        quotes = end;
    if (quotes < line.size_bytes && (line.data[quotes] == '"' || line.data[quotes] == '\'')) {
        *ret_end = string_end(highlight, line, string_begin(highlight, line, at, quotes));
        return CAIRN_HIGHLIGHT_STRING;
    }
    *ret_end = end;
    return is_keyword((struct cairn_span){line.data + at, end - at}) ? CAIRN_HIGHLIGHT_KEYWORD
                                                                     : CAIRN_HIGHLIGHT_PLAIN;
}

bool cairn_highlight_next(struct cairn_highlight *highlight, struct cairn_span line, size_t *at,
                          enum cairn_highlight_kind *ret_kind, struct cairn_span *ret_piece)
{
    size_t begin = *at, end = begin;

    if (begin >= line.size_bytes)
        return false;
    if (highlight->quote) {
        *ret_kind = CAIRN_HIGHLIGHT_STRING;
        *at = string_end(highlight, line, begin);
    } else {
        struct cairn_highlight before = *highlight;

        *ret_kind = piece_at(highlight, line, begin, at);
        while (*ret_kind == CAIRN_HIGHLIGHT_PLAIN && *at < line.size_bytes) {
            before = *highlight;
            if (piece_at(highlight, line, *at, &end) != CAIRN_HIGHLIGHT_PLAIN) {
                *highlight = before;
                break;
            }
            *at = end;
        }
    }
    *ret_piece = (struct cairn_span){line.data + begin, *at - begin};
    return true;
}

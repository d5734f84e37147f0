#include <ctype.h>
#include <string.h>

#include "dot.h"

#define LINE_CHARACTERS 32

static size_t characters_of(struct cairn_span text)
{
    size_t characters = 0;

    for (size_t i = 0; i < text.size_bytes; i++)
        characters += (text.data[i] & 0xc0) != 0x80;
    return characters;
}

static bool is_letter(struct cairn_span text, size_t at)
{
    return at < text.size_bytes &&
           (isalpha(text.data[at]) || text.data[at] == '_' || text.data[at] >= 0x80);
}

/* Whether a line may end behind the hyphen at `at`: it joins two words. */
static bool is_joint(struct cairn_span text, size_t at)
{
    bool before = at >= 2 && is_letter(text, at - 1) &&
                  (is_letter(text, at - 2) ||
                   (at >= 3 && text.data[at - 2] == '-' && is_letter(text, at - 3)));
    bool behind =
        is_letter(text, at + 1) &&
        (is_letter(text, at + 2) ||
         (at + 2 < text.size_bytes && text.data[at + 2] == '-' && is_letter(text, at + 3)));

    return before && behind;
}

/* What is not broken: blanks, or a word up to where it may be. */
static struct cairn_span chunk_at(struct cairn_span text, size_t at)
{
    bool blank = text.data[at] == ' ';
    size_t end = at;

    while (end < text.size_bytes && (text.data[end] == ' ') == blank) {
        end++;
        if (!blank && text.data[end - 1] == '-' && is_joint(text, end - 1))
            break;
    }
    return (struct cairn_span){text.data + at, end - at};
}

/* Lines, in `out`; blanks at the ends of a line are left out, but for those in front of the first.
 */
static void break_lines(struct cairn_buf *out, struct cairn_span text)
{
    size_t width = 0, at = 0, held = 0; /* held: blanks that wait for a word behind them */

    while (at < text.size_bytes) {
        struct cairn_span chunk = chunk_at(text, at);
        size_t more = characters_of(chunk);

        at += chunk.size_bytes;
        if (chunk.data[0] == ' ') {
            held = out->size_bytes == 0 || width > 0 ? more : 0;
            continue;
        }
        if (width + held > 0 && width + held + more > LINE_CHARACTERS) {
            if (width > 0)
                cairn_buf_u8(out, '\n');
            width = held = 0;
        }
        for (; held > 0; held--, width++)
            cairn_buf_u8(out, ' ');
        cairn_buf_add(out, chunk.data, chunk.size_bytes);
        width += more;
    }
}

/* Takes `count` bytes behind the first `keep` of each `what`. */
static void shorten(struct cairn_buf *buf, const char *what, size_t keep, size_t count)
{
    size_t length = strlen(what), to = 0;

    for (size_t from = 0; from < buf->size_bytes;) {
        if (buf->size_bytes - from >= length && memcmp(buf->data + from, what, length) == 0) {
            memmove(buf->data + to, buf->data + from, keep);
            memmove(buf->data + to + keep, buf->data + from + keep + count, length - keep - count);
            to += length - count;
            from += length;
        } else {
            buf->data[to++] = buf->data[from++];
        }
    }
    buf->size_bytes = to;
}

int cairn_dot_wrap(struct cairn_buf *out, struct cairn_span name)
{
    if (characters_of(name) > LINE_CHARACTERS)
        break_lines(out, name);
    else
        cairn_buf_add(out, name.data, name.size_bytes);
    if (out->code < 0)
        return out->code;
    shorten(out, ", ", 1, 1);
    shorten(out, "> >", 1, 1);
    shorten(out, "> >", 1, 1);
    return 0;
}

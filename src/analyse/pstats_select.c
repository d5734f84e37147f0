/* Which rows are printed, and what is said of that (pstats.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pstats.h"
#include "pyregex.h"
#include "text.h"

#define ROWS_MAX ((size_t)1 << 22)
#define MESSAGE_MAX_BYTES ((size_t)16 << 20)

/* repr() of a float between 0 and 1: the fewest digits that give it back. */
static void put_share(struct cairn_buf *out, double share)
{
    char digits[40];

    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, share);
        if (strtod(digits, NULL) == share)
            break;
    }
    cairn_buf_add_str(out, digits);
    if (strpbrk(digits, ".e") == NULL)
        cairn_buf_add_str(out, ".0");
}

/* repr() of a str. What is no ASCII is taken for printable, but for the controls of Latin-1. */
static void put_repr(struct cairn_buf *out, struct cairn_span text)
{
    bool single = memchr(text.data, '\'', text.size_bytes) != NULL;
    bool both = single && memchr(text.data, '"', text.size_bytes) != NULL;
    char quote = single && !both ? '"' : '\'';

    cairn_buf_u8(out, (uint8_t)quote);
    for (size_t at = 0; at < text.size_bytes;) {
        uint32_t character;

        at += cairn_text_utf8_next(text.data + at, text.size_bytes - at, &character);
        if (character == (uint32_t)quote || character == '\\')
            cairn_buf_printf(out, "\\%c", (int)character);
        else if (character == '\t' || character == '\n' || character == '\r')
            cairn_buf_printf(out, "\\%c", character == '\t' ? 't' : character == '\n' ? 'n' : 'r');
        else if (character < 0x20 || (character >= 0x7f && character < 0xa1) || character == 0xad)
            cairn_buf_printf(out, "\\x%02x", (unsigned)character);
        else
            cairn_text_utf8_add(out, character);
    }
    cairn_buf_u8(out, (uint8_t)quote);
}

static void put_limit(struct cairn_buf *out, const struct cairn_pstats_limit *limit)
{
    if (limit->kind == CAIRN_LIMIT_COUNT)
        cairn_buf_printf(out, "%" PRId64, limit->count);
    else if (limit->kind == CAIRN_LIMIT_SHARE)
        put_share(out, limit->share);
    else
        put_repr(out, limit->pattern);
}

/* Keeps the rows whose names match; *ret_valid false: it is no regular expression. */
static int match(const struct cairn_pstats *stats, const struct cairn_pstats_limit *limit,
                 struct cairn_pstats_list *list, bool *ret_valid)
{
    struct cairn_pyregex *regex;
    size_t kept = 0;
    int code = cairn_pyregex_make(limit->pattern, CAIRN_PYREGEX_PYTHON, &regex);

    *ret_valid = code != -CAIRN_EUSAGE;
    if (code < 0)
        return *ret_valid ? code : 0;
    for (size_t i = 0; i < list->rows.count && code == 0; i++) {
        uint32_t row = list->rows.items[i];
        bool found = false;

        code = cairn_pyregex_search(
            regex, cairn_pstats_name(stats, stats->prof.rows.items[row].key), &found);
        if (found)
            list->rows.items[kept++] = row;
    }
    if (code == 0)
        list->rows.count = kept;
    cairn_pyregex_free(regex);
    return code;
}

static int restrict_rows(const struct cairn_pstats *stats, const struct cairn_pstats_limit *limit,
                         struct cairn_pstats_list *list)
{
    size_t before = list->rows.count, count = before;
    bool valid = true;

    if (limit->kind == CAIRN_LIMIT_MATCH) {
        CAIRN_TRY(match(stats, limit, list, &valid));
        if (!valid) {
            cairn_buf_add_str(&list->message, "   <Invalid regular expression ");
            put_repr(&list->message, limit->pattern);
            return cairn_buf_add_str(&list->message, ">\n");
        }
        count = list->rows.count;
    } else if (limit->kind == CAIRN_LIMIT_COUNT) {
        if (limit->count >= 0 && (uint64_t)limit->count < before)
            count = (size_t)limit->count;
    } else if (limit->share >= 0 && limit->share < 1) {
        count = (size_t)((double)before * limit->share + .5);
    }
    list->rows.count = count;
    if (count == before)
        return 0;
    cairn_buf_printf(&list->message, "   List reduced from %zu to %zu due to restriction <", before,
                     count);
    put_limit(&list->message, limit);
    return cairn_buf_add_str(&list->message, ">\n");
}

static int begin(const struct cairn_pstats *stats, struct cairn_pstats_list *list)
{
    size_t count = stats->prof.rows.count;

    CAIRN_TRY(cairn_vec_reserve(&list->rows, count, ROWS_MAX));
    for (size_t i = 0; i < count; i++)
        list->rows.items[i] = stats->sorted ? stats->order.items[i] : (uint32_t)i;
    list->rows.count = count;
    if (!stats->sorted)
        return cairn_buf_add_str(&list->message, "   Random listing order was used\n");
    cairn_buf_add_str(&list->message, "   Ordered by: ");
    cairn_buf_add(&list->message, stats->sorted_by.data, stats->sorted_by.size_bytes);
    return cairn_buf_u8(&list->message, '\n');
}

int cairn_pstats_select(const struct cairn_pstats *stats, const struct cairn_pstats_limit *limits,
                        size_t count, struct cairn_pstats_list *ret_list)
{
    struct cairn_pstats_list *list = ret_list;

    *list = (struct cairn_pstats_list){.name_width = stats->name_width};
    cairn_buf_init(&list->message, MESSAGE_MAX_BYTES);
    CAIRN_TRY(begin(stats, list));
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(restrict_rows(stats, &limits[i], list));
    if (list->rows.count == stats->prof.rows.count)
        return 0;
    list->name_width = 0;
    for (size_t i = 0; i < list->rows.count; i++) {
        uint32_t key = stats->prof.rows.items[list->rows.items[i]].key;
        size_t width = cairn_pstats_width(cairn_pstats_name(stats, key));

        list->name_width = width > list->name_width ? width : list->name_width;
    }
    return 0;
}

void cairn_pstats_list_release(struct cairn_pstats_list *list)
{
    cairn_vec_release(&list->rows);
    cairn_buf_release(&list->message);
}

#include "maps.h"

#include <string.h>

#include "err.h"

#define DELETED " (deleted)"

/* Cuts the line off; the cursor stands behind its newline afterwards. */
static struct cairn_span take_line(struct cairn_cursor *cur)
{
    const uint8_t *end = memchr(cur->next, '\n', (size_t)(cur->end - cur->next));
    struct cairn_span line = {cur->next, (size_t)((end ? end : cur->end) - cur->next)};

    cur->next = end ? end + 1 : cur->end;
    return line;
}

/* Takes a number and the one character behind it. */
static bool take_number(struct cairn_cursor *line, unsigned base, char behind, uint64_t *ret)
{
    uint64_t value = 0;
    const uint8_t *start = line->next;

    for (; line->next < line->end; line->next++) {
        uint8_t c = *line->next;
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (base == 16 && c >= 'a' && c <= 'f')
            digit = c - 'a' + 10u;
        else
            break;
        if (value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    if (line->next == start)
        return false;
    if (behind) {
        if (line->next == line->end || *line->next != (uint8_t)behind)
            return false;
        line->next++;
    }
    *ret = value;
    return true;
}

static bool take_flags(struct cairn_cursor *line, struct cairn_map_range *range)
{
    const uint8_t *p = line->next;

    if (line->end - p < 5 || p[4] != ' ')
        return false;
    range->readable = p[0] == 'r';
    range->writable = p[1] == 'w';
    range->executable = p[2] == 'x';
    line->next += 5;
    return true;
}

static void take_path(struct cairn_cursor *line, struct cairn_map_range *range)
{
    size_t size;

    while (line->next < line->end && *line->next == ' ')
        line->next++;
    size = (size_t)(line->end - line->next);
    if (size > strlen(DELETED) &&
        memcmp(line->end - strlen(DELETED), DELETED, strlen(DELETED)) == 0) {
        range->deleted = true;
        size -= strlen(DELETED);
    }
    range->path = (struct cairn_span){line->next, size};
}

int cairn_maps_next(struct cairn_cursor *cur, struct cairn_map_range *ret_range)
{
    struct cairn_map_range range = {0};
    struct cairn_cursor line;
    uint64_t major, minor;

    if (cur->next == cur->end)
        return -CAIRN_EEND;
    cairn_cursor_init(&line, take_line(cur));
    if (!take_number(&line, 16, '-', &range.start) || !take_number(&line, 16, ' ', &range.end) ||
        range.start >= range.end || !take_flags(&line, &range) ||
        !take_number(&line, 16, ' ', &range.offset) || !take_number(&line, 16, ':', &major) ||
        !take_number(&line, 16, ' ', &minor) || !take_number(&line, 10, 0, &range.inode))
        return -CAIRN_EDAMAGED;
    range.major = (uint32_t)major;
    range.minor = (uint32_t)minor;
    take_path(&line, &range);
    *ret_range = range;
    return 0;
}

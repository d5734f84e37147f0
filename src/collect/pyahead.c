#include "pyahead.h"

#include <stdbool.h>

#include "alloc.h"
#include "err.h"

#define PAGE_BYTES UINT64_C(4096)
/* A page more: what is asked for may end in the page behind. */
#define WINDOW_BYTES ((size_t)(CAIRN_PYAHEAD_PAGES_MAX + 1) * PAGE_BYTES)
#define COPIES_BYTES (8 * WINDOW_BYTES)
#define FIRST_PAGES 4 /* of a row of which nothing is expected, where another was long before */
#define MORE_PAGES 2  /* than the row before had */
#define PIECES_MAX 8  /* of 1, 1, 2, 4, 8 pages and what is left */
#define WINDOWS_MAX (COPIES_BYTES / PAGE_BYTES)

void cairn_pyahead_release(struct cairn_pyahead *ahead)
{
    cairn_vec_release(&ahead->windows);
    free(ahead->copies);
    ahead->copies = NULL;
    ahead->used_bytes = 0;
}

static size_t pages_of(const struct cairn_pyrow *row)
{
    return (size_t)(row->high / PAGE_BYTES - row->low / PAGE_BYTES) + 1;
}

static void begin_row(struct cairn_pyahead *ahead, uint64_t address)
{
    if (ahead->row.number == 1 || pages_of(&ahead->row) > pages_of(&ahead->longest))
        ahead->longest = ahead->row;
    ahead->row = (struct cairn_pyrow){address, address, address, ahead->row.number + 1};
}

void cairn_pyahead_clear(struct cairn_pyahead *ahead)
{
    if (ahead->row.number) {
        begin_row(ahead, 0);
        ahead->expected = ahead->longest;
    }
    ahead->row.number = 0;
    ahead->windows.count = 0;
    ahead->used_bytes = 0;
}

static void go_on(struct cairn_pyrow *row, uint64_t address)
{
    if (address < row->low)
        row->low = address;
    if (address > row->high)
        row->high = address;
}

/* The latest window first: most frames lie where the last one did. */
static const uint8_t *find(const struct cairn_pyahead *ahead, uint64_t address, size_t size_bytes)
{
    for (size_t i = ahead->windows.count; i-- > 0;) {
        const struct cairn_pywindow *window = &ahead->windows.items[i];
        uint64_t offset = address - window->address;

        if (address >= window->address && offset <= window->size_bytes &&
            size_bytes <= window->size_bytes - offset)
            return ahead->copies + window->place + offset;
    }
    return NULL;
}

/* How many pages beside those that are asked for are worth a guess, and on which side. */
static size_t guess(struct cairn_pyahead *ahead, uint64_t start, uint64_t end, bool *ret_down)
{
    const struct cairn_pyrow *expected = &ahead->expected;
    size_t pages = 1;

    if (ahead->windows.count) {
        const struct cairn_pywindow *last = &ahead->windows.items[ahead->windows.count - 1];
        uint64_t last_end = last->address + last->size_bytes;

        *ret_down = start < last->address && end >= last->address;
        if (*ret_down || (start <= last_end && end > last_end))
            pages = 2 * (size_t)(last->size_bytes / PAGE_BYTES);
    }
    if (pages == 1) {
        begin_row(ahead, start);
        if (expected->number)
            pages = pages_of(expected) + MORE_PAGES;
        if (ahead->row.number != expected->number && pages > FIRST_PAGES)
            pages = FIRST_PAGES;
        *ret_down = expected->high - expected->first < expected->first - expected->low;
    }
    if (pages > CAIRN_PYAHEAD_PAGES_MAX)
        pages = CAIRN_PYAHEAD_PAGES_MAX;
    if (!pages || (*ret_down && pages > start / PAGE_BYTES) ||
        (!*ret_down && end > UINT64_MAX - pages * PAGE_BYTES))
        return 0;
    return pages - 1;
}

static int make_room(struct cairn_pyahead *ahead)
{
    if (!ahead->copies)
        ahead->copies = cairn_malloc(COPIES_BYTES);
    if (!ahead->copies)
        return -CAIRN_ENOMEM;
    if (COPIES_BYTES - ahead->used_bytes < WINDOW_BYTES || ahead->windows.count == WINDOWS_MAX)
        ahead->used_bytes = ahead->windows.count = 0; /* a frame is looked at once */
    return cairn_vec_reserve(&ahead->windows, ahead->windows.count + 1, WINDOWS_MAX);
}

/* Copies what is asked for, and of what is guessed what is there: in pieces, the nearer the
 * smaller, since where one of them ends nothing more is read. */
static int copy(struct cairn_pyahead *ahead, struct cairn_remote *remote, uint64_t start,
                uint64_t end)
{
    bool down = false;
    size_t guessed = guess(ahead, start, end, &down) * PAGE_BYTES, size = (size_t)(end - start);
    uint8_t *data = ahead->copies + ahead->used_bytes + (down ? guessed : 0);
    struct cairn_remote_part parts[PIECES_MAX] = {{start, data, size}};
    size_t count = 1, done = 0, beside = 0;
    int code;

    for (size_t piece = PAGE_BYTES; beside < guessed; piece *= 2, count++) {
        if (piece > guessed - beside)
            piece = guessed - beside;
        beside += piece;
        parts[count] =
            (struct cairn_remote_part){down ? start - beside : end + beside - piece,
                                       down ? data - beside : data + size + beside - piece, piece};
    }
    code = cairn_remote_read(remote, parts, count, &done);
    if (!done)
        return code;
    for (beside = 0; done > 1; done--)
        beside += parts[done - 1].size_bytes;
    ahead->windows.items[ahead->windows.count++] = (struct cairn_pywindow){
        .address = down ? start - beside : start,
        .size_bytes = size + beside,
        .place = (size_t)(data - ahead->copies) - (down ? beside : 0),
    };
    ahead->used_bytes += size + guessed;
    return 0;
}

int cairn_pyahead_get(struct cairn_pyahead *ahead, struct cairn_remote *remote, uint64_t address,
                      size_t size_bytes, const uint8_t **ret_data)
{
    uint64_t start = address / PAGE_BYTES * PAGE_BYTES, end = start + PAGE_BYTES;
    int code = 0;

    *ret_data = find(ahead, address, size_bytes);
    if (!*ret_data) {
        if (address > UINT64_MAX - 2 * PAGE_BYTES)
            return -CAIRN_EUNREADABLE;
        if (address + size_bytes > end)
            end = address + size_bytes;
        CAIRN_TRY(make_room(ahead));
        code = copy(ahead, remote, start, end);
        if (code == -CAIRN_EUNREADABLE || code == -CAIRN_ESHORT) /* not all of that is there */
            code = copy(ahead, remote, address, address + size_bytes);
        if (code < 0)
            return code;
        *ret_data = find(ahead, address, size_bytes);
    }
    go_on(&ahead->row, address);
    return 0;
}

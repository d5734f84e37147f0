#include "pypages.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "pystr.h"

#define RUN_PAGES 128  /* that lie side by side are read as one */
#define KEEP_ROUNDS 16 /* pages that nobody looked at for so long are forgotten */
#define BUFFER_MAX_BYTES ((size_t)CAIRN_PYPAGES_MAX * CAIRN_PYPAGE_BYTES)

void cairn_pypages_init(struct cairn_pypages *pages, size_t page_bytes)
{
    *pages = (struct cairn_pypages){.page_bytes = page_bytes};
    cairn_map_init(&pages->index, CAIRN_PYPAGES_MAX);
}

void cairn_pypages_release(struct cairn_pypages *pages)
{
    cairn_map_release(&pages->index);
    cairn_vec_release(&pages->pages);
    cairn_vec_release(&pages->parts);
    cairn_vec_release(&pages->ok);
    free(pages->first);
    free(pages->second);
    pages->first = pages->second = NULL;
    pages->first_cap = pages->second_cap = 0;
}

void cairn_pypages_clear(struct cairn_pypages *pages)
{
    pages->pages.count = pages->again = 0;
    cairn_map_clear(&pages->index);
}

/* Adds a page that is not known. */
static int add(struct cairn_pypages *pages, uint64_t address, bool ok)
{
    size_t count = pages->pages.count;

    CAIRN_TRY(cairn_vec_reserve(&pages->pages, count + 1, CAIRN_PYPAGES_MAX));
    CAIRN_TRY(cairn_map_put(&pages->index, address, 0, count));
    pages->pages.items[count] =
        (struct cairn_pypage){.address = address, .round = pages->round, .ok = ok};
    pages->pages.count = count + 1;
    return 0;
}

int cairn_pypages_want(struct cairn_pypages *pages, uint64_t address, size_t size_bytes)
{
    uint64_t at = address - address % pages->page_bytes, known;

    if (address > UINT64_MAX - CAIRN_PYPAGE_BYTES - size_bytes)
        return 0; /* nothing lies there */
    for (; at < address + size_bytes; at += pages->page_bytes)
        if (pages->pages.count < CAIRN_PYPAGES_MAX && !cairn_map_get(&pages->index, at, 0, &known))
            CAIRN_TRY(add(pages, at, true));
    return 0;
}

/* Room for the copies of `count` pages. */
static int make_room(const struct cairn_pypages *pages, uint8_t **buffer, size_t *cap, size_t count)
{
    return cairn_vec_grow((void **)buffer, cap, count * pages->page_bytes, 1, BUFFER_MAX_BYTES);
}

/* Pages that lie side by side, and whose copies do, are one part: each takes its time. */
static int plan(struct cairn_pypages *pages, size_t place, uint8_t *buffer, bool runs)
{
    const size_t count = pages->parts.count, page_bytes = pages->page_bytes;
    struct cairn_pypage *page = &pages->pages.items[place];
    uint8_t *data = buffer + place * page_bytes;
    struct cairn_remote_part *last = count ? &pages->parts.items[count - 1] : NULL;

    if (runs && last && last->address + last->size_bytes == page->address &&
        (uint8_t *)last->data + last->size_bytes == data &&
        last->size_bytes < RUN_PAGES * page_bytes) {
        last->size_bytes += page_bytes;
        page->part = count - 1;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&pages->parts, count + 1, 2 * CAIRN_PYPAGES_MAX));
    CAIRN_TRY(cairn_vec_reserve(&pages->ok, count + 1, 2 * CAIRN_PYPAGES_MAX));
    pages->parts.items[count] = (struct cairn_remote_part){page->address, data, page_bytes};
    pages->parts.count = count + 1;
    page->part = count;
    return 0;
}

static int read_planned(struct cairn_pypages *pages, struct cairn_remote *remote, bool *ret_all)
{
    *ret_all = true;
    CAIRN_TRY(
        cairn_pystr_read_each(remote, pages->parts.items, pages->parts.count, pages->ok.items));
    for (size_t i = 0; i < pages->parts.count; i++)
        *ret_all &= pages->ok.items[i];
    return 0;
}

static int read_looked_at(struct cairn_pypages *pages, struct cairn_remote *remote, bool runs,
                          bool *ret_all)
{
    pages->parts.count = 0;
    for (size_t i = 0; i < pages->pages.count; i++)
        if (pages->pages.items[i].round == pages->round)
            CAIRN_TRY(plan(pages, i, pages->second, runs));
    return read_planned(pages, remote, ret_all);
}

/* Reads again what was looked at in this round. */
static int read_again(struct cairn_pypages *pages, struct cairn_remote *remote)
{
    bool all;

    CAIRN_TRY(make_room(pages, &pages->second, &pages->second_cap, pages->pages.count));
    CAIRN_TRY(read_looked_at(pages, remote, true, &all));
    if (!all) /* one of them, and not those beside it */
        CAIRN_TRY(read_looked_at(pages, remote, false, &all));
    for (size_t i = 0; i < pages->pages.count; i++) {
        struct cairn_pypage *page = &pages->pages.items[i];

        page->again = page->round == pages->round && pages->ok.items[page->part];
    }
    pages->again = pages->pages.count;
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct cairn_pypage *one = a, *other = b;

    return (one->address > other->address) - (one->address < other->address);
}

/* Forgets pages that were of no use for long, and those that cannot be read; the others are put in
 * order. */
static int forget(struct cairn_pypages *pages)
{
    struct cairn_pypage *items = pages->pages.items;
    size_t kept = 0;
    bool sorted = true;

    for (size_t i = 0; i < pages->pages.count; i++) {
        if (!items[i].ok || items[i].round + KEEP_ROUNDS < pages->round)
            continue;
        sorted &= !kept || items[kept - 1].address < items[i].address;
        items[kept++] = items[i];
    }
    if (sorted && kept == pages->pages.count)
        return 0;
    if (!sorted)
        qsort(items, kept, sizeof(*items), by_address);
    pages->pages.count = kept;
    cairn_map_clear(&pages->index);
    for (size_t i = 0; i < kept; i++)
        CAIRN_TRY(cairn_map_put(&pages->index, items[i].address, 0, i));
    return 0;
}

/* *ret_once: so many parts are the first of the two readings. */
static int read_all(struct cairn_pypages *pages, struct cairn_remote *remote, bool at_once,
                    bool runs, size_t *ret_once, bool *ret_all)
{
    const size_t count = pages->pages.count;

    pages->parts.count = 0;
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(plan(pages, i, pages->first, runs));
    *ret_once = pages->parts.count;
    for (size_t i = 0; at_once && i < count; i++)
        CAIRN_TRY(plan(pages, i, pages->second, runs));
    return read_planned(pages, remote, ret_all);
}

int cairn_pypages_begin(struct cairn_pypages *pages, struct cairn_remote *remote, bool at_once)
{
    size_t count, once;
    bool all;

    pages->round++;
    CAIRN_TRY(forget(pages));
    count = pages->pages.count;
    CAIRN_TRY(make_room(pages, &pages->first, &pages->first_cap, count));
    CAIRN_TRY(make_room(pages, &pages->second, &pages->second_cap, count));
    CAIRN_TRY(read_all(pages, remote, at_once, true, &once, &all));
    if (!all)
        CAIRN_TRY(read_all(pages, remote, at_once, false, &once, &all));
    for (size_t i = 0; i < count; i++) {
        struct cairn_pypage *page = &pages->pages.items[i];

        page->again = at_once && pages->ok.items[page->part];
        page->ok = pages->ok.items[at_once ? page->part - once : page->part];
    }
    pages->again = at_once ? count : 0;
    return 0;
}

/* Most of what is looked for lies where the last was. */
static bool is_known(struct cairn_pypages *pages, uint64_t address, size_t *ret_place)
{
    uint64_t known;

    if (pages->last >= pages->pages.count || pages->pages.items[pages->last].address != address) {
        if (!cairn_map_get(&pages->index, address, 0, &known))
            return false;
        pages->last = (size_t)known;
    }
    *ret_place = pages->last;
    return true;
}

static int find(struct cairn_pypages *pages, struct cairn_remote *remote, uint64_t address,
                size_t *ret_place)
{
    size_t count = pages->pages.count;
    int code;

    if (is_known(pages, address, ret_place))
        return 0;
    if (count == CAIRN_PYPAGES_MAX)
        return -CAIRN_EUNREADABLE;
    CAIRN_TRY(make_room(pages, &pages->first, &pages->first_cap, count + 1));
    code = cairn_remote_get(remote, address, pages->first + count * pages->page_bytes,
                            pages->page_bytes);
    if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
        return code;
    *ret_place = count;
    return add(pages, address, code == 0);
}

/* How much of what is asked for lies in the page of its start. */
static size_t part_of(const struct cairn_pypages *pages, uint64_t address, size_t size_bytes)
{
    size_t left = pages->page_bytes - (size_t)(address % pages->page_bytes);

    return size_bytes < left ? size_bytes : left;
}

int cairn_pypages_get(struct cairn_pypages *pages, struct cairn_remote *remote, uint64_t address,
                      void *data, size_t size_bytes)
{
    uint8_t *to = data;

    while (size_bytes) {
        size_t part = part_of(pages, address, size_bytes), within = address % pages->page_bytes;
        struct cairn_pypage *page;
        size_t place = 0;

        CAIRN_TRY(find(pages, remote, address - within, &place));
        page = &pages->pages.items[place];
        page->round = pages->round;
        if (!page->ok)
            return -CAIRN_EUNREADABLE;
        memcpy(to, pages->first + place * pages->page_bytes + within, part);
        to += part;
        address += part;
        size_bytes -= part;
    }
    return 0;
}

/* What was read before a page was added, and after it, was not seen to stay as it was meanwhile:
 * then all are read again. */
int cairn_pypages_again(struct cairn_pypages *pages, struct cairn_remote *remote)
{
    return pages->again == pages->pages.count ? 0 : read_again(pages, remote);
}

static int get_again(struct cairn_pypages *pages, uint64_t address, void *data, size_t size_bytes)
{
    uint8_t *to = data;

    while (size_bytes) {
        size_t part = part_of(pages, address, size_bytes), within = address % pages->page_bytes;
        size_t place;

        if (!is_known(pages, address - within, &place) || !pages->pages.items[place].again)
            return -CAIRN_EUNREADABLE;
        memcpy(to, pages->second + place * pages->page_bytes + within, part);
        to += part;
        address += part;
        size_bytes -= part;
    }
    return 0;
}

int cairn_pyview_get(const struct cairn_pyview *view, uint64_t address, void *data,
                     size_t size_bytes)
{
    return view->remote ? cairn_pypages_get(view->pages, view->remote, address, data, size_bytes)
                        : get_again(view->pages, address, data, size_bytes);
}

static int view_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                     size_t *ret_parts)
{
    for (*ret_parts = 0; *ret_parts < count; ++*ret_parts) {
        const struct cairn_remote_part *part = &parts[*ret_parts];
        int code = cairn_pyview_get(ctx, part->address, part->data, part->size_bytes);

        if (code < 0)
            return code == -CAIRN_EUNREADABLE && *ret_parts ? -CAIRN_ESHORT : code;
    }
    return 0;
}

void cairn_pyview_remote(struct cairn_pyview *view, struct cairn_remote *ret_remote)
{
    *ret_remote = (struct cairn_remote){.read = view_read, .ctx = view};
}

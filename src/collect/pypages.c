#include "pypages.h"

#include <string.h>

#include "err.h"
#include "pystr.h"

#define KEEP_ROUNDS 16 /* pages that nobody looked at for so long are forgotten */
#define BUFFER_MAX_BYTES ((size_t)CAIRN_PYPAGES_MAX * CAIRN_PYPAGE_BYTES)

void cairn_pypages_init(struct cairn_pypages *pages)
{
    *pages = (struct cairn_pypages){0};
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
    free(pages->third);
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

int cairn_pypages_want(struct cairn_pypages *pages, uint64_t address)
{
    uint64_t known;

    address -= address % CAIRN_PYPAGE_BYTES;
    if (pages->pages.count == CAIRN_PYPAGES_MAX || cairn_map_get(&pages->index, address, 0, &known))
        return 0;
    return add(pages, address, true);
}

/* Room for the copies of `count` pages. */
static int make_room(uint8_t **buffer, size_t *cap, size_t count)
{
    return cairn_vec_grow((void **)buffer, cap, count * CAIRN_PYPAGE_BYTES, 1, BUFFER_MAX_BYTES);
}

static int plan(struct cairn_pypages *pages, size_t place, uint8_t *buffer)
{
    size_t count = pages->parts.count;

    CAIRN_TRY(cairn_vec_reserve(&pages->parts, count + 1, CAIRN_PYPAGES_MAX));
    CAIRN_TRY(cairn_vec_reserve(&pages->ok, count + 1, CAIRN_PYPAGES_MAX));
    pages->parts.items[count] = (struct cairn_remote_part){
        pages->pages.items[place].address, buffer + place * CAIRN_PYPAGE_BYTES, CAIRN_PYPAGE_BYTES};
    pages->parts.count = count + 1;
    return 0;
}

static int read_planned(struct cairn_pypages *pages, struct cairn_remote *remote)
{
    return cairn_pystr_read_each(remote, pages->parts.items, pages->parts.count, pages->ok.items);
}

/* Reads all pages again, or those that were looked at in this round. */
static int read_again(struct cairn_pypages *pages, struct cairn_remote *remote, bool looked_at)
{
    size_t part = 0;

    CAIRN_TRY(make_room(&pages->second, &pages->second_cap, pages->pages.count));
    pages->parts.count = 0;
    for (size_t i = 0; i < pages->pages.count; i++)
        if (!looked_at || pages->pages.items[i].round == pages->round)
            CAIRN_TRY(plan(pages, i, pages->second));
    CAIRN_TRY(read_planned(pages, remote));
    for (size_t i = 0; i < pages->pages.count; i++) {
        struct cairn_pypage *page = &pages->pages.items[i];

        page->again = (!looked_at || page->round == pages->round) && pages->ok.items[part++];
    }
    pages->again = pages->pages.count;
    return 0;
}

int cairn_pypages_once_more(struct cairn_pypages *pages, struct cairn_remote *remote)
{
    size_t count = pages->pages.count;

    CAIRN_TRY(make_room(&pages->third, &pages->third_cap, count));
    pages->parts.count = 0;
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(plan(pages, i, pages->third));
    CAIRN_TRY(read_planned(pages, remote));
    for (size_t i = 0; i < count; i++)
        pages->pages.items[i].later = pages->ok.items[i];
    pages->later = count;
    return 0;
}

bool cairn_pypages_shift(struct cairn_pypages *pages)
{
    uint8_t *first = pages->first;
    size_t cap = pages->first_cap;

    if (!pages->later || pages->later != pages->pages.count)
        return false;
    pages->later = 0;
    pages->first = pages->second;
    pages->first_cap = pages->second_cap;
    pages->second = pages->third;
    pages->second_cap = pages->third_cap;
    pages->third = first;
    pages->third_cap = cap;
    for (size_t i = 0; i < pages->pages.count; i++) {
        pages->pages.items[i].ok = pages->pages.items[i].again;
        pages->pages.items[i].again = pages->pages.items[i].later;
    }
    return true;
}

/* Forgets pages that were of no use for long, and those that cannot be read. */
static int forget(struct cairn_pypages *pages)
{
    size_t kept = 0;

    cairn_map_clear(&pages->index);
    for (size_t i = 0; i < pages->pages.count; i++) {
        const struct cairn_pypage *page = &pages->pages.items[i];

        if (!page->ok || page->round + KEEP_ROUNDS < pages->round)
            continue;
        CAIRN_TRY(cairn_map_put(&pages->index, page->address, 0, kept));
        pages->pages.items[kept++] = *page;
    }
    pages->pages.count = kept;
    return 0;
}

int cairn_pypages_begin(struct cairn_pypages *pages, struct cairn_remote *remote, bool at_once)
{
    size_t count;

    pages->round++;
    CAIRN_TRY(forget(pages));
    count = pages->pages.count;
    CAIRN_TRY(make_room(&pages->first, &pages->first_cap, count));
    pages->parts.count = 0;
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(plan(pages, i, pages->first));
    CAIRN_TRY(read_planned(pages, remote));
    for (size_t i = 0; i < count; i++)
        pages->pages.items[i].ok = pages->ok.items[i];
    pages->again = pages->later = 0;
    return at_once && count ? read_again(pages, remote, false) : 0;
}

static int find(struct cairn_pypages *pages, struct cairn_remote *remote, uint64_t address,
                size_t *ret_place)
{
    size_t count = pages->pages.count;
    uint64_t known;
    int code;

    if (cairn_map_get(&pages->index, address, 0, &known)) {
        *ret_place = (size_t)known;
        return 0;
    }
    if (count == CAIRN_PYPAGES_MAX)
        return -CAIRN_EUNREADABLE;
    CAIRN_TRY(make_room(&pages->first, &pages->first_cap, count + 1));
    code = cairn_remote_get(remote, address, pages->first + count * CAIRN_PYPAGE_BYTES,
                            CAIRN_PYPAGE_BYTES);
    if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
        return code;
    *ret_place = count;
    return add(pages, address, code == 0);
}

/* How much of what is asked for lies in the page of its start. */
static size_t part_of(uint64_t address, size_t size_bytes)
{
    size_t left = CAIRN_PYPAGE_BYTES - (size_t)(address % CAIRN_PYPAGE_BYTES);

    return size_bytes < left ? size_bytes : left;
}

int cairn_pypages_get(struct cairn_pypages *pages, struct cairn_remote *remote, uint64_t address,
                      void *data, size_t size_bytes)
{
    uint8_t *to = data;

    while (size_bytes) {
        size_t part = part_of(address, size_bytes), within = address % CAIRN_PYPAGE_BYTES;
        struct cairn_pypage *page;
        size_t place = 0;

        CAIRN_TRY(find(pages, remote, address - within, &place));
        page = &pages->pages.items[place];
        page->round = pages->round;
        if (!page->ok)
            return -CAIRN_EUNREADABLE;
        memcpy(to, pages->first + place * CAIRN_PYPAGE_BYTES + within, part);
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
    return pages->again == pages->pages.count ? 0 : read_again(pages, remote, true);
}

static int get_again(const struct cairn_pypages *pages, uint64_t address, void *data,
                     size_t size_bytes)
{
    uint8_t *to = data;

    while (size_bytes) {
        size_t part = part_of(address, size_bytes), within = address % CAIRN_PYPAGE_BYTES;
        uint64_t place;

        if (!cairn_map_get(&pages->index, address - within, 0, &place) ||
            !pages->pages.items[place].again)
            return -CAIRN_EUNREADABLE;
        memcpy(to, pages->second + place * CAIRN_PYPAGE_BYTES + within, part);
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

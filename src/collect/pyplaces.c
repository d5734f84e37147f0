#include "pyplaces.h"

#include <string.h>

#include "err.h"

#define PLACES_MAX 8192
#define PROVEN_USES 2
#define SHORT_TICKS 12
#define LONG_TICKS 4000
#define FEW 16
#define MANY 48
#define GAP_BYTES 1024 /* cheaper to copy than to ask for another piece */

void cairn_pyplaces_release(struct cairn_pyplaces *places)
{
    cairn_vec_release(&places->pieces);
    cairn_vec_release(&places->spots);
}

static uint64_t end_of(const struct cairn_pypiece *piece)
{
    return piece->address + piece->size_bytes;
}

static size_t find(const struct cairn_pyplaces *places, uint64_t address)
{
    return cairn_pypieces_find(places->pieces.items, places->pieces.count, address);
}

static int make_room(struct cairn_pyplaces *places, size_t at)
{
    size_t count = places->pieces.count;

    CAIRN_TRY(cairn_vec_reserve(&places->pieces, count + 1, PLACES_MAX));
    CAIRN_TRY(cairn_vec_reserve(&places->spots, count + 1, PLACES_MAX));
    memmove(places->pieces.items + at + 1, places->pieces.items + at,
            (count - at) * sizeof(*places->pieces.items));
    memmove(places->spots.items + at + 1, places->spots.items + at,
            (count - at) * sizeof(*places->spots.items));
    places->pieces.count = places->spots.count = count + 1;
    return 0;
}

static void drop(struct cairn_pyplaces *places, size_t from, size_t to)
{
    size_t count = places->pieces.count;

    if (from == to)
        return;
    memmove(places->pieces.items + from, places->pieces.items + to,
            (count - to) * sizeof(*places->pieces.items));
    memmove(places->spots.items + from, places->spots.items + to,
            (count - to) * sizeof(*places->spots.items));
    places->pieces.count = places->spots.count = count - (to - from);
}

int cairn_pyplaces_add(struct cairn_pyplaces *places, uint64_t address, size_t size_bytes,
                       bool cframe, uint64_t tick)
{
    size_t at = find(places, address), end;

    if (address > UINT64_MAX - size_bytes)
        return 1; /* nothing lies there, and it would stand in no order with the others */
    for (; at < places->pieces.count && places->pieces.items[at].address <= address; at++) {
        if (end_of(&places->pieces.items[at]) >= address + size_bytes) {
            places->spots.items[at].cframe |= cframe;
            return 1;
        }
    }
    if (places->pieces.count == PLACES_MAX)
        return 1; /* it will be missing again: torn */
    at -= at > 0 && places->pieces.items[at - 1].address == address; /* a shorter one */
    for (end = at;
         end < places->pieces.count && end_of(&places->pieces.items[end]) <= address + size_bytes;)
        end++;
    drop(places, at, end);
    CAIRN_TRY(make_room(places, at));
    places->pieces.items[at] = (struct cairn_pypiece){address, size_bytes, NULL};
    places->spots.items[at] = (struct cairn_pyspot){.used_tick = tick, .cframe = cframe};
    return 0;
}

void cairn_pyplaces_touch(struct cairn_pyplaces *places, uint64_t address, uint64_t tick)
{
    size_t at = find(places, address);

    for (; at < places->pieces.count && places->pieces.items[at].address <= address; at++)
        places->spots.items[at].used_tick = tick;
}

bool cairn_pyplaces_has(const struct cairn_pyplaces *places, uint64_t address)
{
    size_t at = find(places, address);

    return at < places->pieces.count && places->pieces.items[at].address <= address;
}

void cairn_pyplaces_use(struct cairn_pyplaces *places, size_t index, uint64_t tick)
{
    struct cairn_pyspot *spot = &places->spots.items[index];

    spot->used_tick = tick;
    spot->uses += spot->uses < UINT8_MAX;
}

static uint64_t ago(uint64_t now, uint64_t ticks)
{
    return now > ticks ? now - ticks : 0;
}

/* A generator that is resumed for some microseconds now and then must be known by then: who has to
 * be looked for is read too late, and so too seldom. So few places are kept for long, more than
 * that only if they were in stacks again, many only for as long as they are in use. */
void cairn_pyplaces_age(struct cairn_pyplaces *places, uint64_t now)
{
    uint64_t old = ago(now, LONG_TICKS), recent = ago(now, SHORT_TICKS);
    uint64_t since = places->pieces.count <= FEW ? old : recent;
    uint64_t proven_since = places->pieces.count <= MANY ? old : recent;
    size_t some = 0;

    for (size_t i = 0; i < places->pieces.count; i++) {
        const struct cairn_pyspot *spot = &places->spots.items[i];

        if (spot->used_tick < (spot->uses < PROVEN_USES ? since : proven_since))
            continue;
        places->pieces.items[some] = places->pieces.items[i];
        places->spots.items[some++] = places->spots.items[i];
    }
    places->pieces.count = places->spots.count = some;
}

bool cairn_pyplaces_next(const struct cairn_pyplaces *places, size_t *at,
                         struct cairn_pyrange *ret_range)
{
    uint64_t start, end;
    bool cframe = false;

    if (*at >= places->pieces.count)
        return false;
    start = end = places->pieces.items[*at].address;
    for (; *at < places->pieces.count; ++*at) {
        uint64_t address = places->pieces.items[*at].address;

        /* Not by a sum: it wraps for what lies at the very end of memory. */
        if (address > end && address - end > GAP_BYTES)
            break;
        cframe |= places->spots.items[*at].cframe;
        end = end_of(&places->pieces.items[*at]);
    }
    *ret_range = (struct cairn_pyrange){start, (size_t)(end - start), cframe};
    return true;
}

void cairn_pyplaces_take(struct cairn_pyplaces *places, const struct cairn_pyrange *range,
                         const uint8_t *data, uint64_t tick)
{
    size_t at = find(places, range->address);

    while (at < places->pieces.count &&
           places->pieces.items[at].address < range->address + range->size_bytes) {
        struct cairn_pypiece *piece = &places->pieces.items[at];

        if (!data && places->spots.items[at].used_tick < tick) {
            drop(places, at, at + 1);
            continue;
        }
        piece->data = data ? data + (piece->address - range->address) : NULL;
        at++;
    }
}

void cairn_pyplaces_clear(struct cairn_pyplaces *places)
{
    for (size_t i = 0; i < places->pieces.count; i++)
        places->pieces.items[i].data = NULL;
}

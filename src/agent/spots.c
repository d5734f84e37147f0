#include "spots.h"

#include <string.h>

#include "lines.h"

#define WINDOW 16 /* executions that are looked at, one after the other */
#define FIRST_ROUND                                                                                \
    256 /* runs: what has no form is looked at then, and whenever a quarter more are */
#define FIRST_PAUSE 32  /* runs, behind a window for what did not fit; doubled each time */
#define MOST_DOUBLED 40 /* times */

uint32_t cairn_spots_find(const struct cairn_spots *spots, uint32_t unit)
{
    uint32_t low = 0, high = spots->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (spots->places[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void cairn_spots_use(struct cairn_spots *spots, struct cairn_spot *met,
                     const struct cairn_spot *old)
{
    spots->met = met;
    if (old == NULL)
        spots->next = FIRST_ROUND;
    for (uint32_t i = 0; met != NULL && i < spots->count; i++) {
        met[i].unit = spots->places[i].unit;
        if (old == NULL)
            cairn_spots_open(spots, i, 0, 0);
        else
            met[i].watch = old[i].watch;
    }
}

bool cairn_spots_meet(struct cairn_spots *spots, uint32_t index, uintptr_t key)
{
    struct cairn_spot *spot = &spots->met[index];

    for (size_t i = 0; i < CAIRN_SPOT_KINDS; i++) {
        if (spot->kinds[i].key == 0)
            return false;
        if (spot->kinds[i].key == key) {
            spot->kinds[i].hits++;
            return true;
        }
    }
    spot->others++;
    return true;
}

void cairn_spots_name(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                      uintptr_t key, struct cairn_span name)
{
    struct cairn_spot *spot = &spots->met[index];
    struct cairn_spot_name *kept;
    size_t i = 0;

    if (name.size_bytes > CAIRN_SPOT_NAME_BYTES)
        name.size_bytes = CAIRN_SPOT_NAME_BYTES;
    kept = cairn_pool_alloc(&hub->blocks, &hub->spool_budget, sizeof(*kept) + name.size_bytes);
    while (i < CAIRN_SPOT_KINDS && spot->kinds[i].key != 0)
        i++;
    if (kept == NULL || i == CAIRN_SPOT_KINDS) {
        spot->others++;
        return;
    }
    kept->size_bytes = name.size_bytes;
    memcpy(kept->text, name.data, name.size_bytes);
    spot->kinds[i] = (struct cairn_spot_kind){.key = key, .name = kept, .hits = 1};
}

/* Whether all that the spot was given since it was last looked at, or seen, was of the same kind,
 * as far as the form tells. */
static bool fits(const struct cairn_spot_watch *watch, uint32_t form, uint32_t missed)
{
    if (watch->form == 0)
        return missed == 0 && (form == 0 || watch->lost == 0 || form == watch->lost);
    return watch->form == form && watch->missed >= missed;
}

bool cairn_spots_see(struct cairn_spots *spots, uint32_t index, uint32_t form, uint32_t missed)
{
    struct cairn_spot_watch *watch = &spots->met[index].watch;

    if (watch->left > 0 || fits(watch, form, missed)) {
        watch->form = form;
        watch->missed = missed;
        if (form != 0 || watch->left > 0 || spots->passed < spots->next)
            return false;
    } else {
        if (spots->passed < spots->closed)
            return false; /* it will be seen later */
        spots->closed = spots->passed + ((uint64_t)FIRST_PAUSE << spots->windows);
        spots->windows += spots->windows < MOST_DOUBLED;
    }
    spots->next = spots->passed + spots->passed / 4;
    return true;
}

void cairn_spots_open(struct cairn_spots *spots, uint32_t index, uint32_t form, uint32_t missed)
{
    struct cairn_spot_watch *watch = &spots->met[index].watch;

    if (form != 0) {
        watch->lost = form;
        watch->misses += missed;
    }
    watch->form = watch->missed = 0;
    watch->left = WINDOW;
}

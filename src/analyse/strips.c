#include "strips.h"

#include <string.h>

void cairn_strips_init(struct cairn_strips *strips, uint64_t first_ns, uint64_t last_ns,
                       size_t room)
{
    *strips = (struct cairn_strips){
        .count = CAIRN_STRIPS_MAX,
        .first_ns = first_ns,
        .width_ns = (last_ns - first_ns) / CAIRN_STRIPS_MAX + 1,
        .room = room,
    };
}

void cairn_strips_release(struct cairn_strips *strips)
{
    cairn_vec_release(&strips->cells);
    *strips = (struct cairn_strips){0};
}

/* Rows move towards the start, never over one that is still to be read. */
static void halve(struct cairn_strips *strips)
{
    for (size_t i = 0; i < strips->cells.count / 2; i++)
        strips->cells.items[i] = strips->cells.items[2 * i] + strips->cells.items[2 * i + 1];
    strips->cells.count /= 2;
    strips->count /= 2;
    strips->width_ns *= 2;
}

static int make_room(struct cairn_strips *strips, uint32_t item)
{
    size_t wanted;

    while ((wanted = ((size_t)item + 1) * strips->count) > strips->room) {
        if (strips->count <= CAIRN_STRIPS_MIN) {
            cairn_strips_release(strips);
            return 0;
        }
        halve(strips);
    }
    if (wanted <= strips->cells.count)
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&strips->cells, wanted, strips->room));
    memset(strips->cells.items + strips->cells.count, 0,
           (wanted - strips->cells.count) * sizeof(float));
    strips->cells.count = wanted;
    return 0;
}

void cairn_strips_match(struct cairn_strips *strips, struct cairn_strips *others)
{
    if (!strips->count || !others->count) {
        cairn_strips_release(strips);
        cairn_strips_release(others);
    }
    while (strips->count > others->count)
        halve(strips);
    while (others->count > strips->count)
        halve(others);
}

int cairn_strips_add(struct cairn_strips *strips, uint32_t item, const struct cairn_sample *sample,
                     uint64_t value_ns)
{
    uint64_t wall_ns = sample->last_ns - sample->first_ns, before_ns = sample->first_ns;
    float *cells;
    double share;

    if (!strips->count || !value_ns || !wall_ns)
        return 0;
    CAIRN_TRY(make_room(strips, item));
    if (!strips->count)
        return 0;
    cells = strips->cells.items + (size_t)item * strips->count;
    share = (double)value_ns / (double)wall_ns;
    for (uint32_t i = 0; i < sample->ticks; i++) {
        cells[cairn_strips_number(strips, sample->times_ns[i])] +=
            (float)(share * (double)(sample->times_ns[i] - before_ns));
        before_ns = sample->times_ns[i];
    }
    return 0;
}

static float *cells_of(const struct cairn_strips *strips, uint32_t item)
{
    size_t first = (size_t)item * strips->count;

    if (item == CAIRN_STRIPS_NONE || first >= strips->cells.count)
        return NULL;
    return strips->cells.items + first;
}

uint32_t cairn_strips_join(struct cairn_strips *strips, uint32_t to, uint32_t from)
{
    float *into = cells_of(strips, to);
    const float *more = cells_of(strips, from);

    if (!more)
        return to;
    if (!into)
        return from;
    for (unsigned i = 0; i < strips->count; i++)
        into[i] += more[i];
    return to;
}

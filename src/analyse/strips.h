/* strips.h: what each item spent in each of a few hundred equal strips of the recording's time.
 *
 * How much neighbouring strips differ tells how sure a sum is (row_spread.h). A dense table with a
 * ceiling: when more items come than fit, pairs of strips become one; when that would leave too
 * few, the table is given up, and is empty from then on.
 */
#ifndef CAIRN_STRIPS_H
#define CAIRN_STRIPS_H

#include "samples.h"
#include "vec.h"

#define CAIRN_STRIPS_MAX 256u
#define CAIRN_STRIPS_MIN 16u
#define CAIRN_STRIPS_ROOM ((size_t)6 << 20) /* cells of a table: 24 MiB */
#define CAIRN_STRIPS_NONE UINT32_MAX        /* an item that is in no table */

struct cairn_strips {
    unsigned count; /* strips; 0: not wanted, or given up */
    uint64_t first_ns, width_ns;
    CAIRN_VEC(float) cells; /* [item][strip], ns */
    size_t room;            /* cells, at most */
};

/* Over (first_ns, last_ns], in at most `room` cells. */
void cairn_strips_init(struct cairn_strips *strips, uint64_t first_ns, uint64_t last_ns,
                       size_t room);
void cairn_strips_release(struct cairn_strips *strips);

/* Which of the strips a moment lies in; what is before the first lies in it, and so at the end. */
static inline unsigned cairn_strips_number(const struct cairn_strips *strips, uint64_t time_ns)
{
    uint64_t strip =
        time_ns > strips->first_ns ? (time_ns - strips->first_ns) / strips->width_ns : 0;

    return strip < strips->count ? (unsigned)strip : strips->count - 1;
}

/* Adds `value_ns` of a sample to an item, spread over its ticks by their length; a tick lies where
 * it ends, whole. Items are numbered densely. 0 or -CAIRN_ENOMEM. */
int cairn_strips_add(struct cairn_strips *strips, uint32_t item, const struct cairn_sample *sample,
                     uint64_t value_ns);

/* Asks memory for where a sample's first tick is added: to be called some samples before. To gcc a
 * function that does no more than that has no effect, and a call of it that is not inlined goes. */
static inline __attribute__((always_inline)) void cairn_strips_prefetch(
    const struct cairn_strips *strips, uint32_t item, const struct cairn_sample *sample)
{
    size_t first = (size_t)item * strips->count;

    if (strips->count && first < strips->cells.count)
        __builtin_prefetch(
            &strips->cells.items[first + cairn_strips_number(strips, sample->times_ns[0])], 1);
}

/* Makes both tables of as many strips: 0 when one of them was given up. */
void cairn_strips_match(struct cairn_strips *strips, struct cairn_strips *others);

/* Adds all of the item `from` to the item `to`. Either may be CAIRN_STRIPS_NONE; returns the item
 * that holds both. */
uint32_t cairn_strips_join(struct cairn_strips *strips, uint32_t to, uint32_t from);

/* An item's ns in a strip; 0 of an item that nothing was added to. */
static inline double cairn_strips_at(const struct cairn_strips *strips, uint32_t item,
                                     unsigned strip)
{
    size_t first = (size_t)item * strips->count;

    if (item == CAIRN_STRIPS_NONE || first >= strips->cells.count)
        return 0;
    return (double)strips->cells.items[first + strip];
}

#endif

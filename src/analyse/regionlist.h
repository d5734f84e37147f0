/* regionlist.h: the regions and marks that a program wrote down, one by one. */
#ifndef CAIRN_REGIONLIST_H
#define CAIRN_REGIONLIST_H

#include "tally.h"
#include "vec.h"

struct cairn_region_item {
    uint32_t function, thread;  /* of the model; function: the label */
    uint64_t first_ns, last_ns; /* absolute, cut at the edges of the tally's span */
    uint32_t values;            /* of a mark: a text of the model; 0: none */
    bool mark;                  /* a moment: first_ns == last_ns */
    bool cut; /* it began before the span, ends behind it, or was not over when its process was: it
                 has no length that could be compared */
};

static inline uint64_t cairn_region_item_ns(const struct cairn_region_item *item)
{
    return item->last_ns - item->first_ns;
}

CAIRN_VEC_DECLARE(cairn_region_list, struct cairn_region_item);

/* Those of the span of time and the threads that the tally keeps, as the recording has them. 0 or
 * -CAIRN_ENOMEM; -CAIRN_ELIMIT above 64 million. To be released in any case. */
int cairn_region_list_make(const struct cairn_tally *tally, struct cairn_region_list *ret_list);
void cairn_region_list_release(struct cairn_region_list *list);

#endif

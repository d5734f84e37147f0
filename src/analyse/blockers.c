#include "blockers.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"

#define BLOCKERS_MAX (1u << 24)

int cairn_blocker_sums_init(struct cairn_blocker_sums *sums, const struct cairn_model *model)
{
    *sums = (struct cairn_blocker_sums){.model = model};
    sums->index = cairn_calloc(cairn_model_texts(model), sizeof(*sums->index));
    return sums->index ? 0 : -CAIRN_ENOMEM;
}

void cairn_blocker_sums_release(struct cairn_blocker_sums *sums)
{
    free(sums->index);
    cairn_vec_release(&sums->sums);
    *sums = (struct cairn_blocker_sums){0};
}

int cairn_blocker_sums_new(struct cairn_blocker_sums *sums, uint32_t on)
{
    size_t count = sums->sums.count;

    CAIRN_TRY(cairn_vec_reserve(&sums->sums, count + 1, BLOCKERS_MAX));
    sums->sums.items[count] = (struct cairn_blocker){cairn_model_text(sums->model, on), 0, 0};
    sums->sums.count = count + 1;
    sums->index[on] = (uint32_t)count + 1;
    return 0;
}

static int longest_first(const void *left, const void *right)
{
    const struct cairn_blocker *a = left, *b = right;
    size_t least =
        a->text.size_bytes < b->text.size_bytes ? a->text.size_bytes : b->text.size_bytes;
    uint64_t busy_a_ns = a->waited_ns - a->idle_ns, busy_b_ns = b->waited_ns - b->idle_ns;
    int order;

    if (busy_a_ns != busy_b_ns)
        return busy_a_ns > busy_b_ns ? -1 : 1;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    order = least ? memcmp(a->text.data, b->text.data, least) : 0;
    if (order)
        return order;
    return (a->text.size_bytes > b->text.size_bytes) - (a->text.size_bytes < b->text.size_bytes);
}

void cairn_blocker_sums_finish(struct cairn_blocker_sums *sums, struct cairn_blockers *ret)
{
    if (sums->sums.count > 1)
        qsort(sums->sums.items, sums->sums.count, sizeof(*sums->sums.items), longest_first);
    *ret = sums->sums;
    sums->sums = (struct cairn_blockers){0};
}

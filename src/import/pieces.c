#include "pieces.h"

/* One that ran or wanted a processor has no time left for another state, so it can be part of one
 * that has. */
static bool is_whole(const struct cairn_guest_sample *given)
{
    return given->cpu_ns + given->runq_ns == given->ns;
}

/* False: more than can be added up. */
static bool add_up(struct cairn_guest_sample *sum, const struct cairn_guest_sample *more)
{
    if (sum->ns + more->ns > CAIRN_GUEST_TIME_MAX_NS || sum->count + more->count > INT64_MAX)
        return false;
    sum->ns += more->ns;
    sum->cpu_ns += more->cpu_ns;
    sum->runq_ns += more->runq_ns;
    sum->count += more->count;
    return true;
}

static bool is_of_them(const struct cairn_pieces *pieces, const struct cairn_guest_sample *given)
{
    return pieces->items[0].thread == given->thread && pieces->items[0].stack == given->stack;
}

bool cairn_pieces_join(struct cairn_pieces *pieces, const struct cairn_guest_sample *given)
{
    struct cairn_guest_sample *first = &pieces->items[0];

    if (pieces->count == 0 || !is_of_them(pieces, given))
        return false;
    if (is_whole(given) || (pieces->count == 1 && is_whole(first))) {
        if (!is_whole(given))
            first->state = given->state;
        return add_up(first, given);
    }
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->items[i].state == given->state)
            return add_up(&pieces->items[i], given);
    return false;
}

bool cairn_pieces_have_room(const struct cairn_pieces *pieces,
                            const struct cairn_guest_sample *given)
{
    return pieces->count == 0 || (pieces->count < CAIRN_PIECES_MAX && is_of_them(pieces, given));
}

void cairn_pieces_even_out(struct cairn_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++)
        for (size_t k = 0; k < pieces->count; k++)
            if (pieces->items[i].ns > 0 && pieces->items[i].count == 0 &&
                pieces->items[k].count > 1) {
                pieces->items[k].count--;
                pieces->items[i].count++;
            }
}

#include "pyvacant.h"

#include <string.h>

#include "err.h"
#include "pyread_parts.h"

#define VACANT_NS UINT64_C(100000000)

static void forget(struct cairn_pyread *read, size_t index)
{
    cairn_pykept_free(read->vacant[index].kept);
    read->vacant_count--;
    memmove(&read->vacant[index], &read->vacant[index + 1],
            (read->vacant_count - index) * sizeof(read->vacant[0]));
}

void cairn_pyvacant_release(struct cairn_pyread *read)
{
    while (read->vacant_count)
        forget(read, read->vacant_count - 1);
}

void cairn_pyvacant_age(struct cairn_pyread *read)
{
    while (read->vacant_count && read->ctx.now_ns - read->vacant[0].since_ns > VACANT_NS)
        forget(read, 0);
}

/* Whoever is there next begins like this one did, with one chunk. */
static bool begin_anew(struct cairn_pykept *kept)
{
    const struct cairn_pychunk *first = &kept->first_chunk;

    if (!first->address || cairn_vec_reserve(&kept->chunks, 1, 1) < 0)
        return false;
    if (!kept->chunks.count || kept->chunks.items[0].address != first->address)
        kept->chunks.items[0] = *first;
    kept->chunks.count = 1;
    for (size_t i = 0; i < CAIRN_PYCHAINS; i++)
        kept->resting[i].count = 0;
    kept->exc_item = 0;
    kept->tries = 0;
    return true;
}

/* The oldest comes first. Where threads bear no number of the kernel's (until 3.10), one that came
 * looks like the one that was there. */
void cairn_pyvacant_keep(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    if (!cairn_pylayout_has(read->runtime.layout.thread_native_id) || !begin_anew(kept)) {
        cairn_pykept_free(kept);
        return;
    }
    if (read->vacant_count == CAIRN_PYVACANT_MAX)
        forget(read, 0);
    cairn_vec_release(&kept->raws);
    cairn_vec_release(&kept->good);
    cairn_vec_release(&kept->frames);
    read->vacant[read->vacant_count++] = (struct cairn_pyvacant){kept, read->ctx.now_ns};
}

/* The vectors change hands: those of `to` are still empty. */
static void move_places(struct cairn_pykept *to, struct cairn_pykept *from)
{
    to->chunks = from->chunks;
    to->first_chunk = from->first_chunk;
    to->others = from->others;
    to->after = from->after;
    to->entries = from->entries;
    to->ticks = from->ticks;
    to->first_native_id = from->first_native_id;
    to->tid_end = from->tid_end;
    memset(&from->chunks, 0, sizeof(from->chunks));
    memset(&from->others, 0, sizeof(from->others));
    memset(&from->after, 0, sizeof(from->after));
}

static bool was_there(const struct cairn_pylayout *l, const struct cairn_pykept *kept,
                      const struct cairn_pykept *before)
{
    return kept->own_native_id && before->first_native_id == kept->own_native_id &&
           cairn_pykept_field(before, l->thread_native_id) == kept->own_native_id &&
           cairn_pykept_field(before, l->thread_ident) == kept->thread.pthread_id;
}

/* Threads get C stacks that are free in another order than thread states: the places of its own are
 * those around where it says its current frame is told. */
static void find_c_stack(struct cairn_pyread *read, const struct cairn_pylayout *l,
                         struct cairn_pykept *before)
{
    uint64_t cframe = cairn_pykept_field(before, l->thread_cframe);

    for (size_t i = 0; cframe && i < read->vacant_count; i++) {
        struct cairn_pyplaces *places = &read->vacant[i].kept->others, own = before->others;

        if (!cairn_pyplaces_has(places, cframe))
            continue;
        before->others = *places;
        *places = own;
        return;
    }
}

enum cairn_pyvacant_found cairn_pyvacant_take(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    enum cairn_pyvacant_found found = CAIRN_PYVACANT_NONE;
    struct cairn_pykept *before;
    size_t at = 0;

    while (at < read->vacant_count && read->vacant[at].kept->thread.tstate != kept->thread.tstate)
        at++;
    if (at == read->vacant_count)
        return found;
    before = read->vacant[at].kept;
    if (!kept->own_native_id)
        found = CAIRN_PYVACANT_LATER; /* it does not run yet */
    else if (before->header_ok)
        found = was_there(&read->runtime.layout, kept, before) ? CAIRN_PYVACANT_THERE
                                                               : CAIRN_PYVACANT_LATER;
    if (found == CAIRN_PYVACANT_THERE) {
        find_c_stack(read, &read->runtime.layout, before);
        memcpy(kept->header, before->header, read->ctx.header_bytes);
        kept->header_ok = true;
    }
    move_places(kept, before);
    forget(read, at);
    return found;
}

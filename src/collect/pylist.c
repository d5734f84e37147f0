#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"
#include "pynest.h"
#include "pyread_parts.h"
#include "pyvacant.h"

#define INTERPS_MAX 4096
#define BAD_LISTS_MAX 20

static int read_u64(struct cairn_pyread *read, uint64_t address, uint64_t *ret)
{
    return cairn_remote_get(&read->remote, address, ret, sizeof(*ret));
}

static int list_interps(struct cairn_pyread *read)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t address;
    size_t count = 0;
    int code = read_u64(read, read->runtime.address + l->runtime_interpreters_head, &address);

    /* It is part of the program itself: not there, then another program runs. */
    if (code < 0)
        return code == -CAIRN_EUNREADABLE ? -CAIRN_EGONE : code;
    for (; address; count++) {
        if (count == INTERPS_MAX || address % 8 != 0)
            return -CAIRN_EDAMAGED;
        CAIRN_TRY(cairn_vec_reserve(&read->interps, count + 1, INTERPS_MAX));
        if (count >= read->interps.count || read->interps.items[count].address != address)
            read->interps.items[count] = (struct cairn_pyinterp){.address = address};
        CAIRN_TRY(
            read_u64(read, address + l->interp_threads_head, &read->interps.items[count].head_now));
        CAIRN_TRY(read_u64(read, address + l->interp_next, &address));
    }
    read->interps.count = count;
    return count ? 0 : -CAIRN_EGONE; /* finalised */
}

int cairn_pyread_take_over(struct cairn_pyread *read, const struct cairn_pyread *of)
{
    CAIRN_TRY(cairn_vec_reserve(&read->interps, of->interps.count, INTERPS_MAX));
    for (size_t i = 0; i < of->interps.count; i++)
        read->interps.items[i] = (struct cairn_pyinterp){.address = of->interps.items[i].address,
                                                         .names = of->interps.items[i].names};
    read->interps.count = of->interps.count;
    return 0;
}

static struct cairn_pykept *find_thread(const struct cairn_pyread *read, uint64_t tstate)
{
    uint64_t value;

    if (!cairn_map_get(&read->by_address, tstate, 0, &value))
        return NULL;
    return (struct cairn_pykept *)(uintptr_t)value;
}

static int add_thread(struct cairn_pyread *read, uint64_t tstate, struct cairn_pykept **ret)
{
    struct cairn_pykept *kept;

    CAIRN_TRY(cairn_vec_reserve(&read->threads, read->threads.count + 1, CAIRN_PYREAD_THREADS_MAX));
    kept = cairn_calloc(1, sizeof(*kept));
    if (!kept)
        return -CAIRN_ENOMEM;
    if (cairn_map_put(&read->by_address, tstate, 0, (uint64_t)(uintptr_t)kept) < 0) {
        free(kept);
        return -CAIRN_ENOMEM;
    }
    cairn_map_init(&kept->resumers, CAIRN_PYKEPT_RESUMERS_MAX);
    kept->thread.tstate = tstate;
    kept->thread.wanted = true;
    kept->nest_kept = UINT32_MAX;
    read->threads.items[read->threads.count++] = &kept->thread;
    *ret = kept;
    return 0;
}

static void drop_thread(struct cairn_pyread *read, size_t index)
{
    struct cairn_pythread *thread = read->threads.items[index];

    if (read->died)
        read->died(read->died_ctx, thread);
    cairn_pynest_unlink((struct cairn_pykept *)thread);
    cairn_map_remove(&read->by_address, thread->tstate, 0);
    for (size_t i = 0; i < read->again.count; i++) {
        if (read->again.items[i] == (struct cairn_pykept *)thread)
            read->again.items[i] = NULL;
    }
    memmove(&read->threads.items[index], &read->threads.items[index + 1],
            (read->threads.count - index - 1) * sizeof(*read->threads.items));
    read->threads.count--;
    cairn_pyvacant_keep(read, (struct cairn_pykept *)thread);
}

static size_t index_of(const struct cairn_pyread *read, const struct cairn_pykept *kept)
{
    size_t i = 0;

    while (read->threads.items[i] != &kept->thread)
        i++;
    return i;
}

bool cairn_pylist_identify(const struct cairn_pylayout *l, struct cairn_pykept *kept,
                           const uint8_t *header, uint64_t interp)
{
    struct cairn_pythread *thread = &kept->thread;
    uint64_t ident = cairn_pyheader_field(header, l->thread_ident);

    if (cairn_pyheader_field(header, l->thread_interp) != interp)
        return false;
    /* A thread state is made before its thread: the numbers come later, once. */
    if (thread->pthread_id && ident != thread->pthread_id)
        return false;
    thread->interp = interp;
    if (cairn_pylayout_has(l->thread_native_id)) {
        uint64_t native_id = cairn_pyheader_field(header, l->thread_native_id);

        if (native_id != kept->own_native_id) { /* else it may be known who runs it instead */
            thread->native_id = native_id;
            kept->disowned_tick = 0;
            cairn_pykept_forget_stack(kept);
        }
        kept->own_native_id = native_id;
        thread->pthread_id = ident;
    } else if (cairn_pyheader_field(header, l->thread_current_frame)) {
        /* Until 3.10 it has the number of the thread that made it, until it runs. */
        thread->pthread_id = ident;
    }
    return true;
}

/* Goes through one interpreter's list; each thread state is read once more. */
static int list_threads(struct cairn_pyread *read, struct cairn_pyinterp *interp)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t address = interp->head_now;
    uint8_t header[CAIRN_PYLAYOUT_THREAD_BYTES];

    for (size_t hops = 0; address; hops++) {
        struct cairn_pykept *kept = find_thread(read, address);

        if (hops == CAIRN_PYREAD_THREADS_MAX || address % 8 != 0)
            return -CAIRN_EDAMAGED;
        CAIRN_TRY(cairn_remote_get(&read->remote, address, header, read->ctx.header_bytes));
        if (kept && kept->generation == read->generation)
            return -CAIRN_EDAMAGED; /* it goes in a circle */
        if (!kept)
            CAIRN_TRY(add_thread(read, address, &kept));
        if (!cairn_pylist_identify(l, kept, header, interp->address)) {
            /* The address was taken over by another thread, or this is no thread. */
            drop_thread(read, index_of(read, kept));
            return -CAIRN_EDAMAGED;
        }
        memcpy(kept->header, header, read->ctx.header_bytes);
        kept->generation = read->generation;
        address = cairn_pykept_field(kept, l->thread_next);
    }
    interp->head = interp->head_now;
    return 0;
}

int cairn_pylist_check(struct cairn_pyread *read)
{
    int code = 0;

    for (int attempt = 0; attempt < CAIRN_PYREAD_TRIES; attempt++) {
        read->generation++;
        code = list_interps(read);
        for (size_t i = 0; i < read->interps.count && code == 0; i++)
            code = list_threads(read, &read->interps.items[i]);
        if (code != -CAIRN_EDAMAGED)
            break;
    }
    if (code == -CAIRN_ENOMEM || code == -CAIRN_EGONE || code == -CAIRN_EPERM)
        return code;
    if (code < 0) {
        read->list_moved = true; /* what was left out meanwhile is not told by where they begin */
        return ++read->bad_lists > BAD_LISTS_MAX ? -CAIRN_EGONE : 0;
    }
    for (size_t i = read->threads.count; i-- > 0;) {
        if (((struct cairn_pykept *)read->threads.items[i])->generation != read->generation)
            drop_thread(read, i);
    }
    read->bad_lists = 0;
    read->list_moved = false;
    read->list_checked_ns = read->ctx.now_ns;
    return 0;
}

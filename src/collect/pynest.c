#include "pynest.h"

#include <stdlib.h>

#include "err.h"
#include "pyframe.h"
#include "pyread_parts.h"
#include "pytogether.h"

static struct cairn_pykept *kept_of(struct cairn_pythread *thread)
{
    return (struct cairn_pykept *)thread; /* its first member */
}

/* Where on the C stack Python was entered with this state; 0: not known. */
static uint64_t entry_of(const struct cairn_pyread *read, const struct cairn_pykept *kept)
{
    if (cairn_pylayout_has(read->runtime.layout.thread_cframe))
        return kept->cframe;
    if (cairn_pyframe_is_object(&read->runtime.layout) || !kept->raws.count)
        return 0;
    return kept->raws.items[0].previous;
}

/* The newest interpreter is the first of the list. */
static size_t age_of(const struct cairn_pyread *read, uint64_t interp)
{
    size_t i = 0;

    while (i < read->interps.count && read->interps.items[i].address != interp)
        i++;
    return i;
}

static int compare(const void *a, const void *b)
{
    const struct cairn_pynested *left = a, *right = b;

    if (left->pthread_id != right->pthread_id)
        return left->pthread_id < right->pthread_id ? -1 : 1;
    return (left->age < right->age) - (left->age > right->age);
}

/* Until 3.12 a thread state keeps the identity of the thread that made it, whoever runs it: but the
 * C stack that it was entered on is the one below the descriptor of the thread that does. NULL: of
 * none that is known, but the first: its descriptor lies elsewhere. */
static const struct cairn_pythread *owner_of(const struct cairn_pyread *read, uint64_t entry)
{
    const struct cairn_pythread *nearest = NULL, *first = NULL;

    for (size_t i = 0; i < read->threads.count; i++) {
        const struct cairn_pythread *thread = read->threads.items[i];

        if (kept_of(read->threads.items[i])->own_native_id == read->first_tid)
            first = thread;
        else if (thread->pthread_id > entry &&
                 (!nearest || thread->pthread_id < nearest->pthread_id))
            nearest = thread;
    }
    return nearest ? nearest : first;
}

/* Whose stack it is. */
static void find_owner(const struct cairn_pyread *read, struct cairn_pynested *item)
{
    const struct cairn_pythread *owner = NULL;
    struct cairn_pykept *kept = item->kept;

    if (cairn_pylayout_has(read->runtime.layout.thread_cframe) && read->first_tid && item->entry)
        owner = owner_of(read, item->entry);
    if (!owner)
        return;
    item->pthread_id = owner->pthread_id;
    kept->thread.native_id = kept_of((struct cairn_pythread *)owner)->own_native_id;
}

/* All that have a stack, those of one thread side by side, older interpreters first. */
static int collect(struct cairn_pyread *read)
{
    read->nested.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&read->nested, read->threads.count, CAIRN_PYREAD_THREADS_MAX));
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pythread *thread = read->threads.items[i];
        struct cairn_pykept *kept = kept_of(thread);

        thread->outer = thread->inner = NULL;
        thread->apart = false;
        if (!thread->pthread_id || !cairn_pythread_has_stack(thread))
            continue;
        read->nested.items[read->nested.count] = (struct cairn_pynested){
            kept, thread->pthread_id, entry_of(read, kept), age_of(read, thread->interp)};
        find_owner(read, &read->nested.items[read->nested.count++]);
    }
    if (read->nested.count)
        qsort(read->nested.items, read->nested.count, sizeof(*read->nested.items), compare);
    return 0;
}

/* By where they were entered, if that is known of all of them; the C stack grows downwards. */
static void order(struct cairn_pynested *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!items[i].entry)
            return;
    for (size_t i = 1; i < count; i++) {
        struct cairn_pynested item = items[i];
        size_t at = i;

        for (; at > 0 && items[at - 1].entry < item.entry; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static int again(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    for (size_t i = 0; i < read->again.count; i++)
        if (read->again.items[i] == kept)
            return 0;
    CAIRN_TRY(cairn_vec_reserve(&read->again, read->again.count + 1, 2 * CAIRN_PYREAD_THREADS_MAX));
    read->again.items[read->again.count++] = kept;
    kept->tries = 0;
    kept->nest_kept = kept->thread.kept < kept->nest_kept ? kept->thread.kept : kept->nest_kept;
    read->stats.reread++;
    return 0;
}

static int read_again(struct cairn_pyread *read, const struct cairn_pynested *items, size_t count)
{
    struct cairn_pykept *filled;
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(again(read, items[i].kept));
    while ((filled = cairn_pytogether_filled(read, &at)))
        CAIRN_TRY(again(read, filled));
    return 0;
}

/* Whether they are to be looked at: one was read, or another is gone from between them. */
static bool is_fresh(const struct cairn_pynested *items, size_t count)
{
    uint64_t outer = 0;

    for (size_t i = 0; i < count; i++) {
        if (items[i].kept->thread.status != CAIRN_PYSTACK_NONE ||
            items[i].kept->nest_outer != outer)
            return true;
        outer = items[i].kept->thread.tstate;
    }
    return false;
}

/* The states of one thread. */
static int link_group(struct cairn_pyread *read, struct cairn_pynested *items, size_t count,
                      bool last)
{
    struct cairn_pytogether together;

    order(items, count);
    for (size_t i = 1; i < count; i++) {
        items[i].kept->thread.outer = &items[i - 1].kept->thread;
        items[i - 1].kept->thread.inner = &items[i].kept->thread;
    }
    if (!is_fresh(items, count))
        return 0;
    CAIRN_TRY(cairn_pytogether(read, items, count, &together));
    if (together.others)
        together.count = 1;
    for (size_t i = 0; i < count; i++)
        items[i].kept->nest_outer =
            i == 0 || i >= together.count ? 0 : items[i - 1].kept->thread.tstate;
    if (together.count == count)
        return 0;
    if (!last)
        return read_again(read, items, count);
    items[together.count].kept->thread.apart = true;
    return 0;
}

/* A state that was read twice at a tick has as much in common with the tick before as the one of
 * the two reads that has less. */
static void settle_kept(struct cairn_pykept *kept)
{
    if (kept->nest_kept < kept->thread.kept)
        kept->thread.kept = kept->nest_kept;
    kept->nest_kept = UINT32_MAX;
}

/* The number of the first thread, as the target's own pid namespace counts. */
static void find_first(struct cairn_pyread *read)
{
    pid_t tid;

    if (!read->first_tid && read->tids.pid && cairn_proc_ns_tid(read->tids.pid, 0, &tid) == 0)
        read->first_tid = (uint64_t)tid;
}

bool cairn_pynest_any(const struct cairn_pyread *read)
{
    return read->interps.count > 1 || read->nested.count;
}

int cairn_pynest_link(struct cairn_pyread *read, bool last)
{
    find_first(read);
    CAIRN_TRY(collect(read));
    if (read->interps.count < 2)
        read->nested.count = 0;
    for (size_t i = 0, count; i < read->nested.count; i += count) {
        struct cairn_pynested *items = &read->nested.items[i];

        for (count = 1; i + count < read->nested.count; count++)
            if (items[count].pthread_id != items->pthread_id)
                break;
        if (count > 1)
            CAIRN_TRY(link_group(read, items, count, last));
    }
    for (size_t i = 0; i < read->threads.count && !read->again.count; i++)
        settle_kept(kept_of(read->threads.items[i]));
    return 0;
}

void cairn_pynest_unlink(struct cairn_pykept *kept)
{
    struct cairn_pythread *thread = &kept->thread;

    if (thread->outer)
        thread->outer->inner = thread->inner;
    if (thread->inner)
        thread->inner->outer = thread->outer;
}

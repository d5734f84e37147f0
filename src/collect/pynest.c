#include "pynest.h"

#include <stdlib.h>

#include "err.h"
#include "pyframe.h"
#include "pyread_parts.h"

#define STATE_MAX_BYTES 16384 /* of a thread state: what lies further off is not part of it */

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

static int get(struct cairn_pyread *read, uint64_t address, uint64_t *ret)
{
    int code = cairn_remote_get(&read->remote, address, ret, sizeof(*ret));

    return code == -CAIRN_EGONE || code == -CAIRN_EPERM ? code : code == 0;
}

/* The current frame now; 1: it was read; 0: it cannot be, or the state has none on the C stack. */
static int current_frame(struct cairn_pyread *read, const struct cairn_pykept *kept, uint64_t *ret)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t cframe;
    int code;

    if (!cairn_pylayout_has(l->thread_cframe))
        return get(read, kept->thread.tstate + l->thread_current_frame, ret);
    code = get(read, kept->thread.tstate + l->thread_cframe, &cframe);
    if (code <= 0)
        return code;
    if (cframe % 8 != 0 || cframe - kept->thread.tstate < STATE_MAX_BYTES)
        return 0;
    return get(read, cframe + l->cframe_current_frame, ret);
}

/* Whether it stands in the frame, and at the instruction, that were read of it: 1, 0 or a code. */
static int stands(struct cairn_pyread *read, const struct cairn_pykept *kept)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    const struct cairn_pyraw *leaf;
    uint8_t data[CAIRN_PYLAYOUT_FRAME_BYTES];
    struct cairn_pyraw now;
    enum cairn_pycheck ignored;
    uint64_t frame, instr;
    int code;

    if (!kept->raws.count)
        return 0;
    leaf = &kept->raws.items[kept->raws.count - 1];
    code = current_frame(read, kept, &frame);
    if (code <= 0 || frame != leaf->address)
        return code < 0 ? code : 0;
    if (!cairn_pyframe_is_object(l)) {
        code = get(read, frame + l->frame_instr, &instr);
        return code <= 0 ? code : instr == leaf->instr;
    }
    if (cairn_remote_get(&read->remote, frame, data, l->frame_size) < 0)
        return 0;
    return cairn_pyframe_decode(l, read->runtime.table, frame, data, 0, &now, &ignored) == 0 &&
           now.instr == leaf->instr;
}

/* Whether it still has a stack: 1, 0 or a code. */
static int runs(struct cairn_pyread *read, const struct cairn_pykept *kept)
{
    uint64_t frame, interp;
    int code = get(read, kept->thread.tstate + read->runtime.layout.thread_interp, &interp);

    if (code <= 0 || interp != kept->thread.interp)
        return code < 0 ? code : 0;
    code = current_frame(read, kept, &frame);
    return code <= 0
               ? code
               : frame != 0 &&
                     frame != cairn_pykept_field(kept, read->runtime.layout.thread_base_frame);
}

/* How many, from the outermost on, were read of one moment; or a code. Of who seems to stand still,
 * too: it may have woken up since it was looked at. */
static int hold_together(struct cairn_pyread *read, const struct cairn_pynested *items,
                         size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int code = stands(read, items[i - 1].kept);

        if (code > 0)
            code = runs(read, items[i].kept);
        if (code <= 0)
            return code < 0 ? code : (int)i;
    }
    return (int)count;
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

/* How many that were read as empty are so no more, though the thread may have gone on through them
 * before an inner one was read; or a code. They are `to` be read again. */
static int filled_meanwhile(struct cairn_pyread *read, uint64_t pthread_id, bool to)
{
    bool anyones = cairn_pylayout_has(read->runtime.layout.thread_cframe);
    int count = 0;

    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pythread *thread = read->threads.items[i];
        int code = 0;

        if (thread->status == CAIRN_PYSTACK_EMPTY && (anyones || thread->pthread_id == pthread_id))
            code = runs(read, kept_of(thread));
        if (code > 0 && to)
            CAIRN_TRY(again(read, kept_of(thread)));
        if (code < 0)
            return code;
        count += code;
    }
    return count;
}

static int read_again(struct cairn_pyread *read, const struct cairn_pynested *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(again(read, items[i].kept));
    return 0;
}

/* The states of one thread. */
static int link_group(struct cairn_pyread *read, struct cairn_pynested *items, size_t count,
                      bool last)
{
    bool fresh = false;
    int together, filled;

    order(items, count);
    for (size_t i = 1; i < count; i++) {
        items[i].kept->thread.outer = &items[i - 1].kept->thread;
        items[i - 1].kept->thread.inner = &items[i].kept->thread;
    }
    for (size_t i = 0; i < count; i++)
        fresh |= items[i].kept->thread.status != CAIRN_PYSTACK_NONE;
    if (!fresh)
        return 0;
    together = hold_together(read, items, count);
    if (together < 0)
        return together;
    filled = filled_meanwhile(read, items->pthread_id, !last);
    if (filled < 0)
        return filled;
    together = filled ? 1 : together;
    if ((size_t)together == count)
        return 0;
    if (!last)
        return read_again(read, items, count);
    items[together].kept->thread.apart = true;
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

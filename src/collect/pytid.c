#include "pytid.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "pyread_parts.h"

#define DESCRIPTOR_BYTES 1024 /* glibc, musl: the number is among the first few hundred */
#define RETRY_NS UINT64_C(20000000)

void cairn_pytids_release(struct cairn_pytids *tids)
{
    cairn_vec_release(&tids->tasks);
}

static int compare_tids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

/* Whether the process has a task of this number. */
static bool has_task(const struct cairn_pytids *tids, pid_t tid)
{
    return tid > 0 && tids->tasks.count &&
           bsearch(&tid, tids->tasks.items, tids->tasks.count, sizeof(tid), compare_tids);
}

static int list_tasks(struct cairn_pytids *tids)
{
    pid_t inside;

    CAIRN_TRY(cairn_proc_threads(tids->pid, &tids->tasks));
    CAIRN_TRY(cairn_proc_ns_tid(tids->pid, 0, &inside));
    if (inside == tids->pid)
        return 0;
    for (size_t i = 0; i < tids->tasks.count; i++) {
        pid_t tid = tids->tasks.items[i];

        if (cairn_proc_ns_tid(tids->pid, tid, &tids->tasks.items[i]) < 0)
            tids->tasks.items[i] = 0; /* it ended meanwhile */
    }
    qsort(tids->tasks.items, tids->tasks.count, sizeof(pid_t), compare_tids);
    return 0;
}

/* Whether another thread has this number. */
static bool is_taken(const struct cairn_pyread *read, const struct cairn_pykept *kept, pid_t tid)
{
    for (size_t i = 0; i < read->threads.count; i++) {
        const struct cairn_pythread *other = read->threads.items[i];

        /* Sub-interpreters have a state each for one thread. */
        if (other != &kept->thread && other->native_id == (uint64_t)tid &&
            other->pthread_id != kept->thread.pthread_id)
            return true;
    }
    return false;
}

static pid_t tid_at(const uint8_t *descriptor, size_t place)
{
    int32_t value;

    memcpy(&value, descriptor + place, sizeof(value));
    return value;
}

static int read_descriptor(struct cairn_pyread *read, uint64_t pthread_id, uint8_t *descriptor)
{
    int code = cairn_remote_get(&read->remote, pthread_id, descriptor, DESCRIPTOR_BYTES);

    return code == -CAIRN_EGONE || code == -CAIRN_EPERM ? code : code == 0;
}

/* Whether `place` gives a task to each thread that runs, another one to each. */
static int holds_everywhere(struct cairn_pyread *read, uint32_t place, bool *ret_holds)
{
    struct cairn_pids seen = {0};
    int code = cairn_vec_reserve(&seen, read->threads.count + 1, CAIRN_PYREAD_THREADS_MAX + 1);

    *ret_holds = true;
    for (size_t i = 0; i < read->threads.count && *ret_holds && code == 0; i++) {
        const struct cairn_pythread *thread = read->threads.items[i];
        int32_t tid;

        if (!thread->pthread_id || thread->interp != read->threads.items[0]->interp)
            continue;
        code = cairn_remote_get(&read->remote, thread->pthread_id + place, &tid, sizeof(tid));
        if (code == 0) {
            *ret_holds = has_task(&read->tids, tid);
            seen.items[seen.count++] = tid;
        } else if (code == -CAIRN_EUNREADABLE || code == -CAIRN_ESHORT) {
            code = 0; /* it just ended */
        }
    }
    if (seen.count)
        qsort(seen.items, seen.count, sizeof(pid_t), compare_tids);
    for (size_t i = 1; i < seen.count; i++)
        *ret_holds &= seen.items[i - 1] != seen.items[i];
    cairn_vec_release(&seen);
    return code;
}

static int search(struct cairn_pyread *read, const uint8_t *descriptor)
{
    for (uint32_t place = 4; place + 4 <= DESCRIPTOR_BYTES; place += 4) {
        bool holds = false;

        if (has_task(&read->tids, tid_at(descriptor, place)))
            CAIRN_TRY(holds_everywhere(read, place, &holds));
        if (!holds)
            continue;
        read->tids.place = place;
        return 0;
    }
    return 0;
}

/* Whether it was looked for in vain a moment ago, and nobody else runs the state since. */
static bool is_put_off(const struct cairn_pyread *read, const struct cairn_pykept *kept)
{
    return read->ctx.now_ns < kept->tid_next_ns && kept->tid_told == kept->tid_refused;
}

/* What holds for all other threads does not for this one, unless it ended meanwhile: then the
 * kernel has taken its number out of the descriptor, before the task is gone. */
static int doubt_place(struct cairn_pyread *read, uint64_t pthread_id, pid_t tid)
{
    struct cairn_pytids *tids = &read->tids;
    int32_t now = 0;
    int code = cairn_remote_get(&read->remote, pthread_id + tids->place, &now, sizeof(now));

    if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
        return code;
    if (code == 0 && now && now == tid)
        tids->place = 0;
    return 0;
}

int cairn_pytids_find(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    struct cairn_pytids *tids = &read->tids;
    uint8_t descriptor[DESCRIPTOR_BYTES];
    pid_t tid;
    int code;

    if (!tids->pid || !kept->thread.pthread_id || is_put_off(read, kept))
        return 0;
    kept->tid_next_ns = read->ctx.now_ns + RETRY_NS;
    kept->tid_refused = kept->tid_told;
    code = read_descriptor(read, kept->thread.pthread_id, descriptor);
    if (code <= 0)
        return code;
    if (!tids->place || !has_task(tids, tid_at(descriptor, tids->place)))
        CAIRN_TRY(list_tasks(tids));
    if (!tids->place)
        CAIRN_TRY(search(read, descriptor));
    tid = tids->place ? tid_at(descriptor, tids->place) : 0;
    if (has_task(tids, tid) && !is_taken(read, kept, tid))
        kept->thread.native_id = (uint64_t)tid;
    else if (tids->place)
        return doubt_place(read, kept->thread.pthread_id, tid);
    return 0;
}

int cairn_pytids_plan(struct cairn_pyread *read, struct cairn_pykept *kept, size_t index)
{
    uint32_t place = read->runtime.layout.thread_native_id;
    struct cairn_pyslot slot = {kept, SLOT_TID, index, 0};

    if (index == 0) {
        kept->tid_told = 0;
        kept->tid_end = CAIRN_PYKEPT_UNKNOWN;
    }
    if (cairn_pylayout_has(place)) /* in front it is what the state says, which comes next */
        return index == 0
                   ? 0
                   : cairn_pyread_add(read, slot, kept->thread.tstate + place, sizeof(uint64_t));
    if (!read->tids.place || !kept->thread.pthread_id)
        return 0;
    return cairn_pyread_add(read, slot, kept->thread.pthread_id + read->tids.place,
                            sizeof(int32_t));
}

uint64_t cairn_pytids_number(const uint8_t *data, size_t size_bytes)
{
    uint64_t number = 0;

    memcpy(&number, data, size_bytes); /* of one that is over the kernel has taken it away */
    return number;
}

void cairn_pytids_take(struct cairn_pykept *kept, size_t index, const uint8_t *data,
                       size_t size_bytes)
{
    if (data)
        *(index == 0 ? &kept->tid_told : &kept->tid_end) = cairn_pytids_number(data, size_bytes);
}

bool cairn_pytids_is_another(struct cairn_pykept *kept)
{
    if (!kept->tid_told || !kept->thread.native_id || kept->tid_told == kept->thread.native_id)
        return false;
    kept->thread.native_id = 0;
    kept->tid_next_ns = 0;
    return true;
}

/* A thread that is over since its stack was read has no task either, and another may have its
 * descriptor already: only who is there with that number at the next tick as well was forked. The
 * first of a process that was is the only one at its first tick. */
int cairn_pyread_disown(struct cairn_pyread *read, struct cairn_pythread *thread)
{
    struct cairn_pykept *kept = (struct cairn_pykept *)thread;
    bool told = cairn_pylayout_has(read->runtime.layout.thread_native_id);
    bool again = kept->disowned_tick && kept->disowned_tick + 1 == kept->ticks;

    kept->disowned_tick = kept->ticks;
    if (told && !again && (kept->ticks > 1 || read->threads.count > 1))
        return 0;
    thread->native_id = 0; /* read anew when it changes in the thread state */
    kept->tid_next_ns = 0;
    return told ? cairn_pytids_find(read, kept) : 0; /* or it is looked for with the next copy */
}

#include "pytogether.h"

#include <string.h>

#include "clock.h"
#include "err.h"
#include "pyframe.h"
#include "pyread_parts.h"
#include "pystr.h"

#define STATE_MAX_BYTES 16384 /* of a thread state: what lies further off is not part of it */
#define LATE_NS 20000u        /* several times what the read takes, and for each of its parts */
#define LATE_PART_NS 2000u
#define PARTS_MAX (5u * CAIRN_PYREAD_THREADS_MAX)

static int add(struct cairn_pyread *read, uint64_t address, void *data, size_t size_bytes)
{
    struct cairn_pynow *now = &read->now;

    CAIRN_TRY(cairn_vec_reserve(&now->parts, now->parts.count + 1, PARTS_MAX));
    now->parts.items[now->parts.count++] = (struct cairn_remote_part){address, data, size_bytes};
    return 0;
}

/* What of a state is looked at. */
static int plan_watch(struct cairn_pyread *read, struct cairn_pywatch *watch)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    const struct cairn_pykept *kept = watch->kept;
    bool cframes = cairn_pylayout_has(l->thread_cframe);

    watch->first_part = read->now.parts.count;
    CAIRN_TRY(add(read, kept->thread.tstate + l->thread_interp, &watch->interp, 8));
    CAIRN_TRY(add(read,
                  kept->thread.tstate + (cframes ? l->thread_cframe : l->thread_current_frame),
                  &watch->current, 8));
    if (watch->what != CAIRN_PYWATCH_OUTER || !kept->raws.count)
        return 0;
    watch->leaf = &kept->raws.items[kept->raws.count - 1];
    if (cframes)
        CAIRN_TRY(add(read, kept->cframe + l->cframe_current_frame, &watch->frame, 8));
    if (cairn_pyframe_is_object(l))
        return add(read, watch->leaf->address, watch->data, l->frame_size);
    return add(read, watch->leaf->address + l->frame_instr, watch->data, 8);
}

/* Whether it may be a state of that thread which had no stack when it was read. Until 3.12 whose it
 * is cannot be told before it has one. */
static bool may_fill(const struct cairn_pyread *read, const struct cairn_pythread *thread,
                     uint64_t pthread_id)
{
    if (thread->pthread_id && cairn_pythread_has_stack(thread))
        return false;
    return cairn_pylayout_has(read->runtime.layout.thread_cframe) || !thread->pthread_id ||
           thread->pthread_id == pthread_id;
}

static int list_watches(struct cairn_pyread *read, const struct cairn_pynested *items, size_t count)
{
    struct cairn_pynow *now = &read->now;

    now->watches.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&now->watches, read->threads.count + count,
                                2 * CAIRN_PYREAD_THREADS_MAX));
    for (size_t i = 0; i < count; i++)
        now->watches.items[now->watches.count++] = (struct cairn_pywatch){
            .kept = items[i].kept,
            .what = i + 1 < count ? CAIRN_PYWATCH_OUTER : CAIRN_PYWATCH_INNERMOST};
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pythread *thread = read->threads.items[i];

        if (may_fill(read, thread, items->pthread_id))
            now->watches.items[now->watches.count++] = (struct cairn_pywatch){
                .kept = (struct cairn_pykept *)thread, .what = CAIRN_PYWATCH_OTHER};
    }
    return 0;
}

/* The lists' heads come last: who enters an interpreter after its states were looked at, shows. */
static int plan(struct cairn_pyread *read)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    struct cairn_pynow *now = &read->now;

    now->parts.count = 0;
    for (size_t i = 0; i < now->watches.count; i++)
        CAIRN_TRY(plan_watch(read, &now->watches.items[i]));
    now->first_head = now->parts.count;
    for (size_t i = 0; i < read->interps.count; i++)
        CAIRN_TRY(add(read, read->interps.items[i].address + l->interp_threads_head,
                      &read->interps.items[i].head_now, 8));
    CAIRN_TRY(add(read, read->runtime.address + l->runtime_interpreters_head, &now->newest, 8));
    return cairn_vec_reserve(&now->ok, now->parts.count, PARTS_MAX);
}

/* Who is put off its processor while it reads has read no one moment: *ret_in_time is false. */
static int look(struct cairn_pyread *read, bool *ret_in_time)
{
    struct cairn_pynow *now = &read->now;
    uint64_t most_ns = LATE_NS + LATE_PART_NS * now->parts.count;

    *ret_in_time = false;
    for (int i = 0; i < CAIRN_PYREAD_TRIES && !*ret_in_time; i++) {
        uint64_t start_ns = cairn_clock_mono_ns();

        CAIRN_TRY(cairn_pystr_read_each(&read->remote, now->parts.items, now->parts.count,
                                        now->ok.items));
        *ret_in_time = cairn_clock_mono_ns() - start_ns <= most_ns;
    }
    return 0;
}

static bool lists_moved(const struct cairn_pyread *read)
{
    const struct cairn_pynow *now = &read->now;

    for (size_t i = 0; i < read->interps.count; i++) {
        if (!now->ok.items[now->first_head + i] ||
            read->interps.items[i].head_now != read->interps.items[i].head)
            return true;
    }
    return !now->ok.items[now->first_head + read->interps.count] ||
           now->newest != read->interps.items[0].address;
}

/* Whether it has a stack. */
static bool runs(const struct cairn_pyread *read, const struct cairn_pywatch *watch)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    const struct cairn_pykept *kept = watch->kept;
    const bool *ok = &read->now.ok.items[watch->first_part];

    if (!ok[0] || !ok[1] || watch->interp != kept->thread.interp)
        return false;
    if (cairn_pylayout_has(l->thread_cframe)) /* on the C stack, as long as one is there */
        return watch->current && watch->current - kept->thread.tstate >= STATE_MAX_BYTES;
    return watch->current && watch->current != cairn_pykept_field(kept, l->thread_base_frame);
}

/* Whether it stands in the frame, and at the instruction, that were read of it. */
static bool stands(const struct cairn_pyread *read, const struct cairn_pywatch *watch)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    const bool *ok = &read->now.ok.items[watch->first_part];
    uint64_t frame = watch->current, instr;
    struct cairn_pyraw now;
    enum cairn_pycheck ignored;

    if (!watch->leaf || !runs(read, watch))
        return false;
    ok += 2;
    if (cairn_pylayout_has(l->thread_cframe)) {
        if (!*ok++ || watch->current != watch->kept->cframe)
            return false;
        frame = watch->frame;
    }
    if (!*ok || frame != watch->leaf->address)
        return false;
    if (!cairn_pyframe_is_object(l)) {
        memcpy(&instr, watch->data, sizeof(instr));
        return instr == watch->leaf->instr;
    }
    return cairn_pyframe_decode(l, read->runtime.table, frame, watch->data, 0, &now, &ignored) ==
               0 &&
           now.instr == watch->leaf->instr;
}

int cairn_pytogether(struct cairn_pyread *read, const struct cairn_pynested *items, size_t count,
                     struct cairn_pytogether *ret)
{
    struct cairn_pynow *now = &read->now;
    bool in_time;
    size_t at = 0;

    CAIRN_TRY(list_watches(read, items, count));
    CAIRN_TRY(plan(read));
    CAIRN_TRY(look(read, &in_time));
    for (size_t i = 0; i < now->watches.count; i++)
        now->watches.items[i].runs = runs(read, &now->watches.items[i]);
    read->list_moved |= lists_moved(read);
    ret->others = read->list_moved || cairn_pytogether_filled(read, &at);
    for (ret->count = 1; in_time && ret->count < count; ret->count++) {
        if (!stands(read, &now->watches.items[ret->count - 1]) ||
            !now->watches.items[ret->count].runs)
            break;
    }
    return 0;
}

struct cairn_pykept *cairn_pytogether_filled(const struct cairn_pyread *read, size_t *at)
{
    while (*at < read->now.watches.count) {
        const struct cairn_pywatch *watch = &read->now.watches.items[(*at)++];

        if (watch->what == CAIRN_PYWATCH_OTHER && watch->runs)
            return watch->kept;
    }
    return NULL;
}

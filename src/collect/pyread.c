#include "pyread.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "err.h"
#include "pyframe.h"
#include "pylearn.h"
#include "pynest.h"
#include "pyoverlay.h"
#include "pyread_parts.h"
#include "pystr.h"
#include "pyvacant.h"

#define LIST_CHECK_NS UINT64_C(50000000) /* how often the list of threads is gone through */
/* A thread that is found in one round starts in the next. */
#define ROUNDS (2 * CAIRN_PYREAD_TRIES)
#define RESTING_TICKS 12
#define RESTLESS_PAGES 2
#define LATE_NS 20000u /* several times what a read takes, and for each of its parts */
#define LATE_PART_NS 2000u
#define SCRATCH_MAX_BYTES ((size_t)1 << 30)

/* --- The read --- */

int cairn_pyread_add(struct cairn_pyread *read, struct cairn_pyslot slot, uint64_t address,
                     size_t size_bytes)
{
    size_t count = read->parts.count;

    CAIRN_TRY(cairn_vec_reserve(&read->parts, count + 1, SCRATCH_MAX_BYTES));
    CAIRN_TRY(cairn_vec_reserve(&read->slots, count + 1, SCRATCH_MAX_BYTES));
    CAIRN_TRY(cairn_vec_reserve(&read->ok, count + 1, SCRATCH_MAX_BYTES));
    slot.place = read->scratch_used;
    read->scratch_used += (size_bytes + 7) & ~(size_t)7;
    read->parts.items[count] = (struct cairn_remote_part){address, NULL, size_bytes};
    read->slots.items[count] = slot;
    read->parts.count = read->slots.count = count + 1;
    return 0;
}

/* Chain 0 is the one in use. */
static struct cairn_pychunks *chunks_of(struct cairn_pykept *kept, size_t chain)
{
    return chain ? &kept->resting[chain - 1] : &kept->chunks;
}

static struct cairn_pyplaces *places_of(struct cairn_pykept *kept, size_t what)
{
    return what == SLOT_AFTER ? &kept->after : &kept->others;
}

static int add_places(struct cairn_pyread *read, struct cairn_pykept *kept, size_t what,
                      bool cframes)
{
    struct cairn_pyrange range;

    for (size_t at = 0; cairn_pyplaces_next(places_of(kept, what), &at, &range);) {
        if (range.cframe == cframes)
            CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){kept, what, 0, 0}, range.address,
                                       range.size_bytes));
    }
    return 0;
}

/* Frame objects. Where stacks were refused lately, what is current is asked for between the pieces
 * as well: each is a moment at which the stack may be known. */
static int add_blocks(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    uint64_t current = kept->thread.tstate + read->runtime.layout.thread_current_frame;
    bool restless = cairn_pykept_is_restless(kept);
    const struct cairn_pyrun *runs;

    CAIRN_TRY(
        cairn_pyblocks_plan(&kept->blocks, kept->ticks, restless ? RESTLESS_PAGES : SIZE_MAX));
    runs = kept->blocks.runs.items;
    for (size_t i = 0; i < kept->blocks.runs.count; i++) {
        CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){kept, SLOT_BLOCKS, i, 0},
                                   runs[i].address, runs[i].size_bytes));
        read->block_pages += runs[i].count;
        if (restless && i < CAIRN_PYMOMENTS)
            CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){kept, SLOT_CURRENT, i, 0},
                                       current, 8));
    }
    return 0;
}

static int add_chunk(struct cairn_pyread *read, struct cairn_pykept *kept, size_t chain,
                     size_t index)
{
    const struct cairn_pychunk *chunk = &chunks_of(kept, chain)->items[index];

    return cairn_pyread_add(read, (struct cairn_pyslot){kept, SLOT_CHUNK + chain, index, 0},
                            chunk->address, (size_t)chunk->used_bytes);
}

/* Chains of greenlets that rested not long ago: the thread may be back on any of them. */
static int add_resting(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    for (size_t chain = 1; chain <= CAIRN_PYCHAINS; chain++) {
        if (kept->rested_tick[chain - 1] + RESTING_TICKS < kept->ticks)
            continue;
        for (size_t i = chunks_of(kept, chain)->count; i-- > 0;)
            CAIRN_TRY(add_chunk(read, kept, chain, i));
    }
    return 0;
}

static void clear_thread(struct cairn_pykept *kept)
{
    kept->header_ok = false;
    memset(kept->currents, 0, sizeof(kept->currents));
    cairn_pyplaces_clear(&kept->others);
    cairn_pyplaces_clear(&kept->after);
    for (size_t chain = 0; chain <= CAIRN_PYCHAINS; chain++)
        for (size_t i = 0; i < chunks_of(kept, chain)->count; i++)
            chunks_of(kept, chain)->items[i].piece = (struct cairn_pypiece){0};
}

/* In this order: what says which frame is current, then at once where that frame lies; the
 * further out, the later, since it changes the less. */
static int plan_thread(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    size_t chunks = kept->chunks.count;

    clear_thread(kept);
    CAIRN_TRY(cairn_pytids_plan(read, kept, 0));
    CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){kept, SLOT_HEADER, 0, 0},
                               kept->thread.tstate, read->ctx.header_bytes));
    CAIRN_TRY(cairn_pyoverlay_plan_thread(read, kept));
    if (cairn_pyframe_is_object(&read->runtime.layout)) {
        CAIRN_TRY(add_blocks(read, kept));
        return cairn_pytids_plan(read, kept, 1);
    }
    CAIRN_TRY(add_places(read, kept, SLOT_OTHER, true));
    if (chunks)
        CAIRN_TRY(add_chunk(read, kept, 0, chunks - 1));
    CAIRN_TRY(add_resting(read, kept));
    CAIRN_TRY(add_places(read, kept, SLOT_OTHER, false));
    CAIRN_TRY(add_places(read, kept, SLOT_AFTER, false));
    for (size_t i = chunks; i-- > 1;)
        CAIRN_TRY(add_chunk(read, kept, 0, i - 1));
    return cairn_pytids_plan(read, kept, 1);
}

static int grow_scratch(struct cairn_pyread *read)
{
    if (read->scratch_used > read->scratch_cap) {
        size_t cap = read->scratch_used * 2;
        uint8_t *scratch;

        if (read->scratch_used > SCRATCH_MAX_BYTES)
            return -CAIRN_ELIMIT;
        scratch = cairn_realloc(read->scratch, cap);
        if (!scratch)
            return -CAIRN_ENOMEM;
        read->scratch = scratch;
        read->scratch_cap = cap;
    }
    for (size_t i = 0; i < read->parts.count; i++)
        read->parts.items[i].data = read->scratch + read->slots.items[i].place;
    return 0;
}

/* What was read of a part, or that it was not. */
static void hand_out(struct cairn_pyread *read, size_t index)
{
    const struct cairn_pyslot *slot = &read->slots.items[index];
    const struct cairn_remote_part *part = &read->parts.items[index];
    struct cairn_pykept *kept = slot->kept;
    bool ok = read->ok.items[index];

    switch (slot->what) {
    case SLOT_HEAD:
        if (ok)
            memcpy(&read->interps.items[slot->index].head_now, part->data, sizeof(uint64_t));
        else
            read->list_moved = true;
        break;
    case SLOT_HEADER:
        if (ok)
            memcpy(kept->header, part->data, part->size_bytes);
        kept->header_ok = ok;
        break;
    case SLOT_TID:
        cairn_pytids_take(kept, slot->index, ok ? part->data : NULL, part->size_bytes);
        break;
    case SLOT_GIL:
    case SLOT_GC:
    case SLOT_EXC:
        if (ok)
            cairn_pyoverlay_take(read, slot, part->data);
        break;
    case SLOT_OTHER:
    case SLOT_AFTER:
        cairn_pyplaces_take(
            places_of(kept, slot->what),
            &(struct cairn_pyrange){.address = part->address, .size_bytes = part->size_bytes},
            ok ? part->data : NULL, kept->ticks - 1);
        break;
    case SLOT_CURRENT:
        if (ok)
            memcpy(&kept->currents[slot->index], part->data, sizeof(uint64_t));
        break;
    case SLOT_BLOCKS:
        cairn_pyblocks_take(&kept->blocks, slot->index, ok ? part->data : NULL, kept->ticks - 1);
        break;
    default: /* SLOT_CHUNK and the number of its chain */
        if (ok)
            chunks_of(kept, slot->what - SLOT_CHUNK)->items[slot->index].piece =
                (struct cairn_pypiece){part->address, part->size_bytes, part->data};
        break;
    }
}

/* Who ran in a state when this part of it was copied, of those that tell it; CAIRN_PYKEPT_UNKNOWN:
 * that is not known. */
static uint64_t who_ran(const struct cairn_pyread *read, size_t index)
{
    const struct cairn_remote_part *part = &read->parts.items[index];
    uint32_t place = read->runtime.layout.thread_native_id;
    uint64_t tid;

    if (!read->ok.items[index])
        return CAIRN_PYKEPT_UNKNOWN;
    if (read->slots.items[index].what == SLOT_HEADER)
        return cairn_pyheader_field(part->data, place);
    tid = cairn_pytids_number(part->data, part->size_bytes);
    return tid ? tid : CAIRN_PYKEPT_UNKNOWN;
}

/* At the first copy of this tick: by its state, or until 3.10 by the number in front of that. */
static void note_first(struct cairn_pyread *read)
{
    bool told = cairn_pylayout_has(read->runtime.layout.thread_native_id);

    for (size_t i = 0; i < read->parts.count; i++) {
        const struct cairn_pyslot *slot = &read->slots.items[i];

        if ((slot->what != SLOT_HEADER && slot->what != SLOT_TID) || slot->kept->tries > 0)
            continue;
        if (slot->what == (told ? SLOT_HEADER : SLOT_TID) && slot->index == 0)
            slot->kept->first_native_id = who_ran(read, i);
    }
}

/* Who is put off its processor while it reads gets pieces of moments that have nothing to do with
 * each other: then it reads once more. */
static int read_in_time(struct cairn_pyread *read)
{
    uint64_t most_ns = LATE_NS + LATE_PART_NS * (read->parts.count + read->block_pages);

    for (int i = 1;; i++) {
        uint64_t start_ns = cairn_clock_mono_ns();

        CAIRN_TRY(cairn_pystr_read_each(&read->remote, read->parts.items, read->parts.count,
                                        read->ok.items));
        read->codes.copied_ns = cairn_clock_mono_ns();
        if (i == 1)
            note_first(read);
        if (i == CAIRN_PYREAD_TRIES || read->codes.copied_ns - start_ns <= most_ns)
            return 0;
        read->stats.reread += read->again.count;
    }
}

static int read_round(struct cairn_pyread *read, bool first)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    read->parts.count = read->slots.count = 0;
    read->scratch_used = read->block_pages = 0;
    for (size_t i = 0; first && i < read->interps.count; i++)
        CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){NULL, SLOT_HEAD, i, 0},
                                   read->interps.items[i].address + l->interp_threads_head, 8));
    if (first)
        CAIRN_TRY(cairn_pyoverlay_plan(read));
    for (size_t i = 0; i < read->again.count; i++) {
        if (read->again.items[i])
            CAIRN_TRY(plan_thread(read, read->again.items[i]));
    }
    for (size_t i = 0; first && i < read->vacant_count; i++)
        CAIRN_TRY(plan_thread(read, read->vacant[i].kept));
    CAIRN_TRY(grow_scratch(read));
    CAIRN_TRY(read_in_time(read));
    if (first)
        read->copied_ns = read->codes.copied_ns;
    for (size_t i = 0; i < read->parts.count; i++)
        hand_out(read, i);
    for (size_t i = 0; first && i < read->interps.count; i++)
        read->list_moved |= read->interps.items[i].head != read->interps.items[i].head_now;
    return 0;
}

/* --- The tick --- */

/* Until 3.10 the number is found after the copy, and may be of a thread that has come since: so it
 * is read with another copy, where it did not stand in front of this one. */
static int settle_known(struct cairn_pyread *read, struct cairn_pykept *kept, bool last)
{
    bool found = kept->thread.native_id != 0;

    if (!found)
        CAIRN_TRY(cairn_pytids_find(read, kept));
    if (found || !kept->thread.native_id || kept->tid_told == kept->thread.native_id ||
        cairn_pylayout_has(read->runtime.layout.thread_native_id))
        return cairn_pykept_settle(&read->ctx, kept, last);
    cairn_pykept_forget_stack(kept);
    return last ? 0 : -CAIRN_EDAMAGED;
}

/* Whether somebody else runs it than when it was copied first at this tick, or than while the rest
 * of it was copied now. */
static bool has_changed(const struct cairn_pykept *kept)
{
    uint64_t now = kept->own_native_id ? kept->own_native_id : kept->tid_told;

    return (kept->tid_end != CAIRN_PYKEPT_UNKNOWN && now != kept->tid_end) ||
           (kept->first_native_id != CAIRN_PYKEPT_UNKNOWN && now != kept->first_native_id);
}

/* What was read of one thread; codes as of cairn_pykept_settle(). -CAIRN_EUNREADABLE: there is no
 * such thread any more, or the list is about to say so. One that was not there yet when the thread
 * was read first is left for the next tick, as take_new_thread() does. */
static int settle(struct cairn_pyread *read, struct cairn_pykept *kept, bool last)
{
    if (kept->header_ok &&
        cairn_pylist_identify(&read->runtime.layout, kept, kept->header, kept->thread.interp)) {
        if (cairn_pytids_is_another(kept))
            cairn_pykept_forget_stack(kept);
        if (has_changed(kept) && read->interps.count == 1) {
            kept->thread.status = CAIRN_PYSTACK_NONE;
            return 0;
        }
        cairn_pyoverlay_take_header(read, kept);
        return settle_known(read, kept, last);
    }
    read->list_moved = true;
    if (last)
        return cairn_pykept_give_up(&read->ctx, kept, CAIRN_PYSTACK_UNREADABLE, 0);
    return -CAIRN_EUNREADABLE;
}

/* Whether it is worth another try, and what has to be learned for it. */
static bool try_again(struct cairn_pyread *read, struct cairn_pykept *kept, int *code)
{
    bool again =
        *code == -CAIRN_ENOTFOUND || *code == -CAIRN_EDAMAGED || *code == -CAIRN_EUNREADABLE;

    if (!again)
        return false;
    read->stats.reread++;
    *code = *code == -CAIRN_ENOTFOUND ? cairn_pylearn_chain(&read->ctx, kept) : 0;
    return true;
}

/* *left: moves on when the thread is to be read again. */
static int settle_or_leave(struct cairn_pyread *read, struct cairn_pykept *kept, size_t *left)
{
    bool last = ++kept->tries == CAIRN_PYREAD_TRIES;
    int code = settle(read, kept, last);

    if (code == -CAIRN_ENOTFOUND && last)
        return cairn_pykept_give_up(&read->ctx, kept, CAIRN_PYSTACK_TORN, CAIRN_PYCHECK_MOVED);
    if (try_again(read, kept, &code))
        read->again.items[(*left)++] = kept;
    return code;
}

static int do_round(struct cairn_pyread *read, int round)
{
    size_t left = 0;

    CAIRN_TRY(read_round(read, round == 0));
    for (size_t i = 0; i < read->again.count; i++) {
        struct cairn_pykept *kept = read->again.items[i];

        if (!kept)
            continue;
        kept->thread.late = round > 0;
        CAIRN_TRY(settle_or_leave(read, kept, &left));
    }
    read->again.count = left;
    return 0;
}

static int want_again(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    CAIRN_TRY(cairn_vec_reserve(&read->again, read->again.count + 1, 2 * CAIRN_PYREAD_THREADS_MAX));
    read->again.items[read->again.count++] = kept;
    kept->ticks++;
    kept->tries = 0;
    kept->first_native_id = CAIRN_PYKEPT_UNKNOWN;
    return 0;
}

static int begin(struct cairn_pyread *read)
{
    read->ctx.now_ns = cairn_clock_mono_ns();
    read->again.count = 0;
    if (read->list_moved || read->ctx.now_ns - read->list_checked_ns >= LIST_CHECK_NS)
        CAIRN_TRY(cairn_pylist_check(read));
    cairn_pyvacant_age(read);
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pykept *kept = (struct cairn_pykept *)read->threads.items[i];

        if (kept->ticks == 0)
            (void)cairn_pyvacant_take(read, kept); /* nothing is copied now */
        kept->header_ok = false;
        if (kept->thread.wanted)
            CAIRN_TRY(want_again(read, kept));
        else
            kept->thread.status = CAIRN_PYSTACK_NONE;
    }
    return 0;
}

/* A thread that was just listed is read in the rounds that follow, unless the round before copied
 * its places as well: then it is settled now, or was not there yet and is left for the next tick. A
 * state of a thread that is in several interpreters is left out of none. */
static int take_new_thread(struct cairn_pyread *read, struct cairn_pykept *kept, bool copied)
{
    enum cairn_pyvacant_found found = cairn_pyvacant_take(read, kept);

    if (found == CAIRN_PYVACANT_LATER && copied && read->interps.count == 1)
        return 0;
    CAIRN_TRY(want_again(read, kept));
    if (found != CAIRN_PYVACANT_THERE || !copied)
        return 0;
    read->again.count--;
    return settle_or_leave(read, kept, &read->again.count);
}

/* `copied`: the places of threads that are over were, with the round that was just read. */
static int take_new_threads(struct cairn_pyread *read, bool copied)
{
    CAIRN_TRY(cairn_pylist_check(read));
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pykept *kept = (struct cairn_pykept *)read->threads.items[i];

        if (kept->thread.wanted && kept->ticks == 0)
            CAIRN_TRY(take_new_thread(read, kept, copied));
    }
    return 0;
}

static int tick(struct cairn_pyread *read)
{
    int round = 0;

    CAIRN_TRY(begin(read));
    for (; round == 0 || (round < ROUNDS && read->again.count); round++) {
        CAIRN_TRY(do_round(read, round));
        if (round == 0 && read->list_moved)
            CAIRN_TRY(take_new_threads(read, true));
    }
    read->again.count = 0;
    for (int i = 1; i <= CAIRN_PYREAD_TRIES && cairn_pynest_any(read); i++) {
        CAIRN_TRY(cairn_pynest_link(read, i == CAIRN_PYREAD_TRIES));
        if (read->again.count && read->list_moved)
            CAIRN_TRY(take_new_threads(read, false));
        while (read->again.count)
            CAIRN_TRY(do_round(read, round));
    }
    return 0;
}

int cairn_pyread_tick(struct cairn_pyread *read, struct cairn_err *err)
{
    int code = tick(read);

    if (code == 0)
        return 0;
    cairn_pyoverlay_forget(read);
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pythread *thread = read->threads.items[i];

        if (!thread->wanted)
            continue;
        thread->status = CAIRN_PYSTACK_UNREADABLE;
        thread->unchanged = false;
        thread->depth = thread->kept = 0;
        ((struct cairn_pykept *)thread)->raws.count = 0;
        ((struct cairn_pykept *)thread)->raws_shown = 0;
    }
    return cairn_err_set(err, code, 0, "reader", "%s",
                         code == -CAIRN_EGONE ? "the Python that was read is gone"
                                              : cairn_err_sentence(code));
}

uint64_t cairn_pyread_copied_ns(const struct cairn_pyread *read)
{
    return read->copied_ns;
}

struct cairn_pythread *const *cairn_pyread_threads(const struct cairn_pyread *read,
                                                   size_t *ret_count)
{
    *ret_count = read->threads.count;
    return read->threads.items;
}

void cairn_pyread_on_death(struct cairn_pyread *read,
                           void (*died)(void *ctx, struct cairn_pythread *thread), void *ctx)
{
    read->died = died;
    read->died_ctx = ctx;
}

int cairn_pyread_names(struct cairn_pyread *read, bool (*wants)(void *ctx, uint64_t pthread_id),
                       void (*named)(void *ctx, uint64_t pthread_id, uint64_t native_id,
                                     struct cairn_span name),
                       void *ctx)
{
    const struct cairn_pynames names = {.wants = wants, .named = named, .ctx = ctx};
    int count = 0;

    /* The oldest, which is last, knows all threads; to another one the first that comes along is
     * the main thread. */
    for (size_t i = read->interps.count; i-- > 0;) {
        struct cairn_pysource src = {&read->remote, &read->runtime};
        int code = cairn_pynames_read(&src, read->interps.items[i].address,
                                      &read->interps.items[i].names, &names);

        if (code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM)
            return code;
        if (code > 0)
            count += code;
    }
    return count;
}

bool cairn_pyread_lacks_threading(struct cairn_pyread *read)
{
    const struct cairn_pysource src = {&read->remote, &read->runtime};

    return read->interps.count > 0 &&
           cairn_pynames_are_nowhere(&src, read->interps.items[read->interps.count - 1].address);
}

uint64_t cairn_pyread_runtime(const struct cairn_pyread *read, uint32_t *ret_hexversion)
{
    *ret_hexversion = read->runtime.hexversion;
    return read->runtime.address;
}

const char *cairn_pyread_version(const struct cairn_pyread *read)
{
    return read->version;
}

const char *cairn_pyread_layout(const struct cairn_pyread *read)
{
    if (read->runtime.told)
        return "offsets";
    return cairn_pylayout_has(read->runtime.layout.thread_native_id) ? "table" : "table+probe";
}

const struct cairn_pyread_stats *cairn_pyread_stats(const struct cairn_pyread *read)
{
    return &read->stats;
}

const char *cairn_pyread_check_name(size_t check)
{
    return cairn_pycheck_name(check);
}

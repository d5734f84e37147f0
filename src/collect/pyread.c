#include "pyread.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "err.h"
#include "pyframe.h"
#include "pylearn.h"
#include "pynames.h"
#include "pynest.h"
#include "pyoverlay.h"
#include "pyread_parts.h"
#include "pystr.h"

#define LIST_CHECK_NS UINT64_C(50000000) /* how often the list of threads is gone through */
/* A thread that is found in one round starts in the next. */
#define ROUNDS (2 * CAIRN_PYREAD_TRIES)
#define RESTING_TICKS 12
#define RESTLESS_PAGES 2
#define LATE_NS 20000u /* several times what a read takes, and for each of its parts */
#define LATE_PART_NS 2000u
#define CALLS_MAX ((size_t)1 << 20)
#define SCRATCH_MAX_BYTES ((size_t)1 << 30)

static uint32_t header_bytes(const struct cairn_pylayout *l)
{
    const uint32_t places[] = {
        l->thread_trace,         l->thread_profile,   l->thread_next,       l->thread_interp,
        l->thread_current_frame, l->thread_cframe,    l->thread_ident,      l->thread_native_id,
        l->thread_chunk,         l->thread_chunk_top, l->thread_base_frame, l->thread_exc_info,
        l->thread_exception,
    };
    uint32_t end = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (cairn_pylayout_has(places[i]) && places[i] + 8 > end)
            end = places[i] + 8;
    }
    if (cairn_pylayout_has(l->thread_exc_state) && cairn_pylayout_has(l->excitem_value) &&
        l->thread_exc_state + l->excitem_value + 8 > end)
        end = l->thread_exc_state + l->excitem_value + 8;
    return end;
}

static int set_up(struct cairn_pyread *read)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    cairn_pylayout_version_text(read->runtime.hexversion, read->version);
    cairn_map_init(&read->by_address, CAIRN_PYREAD_THREADS_MAX);
    cairn_map_init(&read->ctx.calls, CALLS_MAX);
    CAIRN_TRY(
        cairn_pycodes_init(&read->codes, &read->remote, l, read->runtime.table, &read->stats));
    read->ctx = (struct cairn_pycontext){
        .remote = &read->remote,
        .layout = l,
        .table = read->runtime.table,
        .codes = &read->codes,
        .stats = &read->stats,
        .header_bytes = header_bytes(l),
        .calls = read->ctx.calls,
    };
    return cairn_vec_reserve(&read->ctx.walk, CAIRN_PY_DEPTH_MAX, CAIRN_PY_DEPTH_MAX);
}

static int make_reader(const struct cairn_remote *remote, struct cairn_pyread **ret_read,
                       struct cairn_err *err)
{
    *ret_read = cairn_calloc(1, sizeof(**ret_read));
    if (!*ret_read)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "reader", "no memory for a reader");
    (*ret_read)->remote = *remote;
    return 0;
}

/* `code` says how looking for the runtime went. Hands the reader out, or frees it. */
static int finish_reader(struct cairn_pyread *read, int code, struct cairn_pyread **ret_read)
{
    if (code == 0)
        code = set_up(read);
    if (code < 0)
        cairn_pyread_free(read);
    else
        *ret_read = read;
    return code;
}

int cairn_pyread_open(pid_t pid, const struct cairn_remote *remote, struct cairn_pyfiles *files,
                      struct cairn_pysite *ret_site, struct cairn_pyread **ret_read,
                      struct cairn_err *err)
{
    struct cairn_pyread *read;
    int code;

    CAIRN_TRY(make_reader(remote, &read, err));
    read->tids.pid = pid;
    code = cairn_pyruntime_find(pid, &read->remote, files, ret_site, &read->runtime, err);
    return finish_reader(read, code, ret_read);
}

int cairn_pyread_open_site(pid_t pid, const struct cairn_remote *remote,
                           const struct cairn_pysite *site, struct cairn_pyread **ret_read,
                           struct cairn_err *err)
{
    struct cairn_pyread *read;
    int code;

    CAIRN_TRY(make_reader(remote, &read, err));
    read->tids.pid = pid;
    code = cairn_pyruntime_check_site(&read->remote, site, &read->runtime, err);
    return finish_reader(read, code, ret_read);
}

int cairn_pyread_open_at(const struct cairn_remote *remote, uint64_t runtime, uint32_t hexversion,
                         struct cairn_pyread **ret_read, struct cairn_err *err)
{
    return cairn_pyread_open_table(remote, runtime, hexversion, NULL, ret_read, err);
}

int cairn_pyread_open_table(const struct cairn_remote *remote, uint64_t runtime,
                            uint32_t hexversion, const struct cairn_pytable *table,
                            struct cairn_pyread **ret_read, struct cairn_err *err)
{
    struct cairn_pyread *read;
    int code;

    CAIRN_TRY(make_reader(remote, &read, err));
    if (table)
        code = cairn_pyruntime_check_table(&read->remote, runtime, hexversion, table,
                                           &read->runtime, err);
    else
        code = cairn_pyruntime_check(&read->remote, runtime, hexversion, &read->runtime, err);
    return finish_reader(read, code, ret_read);
}

void cairn_pyread_free(struct cairn_pyread *read)
{
    if (!read)
        return;
    for (size_t i = 0; i < read->threads.count; i++)
        cairn_pykept_free((struct cairn_pykept *)read->threads.items[i]);
    cairn_vec_release(&read->threads);
    cairn_vec_release(&read->interps);
    cairn_map_release(&read->by_address);
    cairn_pycodes_release(&read->codes);
    cairn_vec_release(&read->ctx.walk);
    cairn_vec_release(&read->ctx.inner);
    cairn_vec_release(&read->ctx.used);
    cairn_map_release(&read->ctx.calls);
    cairn_pyahead_release(&read->ctx.ahead);
    cairn_pytids_release(&read->tids);
    cairn_vec_release(&read->parts);
    cairn_vec_release(&read->slots);
    cairn_vec_release(&read->ok);
    cairn_vec_release(&read->again);
    cairn_vec_release(&read->nested);
    free(read->scratch);
    cairn_pytasks_free(read->tasks);
    free(read);
}

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
    CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){kept, SLOT_HEADER, 0, 0},
                               kept->thread.tstate, read->ctx.header_bytes));
    CAIRN_TRY(cairn_pyoverlay_plan_thread(read, kept));
    if (cairn_pyframe_is_object(&read->runtime.layout))
        return add_blocks(read, kept);
    CAIRN_TRY(add_places(read, kept, SLOT_OTHER, true));
    if (chunks)
        CAIRN_TRY(add_chunk(read, kept, 0, chunks - 1));
    CAIRN_TRY(add_resting(read, kept));
    CAIRN_TRY(add_places(read, kept, SLOT_OTHER, false));
    CAIRN_TRY(add_places(read, kept, SLOT_AFTER, false));
    for (size_t i = chunks; i-- > 1;)
        CAIRN_TRY(add_chunk(read, kept, 0, i - 1));
    return 0;
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
    CAIRN_TRY(grow_scratch(read));
    CAIRN_TRY(read_in_time(read));
    for (size_t i = 0; i < read->parts.count; i++)
        hand_out(read, i);
    for (size_t i = 0; first && i < read->interps.count; i++)
        read->list_moved |= read->interps.items[i].head != read->interps.items[i].head_now;
    return 0;
}

/* --- The tick --- */

static int settle_known(struct cairn_pyread *read, struct cairn_pykept *kept, bool last)
{
    if (!kept->thread.native_id)
        CAIRN_TRY(cairn_pytids_find(read, kept));
    return cairn_pykept_settle(&read->ctx, kept, last);
}

/* What was read of one thread; codes as of cairn_pykept_settle(). -CAIRN_EUNREADABLE: there is no
 * such thread any more, or the list is about to say so. */
static int settle(struct cairn_pyread *read, struct cairn_pykept *kept, bool last)
{
    if (kept->header_ok &&
        cairn_pylist_identify(&read->runtime.layout, kept, kept->thread.interp)) {
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

static int do_round(struct cairn_pyread *read, int round)
{
    size_t left = 0;

    CAIRN_TRY(read_round(read, round == 0));
    for (size_t i = 0; i < read->again.count; i++) {
        struct cairn_pykept *kept = read->again.items[i];
        bool last;
        int code;

        if (!kept)
            continue;
        last = ++kept->tries == CAIRN_PYREAD_TRIES;
        code = settle(read, kept, last);
        if (code == -CAIRN_ENOTFOUND && last)
            code = cairn_pykept_give_up(&read->ctx, kept, CAIRN_PYSTACK_TORN, CAIRN_PYCHECK_MOVED);
        else if (try_again(read, kept, &code))
            read->again.items[left++] = kept;
        CAIRN_TRY(code);
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
    return 0;
}

static int begin(struct cairn_pyread *read)
{
    read->ctx.now_ns = cairn_clock_mono_ns();
    read->again.count = 0;
    if (read->list_moved || read->ctx.now_ns - read->list_checked_ns >= LIST_CHECK_NS)
        CAIRN_TRY(cairn_pylist_check(read));
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pykept *kept = (struct cairn_pykept *)read->threads.items[i];

        if (kept->thread.wanted)
            CAIRN_TRY(want_again(read, kept));
        else
            kept->thread.status = CAIRN_PYSTACK_NONE;
    }
    return 0;
}

/* Threads that came since the list was last gone through are read in the rounds that follow. */
static int take_new_threads(struct cairn_pyread *read)
{
    CAIRN_TRY(cairn_pylist_check(read));
    for (size_t i = 0; i < read->threads.count; i++) {
        struct cairn_pykept *kept = (struct cairn_pykept *)read->threads.items[i];

        if (kept->thread.wanted && kept->ticks == 0)
            CAIRN_TRY(want_again(read, kept));
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
            CAIRN_TRY(take_new_threads(read));
    }
    read->again.count = 0;
    for (int i = 1; i <= CAIRN_PYREAD_TRIES && cairn_pynest_any(read); i++) {
        CAIRN_TRY(cairn_pynest_link(read, i == CAIRN_PYREAD_TRIES));
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

int cairn_pyread_names(struct cairn_pyread *read,
                       void (*named)(void *ctx, uint64_t pthread_id, struct cairn_span name),
                       void *ctx)
{
    int count = 0;

    /* The oldest, which is last, knows all threads; to another one the first that comes along is
     * the main thread. */
    for (size_t i = read->interps.count; i-- > 0;) {
        struct cairn_pysource src = {&read->remote, &read->runtime};
        int code = cairn_pynames_read(&src, read->interps.items[i].address,
                                      &read->interps.items[i].active, named, ctx);

        if (code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM)
            return code;
        if (code > 0)
            count += code;
    }
    return count;
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

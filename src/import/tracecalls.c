#include "tracecalls.h"

#include <string.h>

#include "alloc.h"
#include "buf.h"
#include "err.h"
#include "io.h"

#define RUNS_MAX ((size_t)64)
#define WINDOW_BYTES ((size_t)64 << 10)
#define SLICE_MAX_BYTES ((size_t)50) /* five numbers */
#define PIECE_BYTES ((size_t)1 << 20)

struct cairn_tracecalls_run {
    uint64_t at_bytes, end_bytes;   /* of the spill: what was not read yet */
    uint8_t *window;                /* of WINDOW_BYTES */
    size_t first_bytes, last_bytes; /* of the window: what was not taken yet */
    struct cairn_tracecall now;     /* the next one; what is written differs from the one before */
    bool is_over;
};

static int compare(const struct cairn_tracecall *a, const struct cairn_tracecall *b)
{
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int in_order(const void *left, const void *right, void *held)
{
    const struct cairn_tracecall *all = held;

    return compare(all + *(const uint32_t *)left, all + *(const uint32_t *)right);
}

void cairn_tracecalls_init(struct cairn_tracecalls *slices, struct cairn_spill *spill,
                           size_t held_max)
{
    *slices = (struct cairn_tracecalls){.spill = spill, .held_max = held_max};
}

void cairn_tracecalls_release(struct cairn_tracecalls *slices)
{
    for (size_t i = 0; i < slices->runs.count; i++)
        free(slices->runs.items[i].window);
    cairn_vec_release(&slices->runs);
    cairn_vec_release(&slices->held);
    free(slices->order);
    slices->order = NULL;
}

/* Of millions of slices their order is put right and not they: sorting takes as much room again as
 * what is sorted. */
static int put_in_order(struct cairn_tracecalls *slices)
{
    size_t count = slices->held.count;

    free(slices->order);
    slices->next = 0;
    slices->order = cairn_calloc(count + 1, sizeof(*slices->order));
    if (!slices->order)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < count; i++)
        slices->order[i] = (uint32_t)i;
    if (count > 0)
        qsort_r(slices->order, count, sizeof(*slices->order), in_order, slices->held.items);
    return 0;
}

static int flush(struct cairn_spill *spill, struct cairn_buf *piece)
{
    if (piece->code < 0)
        return piece->code;
    if (cairn_io_pwrite(spill->fd, piece->data, piece->size_bytes, spill->size_bytes) < 0)
        return -CAIRN_ELIMIT; /* the disk is full, or a file may not be so large */
    spill->size_bytes += piece->size_bytes;
    cairn_buf_clear(piece);
    return 0;
}

static int write_held(struct cairn_tracecalls *slices, struct cairn_buf *piece)
{
    struct cairn_tracecall last = {0};

    for (size_t i = 0; i < slices->held.count; i++) {
        const struct cairn_tracecall *now = &slices->held.items[slices->order[i]];

        cairn_buf_uvarint(piece, now->thread - last.thread);
        cairn_buf_uvarint(piece, (uint64_t)now->last_ns - (uint64_t)now->first_ns);
        cairn_buf_svarint(piece, (int64_t)((uint64_t)now->first_ns - (uint64_t)last.first_ns));
        cairn_buf_uvarint(piece, now->frame);
        cairn_buf_svarint(piece, (int64_t)now->number - (int64_t)last.number);
        last = *now;
        if (piece->size_bytes >= PIECE_BYTES)
            CAIRN_TRY(flush(slices->spill, piece));
    }
    return flush(slices->spill, piece);
}

/* What is held becomes a run. */
static int spill_held(struct cairn_tracecalls *slices)
{
    struct cairn_tracecalls_run run = {.at_bytes = 0};
    struct cairn_buf piece;
    int code;

    if (!slices->spill || slices->spill->fd < 0)
        return -CAIRN_ELIMIT;
    CAIRN_TRY(cairn_vec_reserve(&slices->runs, slices->runs.count + 1, RUNS_MAX));
    CAIRN_TRY(put_in_order(slices));
    run.at_bytes = slices->spill->size_bytes;
    cairn_buf_init(&piece, PIECE_BYTES + SLICE_MAX_BYTES);
    code = write_held(slices, &piece);
    cairn_buf_release(&piece);
    CAIRN_TRY(code);
    run.end_bytes = slices->spill->size_bytes;
    slices->runs.items[slices->runs.count++] = run;
    slices->held.count = 0;
    return 0;
}

int cairn_tracecalls_add(struct cairn_tracecalls *slices, const struct cairn_tracecall *slice)
{
    if (slices->held.count == slices->held_max)
        CAIRN_TRY(spill_held(slices));
    CAIRN_TRY(cairn_vec_reserve(&slices->held, slices->held.count + 1, slices->held_max));
    slices->held.items[slices->held.count++] = *slice;
    return 0;
}

/* A whole slice in the window, unless it is the end. */
static int fill(const struct cairn_spill *spill, struct cairn_tracecalls_run *run)
{
    size_t kept = run->last_bytes - run->first_bytes;
    uint64_t wanted = run->end_bytes - run->at_bytes;

    if (kept >= SLICE_MAX_BYTES || wanted == 0)
        return 0;
    memmove(run->window, run->window + run->first_bytes, kept);
    if (wanted > WINDOW_BYTES - kept)
        wanted = WINDOW_BYTES - kept;
    if (cairn_io_pread(spill->fd, run->window + kept, (size_t)wanted, run->at_bytes) !=
        (ssize_t)wanted)
        return -CAIRN_EIO;
    run->at_bytes += wanted;
    run->first_bytes = 0;
    run->last_bytes = kept + (size_t)wanted;
    return 0;
}

static int advance(const struct cairn_spill *spill, struct cairn_tracecalls_run *run)
{
    struct cairn_cursor cur;
    struct cairn_span left;
    uint64_t thread, length_ns, frame;
    int64_t first_ns, number;

    CAIRN_TRY(fill(spill, run));
    left = (struct cairn_span){run->window + run->first_bytes, run->last_bytes - run->first_bytes};
    run->is_over = left.size_bytes == 0;
    if (run->is_over)
        return 0;
    cairn_cursor_init(&cur, left);
    if (cairn_cursor_uvarint(&cur, &thread) < 0 || cairn_cursor_uvarint(&cur, &length_ns) < 0 ||
        cairn_cursor_svarint(&cur, &first_ns) < 0 || cairn_cursor_uvarint(&cur, &frame) < 0 ||
        cairn_cursor_svarint(&cur, &number) < 0)
        return -CAIRN_EIO; /* it is not what was written */
    run->first_bytes += cairn_cursor_offset_bytes(&cur);
    run->now.thread += (uint32_t)thread;
    run->now.first_ns = (int64_t)((uint64_t)run->now.first_ns + (uint64_t)first_ns);
    run->now.last_ns = (int64_t)((uint64_t)run->now.first_ns + length_ns);
    run->now.frame = (uint32_t)frame;
    run->now.number = (uint32_t)(run->now.number + (uint64_t)number);
    return 0;
}

int cairn_tracecalls_sort(struct cairn_tracecalls *slices)
{
    CAIRN_TRY(put_in_order(slices));
    for (size_t i = 0; i < slices->runs.count; i++) {
        slices->runs.items[i].window = cairn_malloc(WINDOW_BYTES);
        if (!slices->runs.items[i].window)
            return -CAIRN_ENOMEM;
        CAIRN_TRY(advance(slices->spill, &slices->runs.items[i]));
    }
    return 0;
}

int cairn_tracecalls_next(struct cairn_tracecalls *slices, struct cairn_tracecall *ret_slice)
{
    struct cairn_tracecalls_run *from = NULL;
    const struct cairn_tracecall *best = NULL;

    if (slices->next < slices->held.count)
        best = &slices->held.items[slices->order[slices->next]];
    for (size_t i = 0; i < slices->runs.count; i++) {
        struct cairn_tracecalls_run *run = &slices->runs.items[i];

        if (!run->is_over && (!best || compare(&run->now, best) < 0)) {
            best = &run->now;
            from = run;
        }
    }
    if (!best)
        return 0;
    *ret_slice = *best;
    if (from)
        CAIRN_TRY(advance(slices->spill, from));
    else
        slices->next++;
    return 1;
}

#include "ahead.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "format.h"
#include "helper.h"
#include "vec.h"

#define SLOTS 4
#define SLOT_SAMPLES                                                                               \
    ((size_t)2048) /* some 0.2 ms of work: what waking the other one costs is small */
#define TICKS_MAX CAIRN_CHUNK_MAX_BYTES

/* Samples of one block, and its ticks. */
struct slot {
    struct cairn_sample samples[SLOT_SAMPLES];
    size_t count;
    CAIRN_VEC(uint64_t) times_ns;
};

struct cairn_ahead {
    struct cairn_samples *samples;
    cairn_ahead_make *make;
    pthread_t thread;
    bool runs; /* the thread is to be joined */

    pthread_mutex_t lock; /* of what follows, up to the slots */
    pthread_cond_t changed;
    size_t made, taken; /* slots, ever; made - taken <= SLOTS */
    bool stopped;
    int code; /* why no more are made; 0: they are */

    size_t next; /* of the slot that is being taken: its next sample */
    struct slot slots[SLOTS];
};

/* The slot to be filled next; NULL: nobody takes any more. */
static struct slot *wait_for_room(struct cairn_ahead *ahead)
{
    struct slot *slot = NULL;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stopped && ahead->made - ahead->taken == SLOTS)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (!ahead->stopped)
        slot = &ahead->slots[ahead->made % SLOTS];
    pthread_mutex_unlock(&ahead->lock);
    if (slot)
        slot->count = 0;
    return slot;
}

/* `code`: 0, or why this slot is the last one. */
static void hand_over(struct cairn_ahead *ahead, const struct slot *slot, int code)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->made += slot->count > 0;
    ahead->code = code;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

/* The ticks of the block that a sample is of, for all that the slot will hold. */
static int copy_times(struct slot *slot, const struct cairn_sample *sample)
{
    slot->times_ns.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&slot->times_ns, sample->block_ticks, TICKS_MAX));
    memcpy(slot->times_ns.items, sample->times_ns - sample->tick,
           sample->block_ticks * sizeof(*slot->times_ns.items));
    slot->times_ns.count = sample->block_ticks;
    return 0;
}

/* Takes in `count` samples, which stand behind those of the slot already. */
static int take_in(struct slot *slot, size_t count)
{
    struct cairn_sample *samples = slot->samples + slot->count;

    if (slot->count == 0)
        CAIRN_TRY(copy_times(slot, samples));
    for (size_t i = 0; i < count; i++)
        samples[i].times_ns = slot->times_ns.items + samples[i].tick;
    slot->count += count;
    return 0;
}

static void *run(void *argument)
{
    struct cairn_ahead *ahead = argument;
    struct slot *slot = wait_for_room(ahead);
    int code = 0;

    while (slot && code == 0) {
        struct cairn_sample *made = slot->samples + slot->count;
        size_t count;

        code = ahead->make(ahead->samples, made, &count);
        if (code == 0 && slot->count > 0 && slot->samples[0].block != made[0].block) {
            hand_over(ahead, slot, 0);
            slot = wait_for_room(ahead);
            if (slot)
                memcpy(slot->samples, made, count * sizeof(*made));
        }
        if (code == 0 && slot)
            code = take_in(slot, count);
        if (code == 0 && slot && SLOT_SAMPLES - slot->count < CAIRN_SAMPLES_BATCH) {
            hand_over(ahead, slot, 0);
            slot = wait_for_room(ahead);
        }
    }
    if (slot)
        hand_over(ahead, slot, code);
    return NULL;
}

struct cairn_ahead *cairn_ahead_begin(struct cairn_samples *samples, cairn_ahead_make *make)
{
    struct cairn_ahead *ahead = cairn_calloc(1, sizeof(*ahead));

    if (!ahead)
        return NULL;
    ahead->samples = samples;
    ahead->make = make;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->runs = cairn_helper_begin(&ahead->thread, run, ahead);
    if (ahead->runs)
        return ahead;
    cairn_ahead_free(ahead);
    return NULL;
}

/* The slot that is taken next; NULL: there are no more, and *ret_code says why. */
static const struct slot *wait_for_slot(struct cairn_ahead *ahead, int *ret_code)
{
    const struct slot *slot = NULL;

    pthread_mutex_lock(&ahead->lock);
    while (ahead->made == ahead->taken && ahead->code == 0)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (ahead->made != ahead->taken)
        slot = &ahead->slots[ahead->taken % SLOTS];
    *ret_code = ahead->code;
    pthread_mutex_unlock(&ahead->lock);
    return slot;
}

static void give_back(struct cairn_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->taken++;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    ahead->next = 0;
}

int cairn_ahead_batch(struct cairn_ahead *ahead, const struct cairn_sample **ret_samples,
                      size_t *ret_count)
{
    const struct slot *slot = &ahead->slots[ahead->taken % SLOTS];
    int code;

    if (ahead->next > 0 && ahead->next == slot->count)
        give_back(ahead);
    if (ahead->next == 0 && !wait_for_slot(ahead, &code))
        return code;
    slot = &ahead->slots[ahead->taken % SLOTS];
    *ret_samples = slot->samples + ahead->next;
    *ret_count = slot->count - ahead->next;
    if (*ret_count > CAIRN_SAMPLES_BATCH)
        *ret_count = CAIRN_SAMPLES_BATCH;
    ahead->next += *ret_count;
    return 0;
}

void cairn_ahead_stop(struct cairn_ahead *ahead)
{
    if (!ahead || !ahead->runs)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stopped = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    ahead->runs = false;
}

void cairn_ahead_free(struct cairn_ahead *ahead)
{
    if (!ahead)
        return;
    cairn_ahead_stop(ahead);
    for (size_t i = 0; i < SLOTS; i++)
        cairn_vec_release(&ahead->slots[i].times_ns);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

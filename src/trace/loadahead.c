#include "loadahead.h"

#include <stdlib.h>

#include "alloc.h"
#include "format.h"
#include "helper.h"

#define SLOTS 3

struct slot {
    size_t index; /* of the chunk */
    struct cairn_buf buf;
    struct cairn_span sections; /* in it */
    int code;                   /* of the load */
    struct cairn_err err;
};

struct cairn_loadahead {
    struct cairn_reader *reader;
    pthread_t thread;
    bool runs; /* the thread is to be joined */

    pthread_mutex_t lock; /* of what follows, up to the slots */
    pthread_cond_t changed;
    size_t made, taken; /* slots, ever; made - taken <= SLOTS */
    bool stopped, over; /* nobody takes any more; no more are made */

    bool holds; /* who takes still reads the slot that is next to be given back */
    struct slot slots[SLOTS];
};

/* The slot to be filled next; NULL: nobody takes any more. */
static struct slot *wait_for_room(struct cairn_loadahead *ahead)
{
    struct slot *slot = NULL;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stopped && ahead->made - ahead->taken == SLOTS)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (!ahead->stopped)
        slot = &ahead->slots[ahead->made % SLOTS];
    pthread_mutex_unlock(&ahead->lock);
    return slot;
}

static void hand_over(struct cairn_loadahead *ahead, bool over)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->made += !over;
    ahead->over = over;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

static void *run(void *argument)
{
    struct cairn_loadahead *ahead = argument;
    size_t count = cairn_reader_chunk_count(ahead->reader);

    for (size_t i = 0; i < count; i++) {
        struct slot *slot;

        if (!cairn_reader_chunk(ahead->reader, i)->understood)
            continue;
        slot = wait_for_room(ahead);
        if (!slot)
            return NULL;
        slot->index = i;
        slot->err = (struct cairn_err){0};
        slot->code = cairn_reader_load(ahead->reader, i, &slot->buf, &slot->sections, &slot->err);
        hand_over(ahead, false);
    }
    hand_over(ahead, true);
    return NULL;
}

struct cairn_loadahead *cairn_loadahead_begin(struct cairn_reader *reader)
{
    struct cairn_loadahead *ahead = cairn_calloc(1, sizeof(*ahead));

    if (!ahead)
        return NULL;
    ahead->reader = reader;
    for (size_t i = 0; i < SLOTS; i++)
        cairn_buf_init(&ahead->slots[i].buf, CAIRN_CHUNK_MAX_BYTES);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->runs = cairn_helper_begin(&ahead->thread, run, ahead);
    if (ahead->runs)
        return ahead;
    cairn_loadahead_free(ahead);
    return NULL;
}

/* Gives back the slot that was taken before. The next one; NULL: there are no more. */
static const struct slot *take(struct cairn_loadahead *ahead)
{
    const struct slot *slot = NULL;

    pthread_mutex_lock(&ahead->lock);
    ahead->taken += ahead->holds;
    if (ahead->holds)
        pthread_cond_signal(&ahead->changed);
    while (ahead->made == ahead->taken && !ahead->over)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (ahead->made != ahead->taken)
        slot = &ahead->slots[ahead->taken % SLOTS];
    ahead->holds = slot != NULL;
    pthread_mutex_unlock(&ahead->lock);
    return slot;
}

int cairn_loadahead_next(struct cairn_loadahead *ahead, size_t index,
                         struct cairn_span *ret_sections, struct cairn_err *err)
{
    const struct slot *slot = take(ahead);

    if (!slot || slot->index != index)
        return cairn_err_set(err, -CAIRN_EINTERNAL, 0, "reader",
                             "parts were asked for in disorder");
    *ret_sections = slot->sections;
    if (slot->code < 0 && err)
        *err = slot->err;
    return slot->code;
}

void cairn_loadahead_free(struct cairn_loadahead *ahead)
{
    if (!ahead)
        return;
    if (ahead->runs) {
        pthread_mutex_lock(&ahead->lock);
        ahead->stopped = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    for (size_t i = 0; i < SLOTS; i++)
        cairn_buf_release(&ahead->slots[i].buf);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

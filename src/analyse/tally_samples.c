#include "tally_samples.h"

#include <stdlib.h>

#include "alloc.h"
#include "format.h"
#include "vec.h"

int cairn_tally_open(const struct cairn_tally *tally, const struct cairn_model *model,
                     struct cairn_samples **ret_samples, struct cairn_err *err)
{
    const struct cairn_filter *filter = &tally->filter;
    int code;

    /* Without limits nothing is left out, whatever the clocks of several files say. */
    CAIRN_TRY(cairn_samples_open(model, filter->from_ns == 0 ? 0 : tally->first_ns,
                                 filter->to_ns == UINT64_MAX ? UINT64_MAX : tally->last_ns,
                                 ret_samples, err));
    if (tally->windows.items)
        cairn_samples_within(*ret_samples, &tally->windows);
    if (!filter->thread && !filter->process)
        return 0;
    code = cairn_samples_choose(*ret_samples, tally->kept);
    if (code < 0)
        cairn_samples_free(*ret_samples);
    return code;
}

bool cairn_tally_keeps(const struct cairn_tally *tally, const struct cairn_sample *sample)
{
    return cairn_tally_keeps_node(tally, sample->node) &&
           (!tally->filter.overlays || sample->overlays & tally->filter.overlays);
}

uint64_t cairn_tally_value(const struct cairn_tally *tally,
                           const uint64_t state_ns[CAIRN_STATE_COUNT])
{
    const struct cairn_filter *filter = &tally->filter;

    if (filter->metric == CAIRN_METRIC_GIL && !filter->overlays)
        return 0; /* not told */
    return cairn_metric_value(filter->metric, state_ns);
}

static struct cairn_moment moment_of(const struct cairn_tally *tally,
                                     const struct cairn_sample *sample)
{
    struct cairn_moment moment = {
        .thread = sample->thread,
        .node = tally->fold ? tally->fold[sample->node] : sample->node,
        .ticks = sample->ticks,
        .on = sample->on,
        .first_ns = sample->first_ns,
        .tick_ns = sample->times_ns[0],
        .last_ns = sample->last_ns,
        .value_ns = cairn_tally_value(tally, sample->state_ns),
        .cpu_ns = sample->state_ns[CAIRN_STATE_RUNNING],
        .overlays = sample->overlays,
    };

    for (int i = 1; i < CAIRN_STATE_COUNT; i++)
        if (sample->state_ns[i] > sample->state_ns[moment.state])
            moment.state = (uint8_t)i;
    return moment;
}

static int gather(const struct cairn_tally *tally, struct cairn_timeline *timeline)
{
    const struct cairn_sample *batch;
    struct cairn_samples *samples;
    size_t count;
    int code = cairn_tally_open(tally, tally->model, &samples, NULL);

    if (code < 0)
        return code;
    while (code == 0 && (code = cairn_samples_batch(samples, &batch, &count)) == 0) {
        code = cairn_vec_reserve(timeline, timeline->count + count, CAIRN_TIMELINE_MAX);
        for (size_t i = 0; i < count && code == 0; i++)
            if (cairn_tally_keeps(tally, &batch[i]))
                timeline->items[timeline->count++] = moment_of(tally, &batch[i]);
    }
    cairn_samples_free(samples);
    return code == -CAIRN_EEND ? 0 : code;
}

static int by_thread_and_time(const void *left, const void *right)
{
    const struct cairn_moment *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    if (a->last_ns != b->last_ns)
        return a->last_ns < b->last_ns ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static void move_to(struct cairn_moment *moment, uint64_t first_ns)
{
    uint64_t by_ns = first_ns - moment->first_ns;

    moment->first_ns += by_ns;
    moment->tick_ns += by_ns;
    moment->last_ns += by_ns;
}

int cairn_timeline_make(const struct cairn_tally *tally, struct cairn_timeline *ret_timeline)
{
    struct cairn_timeline timeline = {.first_ns = tally->first_ns, .last_ns = tally->last_ns};
    int code = gather(tally, &timeline);

    if (code < 0) {
        cairn_timeline_release(&timeline);
        return code;
    }
    if (timeline.count > 0)
        qsort(timeline.items, timeline.count, sizeof(*timeline.items), by_thread_and_time);
    for (size_t i = 0; i < timeline.count; i++) {
        struct cairn_moment *moment = &timeline.items[i];

        if (i > 0 && moment[-1].thread == moment->thread && moment[-1].last_ns > moment->first_ns)
            move_to(moment, moment[-1].last_ns);
        if (moment->first_ns < timeline.first_ns)
            timeline.first_ns = moment->first_ns;
        if (moment->last_ns > timeline.last_ns)
            timeline.last_ns = moment->last_ns;
    }
    *ret_timeline = timeline;
    return 0;
}

void cairn_timeline_release(struct cairn_timeline *timeline)
{
    cairn_vec_release(timeline);
}

size_t cairn_timeline_thread_end(const struct cairn_timeline *timeline, size_t first)
{
    size_t end = first + 1;

    while (end < timeline->count && timeline->items[end].thread == timeline->items[first].thread)
        end++;
    return end;
}

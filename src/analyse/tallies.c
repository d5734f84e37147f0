#include "tallies.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "tally_pass.h"

#define RIDERS_MAX CAIRN_METRIC_SAMPLED

struct cairn_tallies {
    struct cairn_pass pass; /* of wall time; its tally is gone to the caller */
    struct cairn_filter filter;
    struct cairn_tally said; /* what the pass said beside its sums; owns its blockers alone */
    struct cairn_pass_rider riders[RIDERS_MAX];
};

/* The GIL's samples are others, unless nobody knows which they are; of tasks there are none. */
static bool rides(const struct cairn_model *model, const struct cairn_filter *filter,
                  enum cairn_metric metric)
{
    if (metric == CAIRN_METRIC_WALL || filter->task)
        return false;
    return metric != CAIRN_METRIC_GIL ||
           (!cairn_model_has_overlays(model) && filter->overlays == 0);
}

/* What of a tally is neither of its own nor of its metric. */
static int say(const struct cairn_tally *from, struct cairn_tally *to)
{
    struct cairn_blockers blockers = {0};

    if (from->blockers.count > 0) {
        CAIRN_TRY(cairn_vec_reserve(&blockers, from->blockers.count, SIZE_MAX));
        memcpy(blockers.items, from->blockers.items,
               from->blockers.count * sizeof(*blockers.items));
        blockers.count = from->blockers.count;
    }
    to->blockers = blockers;
    memcpy(to->overlay_ns, from->overlay_ns, sizeof(to->overlay_ns));
    memcpy(to->overlay_unknown_ns, from->overlay_unknown_ns, sizeof(to->overlay_unknown_ns));
    to->looked_at_ns = from->looked_at_ns;
    to->wait_unknown_ns = from->wait_unknown_ns;
    to->ticks = from->ticks;
    to->first_ns = from->first_ns;
    to->last_ns = from->last_ns;
    to->slice_ns = from->slice_ns;
    to->regions = from->regions;
    to->regions_whole = from->regions_whole;
    return 0;
}

static int gather(struct cairn_tallies *tallies, struct cairn_tally *wall, struct cairn_err *err)
{
    struct cairn_pass *pass = &tallies->pass;

    CAIRN_TRY(cairn_pass_begin(pass, err));
    CAIRN_TRY(cairn_pass_stream(pass, err));
    cairn_sums_settle(&pass->sums);
    CAIRN_TRY(cairn_pass_end(pass, err));
    if (wall->cell_count > pass->items_max)
        return -CAIRN_ELIMIT;
    return say(wall, &tallies->said) < 0 ? cairn_pass_fail(err, -CAIRN_ENOMEM) : 0;
}

int cairn_tallies_make(const struct cairn_model *model, const struct cairn_filter *filter,
                       size_t cells_max, struct cairn_tallies **ret_tallies,
                       struct cairn_tally *ret_wall, struct cairn_err *err)
{
    struct cairn_tallies *tallies = cairn_calloc(1, sizeof(*tallies));
    struct cairn_tally wall = {.model = model, .filter = *filter};
    int code;

    if (!tallies)
        return cairn_pass_fail(err, -CAIRN_ENOMEM);
    tallies->filter = *filter;
    cairn_pass_init(&tallies->pass, model, &wall);
    if (!filter->only_my_code)
        tallies->pass.items_max = cells_max;
    tallies->pass.riders = tallies->riders;
    for (int metric = 0; metric < CAIRN_METRIC_SAMPLED; metric++) {
        struct cairn_pass_rider *rider = &tallies->riders[tallies->pass.rider_count];

        if (!rides(model, filter, (enum cairn_metric)metric))
            continue;
        rider->metric = (enum cairn_metric)metric;
        cairn_draws_init(&rider->draws);
        tallies->pass.rider_count++;
    }
    code = gather(tallies, &wall, err);
    tallies->pass.tally = NULL;
    if (code == 0 && wall.cell_count > cells_max)
        code = -CAIRN_ELIMIT;
    if (code < 0) {
        cairn_tally_release(&wall);
        cairn_tallies_free(tallies);
        return code;
    }
    *ret_tallies = tallies;
    *ret_wall = wall;
    return 0;
}

/* A pass over samples that were gone through already. */
static int end_rider(struct cairn_tallies *tallies, struct cairn_pass_rider *rider,
                     struct cairn_pass *pass, struct cairn_err *err)
{
    struct cairn_sums own;
    int code;

    CAIRN_TRY(cairn_pass_begin(pass, err));
    for (size_t i = 0; i < pass->thread_count; i++)
        memcpy(pass->whos[i].sums, tallies->pass.whos[i].sums, sizeof(pass->whos[i].sums));
    if (say(&tallies->said, pass->tally) < 0)
        return cairn_pass_fail(err, -CAIRN_ENOMEM);
    cairn_draws_finish(&rider->draws, pass->tally->draws);
    cairn_strips_match(&rider->strips, &rider->thread_strips);
    pass->tally->strips = rider->strips;
    pass->tally->thread_strips = rider->thread_strips;
    rider->strips = rider->thread_strips = (struct cairn_strips){0};
    own = pass->sums;
    pass->sums = tallies->pass.sums;
    code = cairn_pass_end(pass, err);
    pass->sums = own;
    return code;
}

int cairn_tallies_take(struct cairn_tallies *tallies, enum cairn_metric metric,
                       struct cairn_tally *ret_tally, struct cairn_err *err)
{
    const struct cairn_model *model = tallies->pass.model;
    struct cairn_tally tally = {.model = model, .filter = tallies->filter};
    struct cairn_pass_rider *rider = NULL;
    struct cairn_pass pass;
    int code;

    tally.filter.metric = metric;
    for (size_t i = 0; i < tallies->pass.rider_count; i++)
        if (tallies->riders[i].metric == metric)
            rider = &tallies->riders[i];
    if (!rider)
        return cairn_tally_make(model, &tally.filter, ret_tally, err);
    cairn_pass_init(&pass, model, &tally);
    code = end_rider(tallies, rider, &pass, err);
    cairn_pass_release(&pass);
    if (code < 0)
        cairn_tally_release(&tally);
    else
        *ret_tally = tally;
    return code;
}

void cairn_tallies_free(struct cairn_tallies *tallies)
{
    if (!tallies)
        return;
    for (size_t i = 0; i < tallies->pass.rider_count; i++) {
        cairn_strips_release(&tallies->riders[i].strips);
        cairn_strips_release(&tallies->riders[i].thread_strips);
        cairn_draws_release(&tallies->riders[i].draws);
    }
    cairn_pass_release(&tallies->pass);
    cairn_vec_release(&tallies->said.blockers);
    free(tallies);
}

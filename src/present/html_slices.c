#include "html_slices.h"

#include "html_parts.h"

#define SLICES_MAX 256u
#define SLICES_LEAST                                                                               \
    4u /* fewer are no timeline, and to try them takes a pass through all samples */
#define SLICE_TICKS 8
#define SLICED_MAX                                                                                 \
    ((uint64_t)4 * CAIRN_HTML_CELLS_MAX) /* what they could be at most, so that they are tried */

static bool can_be_tried(const struct cairn_tally *wall, unsigned slices)
{
    const struct cairn_thread *threads;
    uint64_t ticks = wall->total.ticks, cells = (uint64_t)wall->cell_count * slices;
    uint64_t groups = wall->filter.threads_joined ? 1 : cairn_model_threads(wall->model, &threads);

    return wall->ticks >= (uint64_t)SLICE_TICKS * slices && groups * slices <= SLICED_MAX &&
           (ticks < cells ? ticks : cells) <= SLICED_MAX;
}

/* Of how many slices there surely are few enough cells to try, and each has its ticks: where one
 * has none by chance, threads would seem not to be there. */
static unsigned slices_to_try(const struct cairn_tally *wall)
{
    unsigned slices = SLICES_MAX;

    while (slices > 1 && !can_be_tried(wall, slices))
        slices /= 2;
    return slices;
}

/* Whether a page that has not room for as many slices may ask for parts of the time. Regions are
 * chosen by what of them lies in the time that is asked for, so parts of those would not add up. */
static bool may_have_parts(const struct cairn_html_options *options, const struct cairn_tally *wall)
{
    return options->parts && options->columns && !wall->filter.region &&
           wall->ticks >= (uint64_t)SLICE_TICKS * CAIRN_HTML_PARTS;
}

/* In as many slices, or half as many until there is room; in one it is not made: that is `wall`. */
static int make_sliced(const struct cairn_tally *wall, unsigned slices, unsigned least,
                       struct cairn_tally *ret_sliced, struct cairn_err *err)
{
    const struct cairn_model *model = cairn_model_whole(wall->model);
    struct cairn_filter filter = wall->filter;
    int code = -CAIRN_ELIMIT;

    for (; slices > 1 && slices >= least && code == -CAIRN_ELIMIT; slices /= 2) {
        filter.slices = slices;
        code = cairn_tally_make_up_to(model, &filter, CAIRN_HTML_CELLS_MAX, ret_sliced, err);
    }
    return code;
}

int cairn_html_slices_make(const struct cairn_tally *wall, const struct cairn_html_options *options,
                           bool timeless, bool gil, struct cairn_tally *own,
                           const struct cairn_tally **ret_sliced, struct cairn_err *err)
{
    bool asks = !timeless && may_have_parts(options, wall);
    unsigned least = asks ? CAIRN_HTML_PARTS : SLICES_LEAST;
    int code = make_sliced(wall, timeless ? 1 : slices_to_try(wall), least, own, err);

    *ret_sliced = own;
    if (code != -CAIRN_ELIMIT)
        return code;
    *own = (struct cairn_tally){0};
    *ret_sliced = wall;
    return asks ? cairn_html_parts_make(cairn_model_whole(wall->model), wall, gil, options->parts,
                                        err)
                : 0;
}

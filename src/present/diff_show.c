#include "diff_show.h"

#include <inttypes.h>
#include <math.h>

#include "text.h"

const char *cairn_diff_outcome(const struct cairn_diff *diff)
{
    return !diff->enough ? "not enough data" : diff->worse ? "worse" : "same";
}

void cairn_diff_put_value(struct cairn_buf *out, const struct cairn_diff_show *show, double value,
                          bool sign)
{
    enum cairn_diff_scale scale = show->options->scale;

    if (sign || value < 0)
        cairn_buf_add_str(out, value < 0 ? "\xe2\x88\x92" : "+");
    value = fabs(value);
    if (scale == CAIRN_DIFF_SHARE)
        cairn_buf_printf(out, "%.2f %%", 100 * value);
    else if (scale == CAIRN_DIFF_SECOND)
        cairn_buf_printf(out, "%.4f s/s", value);
    else
        cairn_text_amount(out, (uint64_t)llround(value * 1e9), show->each_ns);
}

const char *cairn_diff_scale_words(const struct cairn_diff_show *show)
{
    enum cairn_diff_scale scale = show->options->scale;
    static const char *const words[] = {
        [CAIRN_DIFF_RUN] = "seconds of each recording",
        [CAIRN_DIFF_SECOND] = "seconds for each second recorded",
        [CAIRN_DIFF_SHARE] = "shares of the thread time",
    };

    return scale == CAIRN_DIFF_RUN && show->each_ns > 0 ? "numbers of each recording"
                                                        : words[scale];
}

void cairn_diff_put_noise(struct cairn_buf *out, const struct cairn_diff_show *show)
{
    const struct cairn_diff *diff = show->diff;

    if (!diff->counted && show->before->filter.metric == CAIRN_METRIC_COUNTED) {
        cairn_buf_add_str(out, "No change is judged: calls are counted one by one, so no sampling "
                               "errs; how much their times differ by chance nobody knows.");
        return;
    }
    if (!diff->counted) {
        cairn_buf_add_str(out, "No change is judged: a file of another tool does not tell how many "
                               "samples it is made of, so nobody knows what is chance.");
        return;
    }
    cairn_buf_printf(
        out,
        "%zu rows were compared, by self and by total. Each interval is one of %.4g %%, "
        "so that all of them together hold in 95 of 100 comparisons. They tell the "
        "error of sampling: two runs of one program may differ by more. A change that "
        "may be below %.3g %% of the whole is let pass (--tolerance).",
        diff->compared, 100 * diff->confidence, 100 * show->options->tolerance);
}

void cairn_diff_put_part(struct cairn_buf *out, const struct cairn_diff_show *show,
                         const struct cairn_diff_value *value)
{
    double base = show->base_is_after ? value->after : value->before;

    if (base > 0)
        cairn_buf_printf(out, "%s%.1f %%", value->change < 0 ? "\xe2\x88\x92" : "+",
                         100 * fabs(value->change) / base);
}

void cairn_diff_put_interval(struct cairn_buf *out, const struct cairn_diff_show *show,
                             const struct cairn_diff_value *value, const char *between)
{
    if (isnan(value->low)) {
        cairn_buf_add_str(out, "n/a");
        return;
    }
    cairn_diff_put_value(out, show, value->low, true);
    cairn_buf_add_str(out, between);
    cairn_diff_put_value(out, show, value->high, true);
}

void cairn_diff_put_place(struct cairn_buf *out, const struct cairn_row *row)
{
    if (row->file.size_bytes > 0) {
        cairn_buf_add(out, row->file.data, row->file.size_bytes);
        if (row->line > 0)
            cairn_buf_printf(out, ":%" PRIu32, row->line);
    } else if (row->module.size_bytes > 0) {
        cairn_buf_u8(out, '[');
        cairn_buf_add(out, row->module.data, row->module.size_bytes);
        cairn_buf_u8(out, ']');
    }
}

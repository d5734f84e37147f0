#include "html_inside.h"

#include <string.h>

#define NAMES_MAX 12u
#define CELLS_MAX ((size_t)200000)
#define SAMPLES_MAX ((uint64_t)20000000) /* gone through for all names together */
#define PATTERN_MAX_BYTES ((size_t)1 << 20)

int cairn_html_inside_make(const struct cairn_tally *sliced, struct cairn_html_inside *ret_inside)
{
    uint64_t names = SAMPLES_MAX / (2 * sliced->total.ticks + 1);
    int code;

    *ret_inside = (struct cairn_html_inside){.sliced = sliced, .left = CELLS_MAX};
    cairn_buf_init(&ret_inside->pattern, PATTERN_MAX_BYTES);
    code = cairn_region_rows_make(sliced, &ret_inside->rows);
    if (code < 0) {
        cairn_html_inside_release(ret_inside);
        return code;
    }
    ret_inside->most = names < NAMES_MAX ? (size_t)names : NAMES_MAX;
    if (ret_inside->most > ret_inside->rows.rows.count)
        ret_inside->most = ret_inside->rows.rows.count;
    return 0;
}

void cairn_html_inside_release(struct cairn_html_inside *inside)
{
    cairn_region_rows_release(&inside->rows);
    cairn_buf_release(&inside->pattern);
}

struct cairn_span cairn_html_inside_name(const struct cairn_html_inside *inside)
{
    const struct cairn_function *functions;

    cairn_model_functions(inside->sliced->model, &functions);
    return functions[inside->rows.rows.items[inside->next - 1].function].name;
}

/* The name as a pattern that fits it alone. */
static int make_pattern(struct cairn_html_inside *inside)
{
    struct cairn_span name = cairn_html_inside_name(inside);

    cairn_buf_clear(&inside->pattern);
    for (size_t i = 0; i < name.size_bytes; i++) {
        if (strchr("*?[\\", name.data[i]))
            cairn_buf_u8(&inside->pattern, '\\');
        cairn_buf_u8(&inside->pattern, name.data[i]);
    }
    cairn_buf_u8(&inside->pattern, 0);
    return inside->pattern.code;
}

/* -CAIRN_ELIMIT: there is no room; -CAIRN_ENOTFOUND: nothing of it lies in what is chosen. */
static int make_sums(struct cairn_html_inside *inside, bool gil, struct cairn_tally *ret_tally,
                     struct cairn_tally *ret_gil, struct cairn_err *err)
{
    const struct cairn_model *model = cairn_model_whole(inside->sliced->model);
    struct cairn_filter filter = inside->sliced->filter;
    int code;

    CAIRN_TRY(make_pattern(inside));
    filter.region = (const char *)inside->pattern.data;
    CAIRN_TRY(cairn_tally_make_up_to(model, &filter, inside->left, ret_tally, err));
    filter.metric = CAIRN_METRIC_GIL;
    *ret_gil = (struct cairn_tally){.known = false};
    code = gil ? cairn_tally_make(model, &filter, ret_gil, err) : 0;
    if (code < 0)
        cairn_tally_release(ret_tally);
    else
        inside->left -= ret_tally->cell_count;
    return code;
}

int cairn_html_inside_next(struct cairn_html_inside *inside, bool gil,
                           struct cairn_tally *ret_tally, struct cairn_tally *ret_gil,
                           struct cairn_err *err)
{
    while (inside->next < inside->most) {
        struct cairn_err own = {0};
        int code;

        inside->next++;
        code = make_sums(inside, gil, ret_tally, ret_gil, &own);
        if (code == 0)
            return 1;
        if (code == -CAIRN_ELIMIT || code == -CAIRN_ENOTFOUND)
            continue;
        if (err)
            *err = own;
        return code;
    }
    return 0;
}

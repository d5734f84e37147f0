#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "interval.h"

#define WORTH                                                                                      \
    0.005 /* a row whose total is less of both is not compared: it would cost the others */
#define CONFIDENCE 0.95
#define NS_PER_S 1e9
#define LEAST 0.5e-9 /* half a nanosecond: no time is known better */

/* One recording's part. */
struct side {
    const struct cairn_tally *tally;
    struct cairn_rows *rows;
    double draws, scale;
};

/* Rows of one side that have no counterpart yet. */
struct rest {
    const struct cairn_row **items;
    size_t count;
};

const char *cairn_diff_verdict_name(enum cairn_diff_verdict verdict)
{
    static const char *const names[] = {
        [CAIRN_DIFF_SAME] = "same",
        [CAIRN_DIFF_WITHIN] = "within_tolerance",
        [CAIRN_DIFF_WORSE] = "worse",
        [CAIRN_DIFF_BETTER] = "better",
    };

    return names[verdict];
}

void cairn_diff_interval(const struct cairn_diff_arm *before, const struct cairn_diff_arm *after,
                         double confidence, double *ret_low, double *ret_high)
{
    double change = after->share * after->scale - before->share * before->scale;
    double before_low, before_high, after_low, after_high;

    cairn_interval_share_at(before->share, before->draws, confidence, &before_low, &before_high);
    cairn_interval_share_at(after->share, after->draws, confidence, &after_low, &after_high);
    *ret_low = change - hypot((after->share - after_low) * after->scale,
                              (before_high - before->share) * before->scale);
    *ret_high = change + hypot((after_high - after->share) * after->scale,
                               (before->share - before_low) * before->scale);
}

/* What makes rows of two recordings one; lines are told apart when rows are lines. */
static int by_key(const struct cairn_row *a, const struct cairn_row *b, bool by_file, bool by_line)
{
    int order = strcmp(a->kind, b->kind);

    if (!order)
        order = cairn_span_compare(a->qualname, b->qualname);
    if (!order)
        order = by_file ? cairn_span_compare(a->file, b->file)
                        : cairn_span_compare(a->module, b->module);
    if (!order && by_file) /* native code has no file */
        order = cairn_span_compare(a->file.size_bytes ? a->file : a->module,
                                   b->file.size_bytes ? b->file : b->module);
    if (!order && by_line)
        order = (a->line > b->line) - (a->line < b->line);
    return order;
}

struct order {
    bool by_file, by_line;
};

/* Several of one key, such as lambdas, go by their place in the file: the first is the first. */
static int compare(const void *left, const void *right, void *ctx)
{
    const struct cairn_row *a = *(const struct cairn_row *const *)left;
    const struct cairn_row *b = *(const struct cairn_row *const *)right;
    const struct order *how = ctx;
    int order = by_key(a, b, how->by_file, how->by_line);

    return order ? order : (a->first_line > b->first_line) - (a->first_line < b->first_line);
}

/* Pairs what has the same key, and leaves the rest. */
static void join(struct cairn_diff *diff, struct rest *before, struct rest *after, struct order how)
{
    size_t i = 0, j = 0, before_left = 0, after_left = 0;

    qsort_r(before->items, before->count, sizeof(*before->items), compare, &how);
    qsort_r(after->items, after->count, sizeof(*after->items), compare, &how);
    while (i < before->count && j < after->count) {
        int order = by_key(before->items[i], after->items[j], how.by_file, how.by_line);

        if (order < 0)
            before->items[before_left++] = before->items[i++];
        else if (order > 0)
            after->items[after_left++] = after->items[j++];
        else
            diff->items[diff->count++] =
                (struct cairn_diff_row){.before = before->items[i++], .after = after->items[j++]};
    }
    while (i < before->count)
        before->items[before_left++] = before->items[i++];
    while (j < after->count)
        after->items[after_left++] = after->items[j++];
    before->count = before_left;
    after->count = after_left;
}

static int list(const struct cairn_rows *rows, struct rest *rest)
{
    rest->items = cairn_calloc(rows->count + 1, sizeof(const struct cairn_row *));
    if (!rest->items)
        return -CAIRN_ENOMEM;
    for (; rest->count < rows->count; rest->count++)
        rest->items[rest->count] = &rows->items[rest->count];
    return 0;
}

static int pair_rows(struct cairn_diff *diff, enum cairn_by by)
{
    struct rest before = {0}, after = {0};
    int code = list(&diff->before, &before);

    if (code == 0)
        code = list(&diff->after, &after);
    diff->items = cairn_calloc(diff->before.count + diff->after.count + 1, sizeof(*diff->items));
    if (!diff->items)
        code = -CAIRN_ENOMEM;
    if (code == 0) {
        join(diff, &before, &after, (struct order){true, by == CAIRN_BY_LINE});
        join(diff, &before, &after, (struct order){false, by == CAIRN_BY_LINE});
        for (size_t i = 0; i < before.count; i++)
            diff->items[diff->count++] = (struct cairn_diff_row){.before = before.items[i]};
        for (size_t i = 0; i < after.count; i++)
            diff->items[diff->count++] = (struct cairn_diff_row){.after = after.items[i]};
    }
    free(before.items);
    free(after.items);
    return code;
}

static struct cairn_diff_arm arm_of(const struct side *side, const struct cairn_row *row, bool self)
{
    struct cairn_diff_arm arm = {0, side->draws, side->scale};
    double own_draws = !row ? 0 : self ? row->self_draws : row->total_draws;

    if (row)
        arm.share = self ? row->self_share : row->total_share;
    if (own_draws > 0)
        arm.draws = own_draws;
    return arm;
}

static void judge(const struct side sides[2], const struct cairn_diff *diff, double tolerance,
                  const struct cairn_diff_row *row, bool self, struct cairn_diff_value *value)
{
    struct cairn_diff_arm before = arm_of(&sides[0], row->before, self);
    struct cairn_diff_arm after = arm_of(&sides[1], row->after, self);
    double let_pass = tolerance * sides[0].scale;

    value->before = before.share * before.scale;
    value->after = after.share * after.scale;
    value->change = value->after - value->before;
    value->low = value->high = NAN;
    if (diff->counted)
        cairn_diff_interval(&before, &after, diff->confidence, &value->low, &value->high);
    value->verdict = CAIRN_DIFF_SAME;
    if (!row->compared)
        return;
    if (value->low > 0)
        value->verdict = value->low > let_pass ? CAIRN_DIFF_WORSE : CAIRN_DIFF_WITHIN;
    else if (value->high < 0)
        value->verdict = value->high < -let_pass ? CAIRN_DIFF_BETTER : CAIRN_DIFF_WITHIN;
}

bool cairn_diff_differs(double one, double other)
{
    return fabs(one - other) > LEAST;
}

bool cairn_diff_tells(const struct cairn_diff *diff, const struct cairn_diff_value *value)
{
    return value->verdict != CAIRN_DIFF_SAME ||
           (!diff->counted && cairn_diff_differs(value->before, value->after));
}

/* 0: its own time tells a change, 1: its total does, 2: neither. */
static int rank(const struct cairn_diff *diff, const struct cairn_diff_row *row)
{
    return cairn_diff_tells(diff, &row->self) ? 0 : cairn_diff_tells(diff, &row->total) ? 1 : 2;
}

static int by_change(const void *left, const void *right, void *ctx)
{
    const struct cairn_diff_row *a = left, *b = right;
    const struct cairn_diff *diff = ctx;
    const struct cairn_row *row_a = a->after ? a->after : a->before;
    const struct cairn_row *row_b = b->after ? b->after : b->before;
    int rank_a = rank(diff, a), rank_b = rank(diff, b);
    bool totals = rank_a == 1;
    double change_a = fabs(totals ? a->total.change : a->self.change);
    double change_b = fabs(totals ? b->total.change : b->self.change);
    int order;

    if (rank_a != rank_b)
        return rank_a - rank_b;
    if (change_a != change_b)
        return change_a > change_b ? -1 : 1;
    order = by_key(row_a, row_b, true, true);
    return order
               ? order
               : (row_a->first_line > row_b->first_line) - (row_a->first_line < row_b->first_line);
}

static bool is_worth(const struct cairn_row *row)
{
    return row && row->total_share >= WORTH;
}

static void compare_rows(struct cairn_diff *diff, const struct side sides[2], double tolerance)
{
    for (size_t i = 0; i < diff->count; i++) {
        diff->items[i].compared =
            diff->counted && (is_worth(diff->items[i].before) || is_worth(diff->items[i].after));
        diff->compared += diff->items[i].compared;
    }
    diff->confidence = 1 - (1 - CONFIDENCE) / (double)(diff->compared ? 2 * diff->compared : 1);
    for (size_t i = 0; i < diff->count; i++) {
        struct cairn_diff_row *row = &diff->items[i];

        judge(sides, diff, tolerance, row, true, &row->self);
        judge(sides, diff, tolerance, row, false, &row->total);
        diff->worse |= row->self.verdict == CAIRN_DIFF_WORSE;
        diff->worse |= row->total.verdict == CAIRN_DIFF_WORSE;
    }
    if (diff->count)
        qsort_r(diff->items, diff->count, sizeof(*diff->items), by_change, diff);
}

static double scale_of(const struct side *side, enum cairn_diff_scale scale)
{
    double base_ns = (double)side->rows->base.value_ns;
    double span_ns = (double)(side->tally->last_ns - side->tally->first_ns);

    if (scale == CAIRN_DIFF_SHARE)
        return base_ns > 0;
    if (scale == CAIRN_DIFF_SECOND)
        return span_ns > 0 ? base_ns / span_ns : 0;
    if (scale == CAIRN_DIFF_REGION)
        return side->tally->regions ? base_ns / NS_PER_S / (double)side->tally->regions : 0;
    return base_ns / NS_PER_S;
}

int cairn_diff_make(const struct cairn_tally *before, const struct cairn_tally *after,
                    const struct cairn_diff_options *options, struct cairn_diff *ret_diff,
                    struct cairn_err *err)
{
    struct cairn_diff diff = {0};
    struct side sides[2] = {{.tally = before, .rows = &diff.before},
                            {.tally = after, .rows = &diff.after}};
    int code = 0;

    for (int i = 0; i < 2 && code == 0; i++) {
        code = cairn_rows_make(sides[i].tally, &options->rows, sides[i].rows, err);
        sides[i].draws = sides[i].tally->draws[options->rows.with_idle][options->rows.program_only];
        sides[i].scale = scale_of(&sides[i], options->scale);
    }
    if (code == 0)
        code = pair_rows(&diff, options->rows.by);
    if (code < 0) {
        cairn_diff_release(&diff);
        return cairn_err_set(err, code, 0, "diff", "the recordings cannot be compared: %s",
                             cairn_err_sentence(code));
    }
    diff.counted = before->counted && after->counted;
    compare_rows(&diff, sides, options->tolerance);
    diff.whole = (struct cairn_diff_value){.before = sides[0].scale, .after = sides[1].scale};
    diff.whole.change = diff.whole.low = diff.whole.high = sides[1].scale - sides[0].scale;
    diff.enough = diff.before.rankable && diff.after.rankable && diff.counted;
    *ret_diff = diff;
    return 0;
}

void cairn_diff_release(struct cairn_diff *diff)
{
    cairn_rows_release(&diff->before);
    cairn_rows_release(&diff->after);
    free(diff->items);
    diff->items = NULL;
    diff->count = 0;
}

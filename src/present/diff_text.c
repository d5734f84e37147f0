/* The comparison as a person reads it on a terminal. */
#include <string.h>

#include "diff_show.h"
#include "escape.h"
#include "page.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define ROWS_USUAL 15
#define VERDICT_COLUMNS 8
#define VALUE_COLUMNS 11
#define PART_COLUMNS 10
#define INTERVAL_COLUMNS 24
#define NAME_COLUMNS_MIN 12
#define NAME_INDENT 4
#define SLIM_COLUMNS 64    /* below, a name has a line of its own */
#define NARROW_COLUMNS 100 /* below, intervals and values before and after have no room */

struct pen {
    struct cairn_page page;
    const struct cairn_diff_show *show;
    struct cairn_buf text; /* of the piece that is being made */
};

/* What has been put into `text`, its end at `column`. */
static void put_right(struct pen *pen, unsigned column)
{
    unsigned columns = cairn_page_columns(&pen->page, cairn_buf_span(&pen->text));

    cairn_page_to(&pen->page, column > columns ? column - columns : 0);
    cairn_page_str(&pen->page, cairn_buf_cstr(&pen->text));
    cairn_buf_clear(&pen->text);
}

static void put_value(struct pen *pen, double value, bool sign, unsigned column)
{
    cairn_diff_put_value(&pen->text, pen->show, value, sign);
    put_right(pen, column);
}

static void put_prose(struct pen *pen, const char *label)
{
    cairn_page_label(&pen->page, label);
    cairn_page_prose(&pen->page, CAIRN_PAGE_INDENT, cairn_buf_span(&pen->text));
    cairn_buf_clear(&pen->text);
}

static void put_recording(struct pen *pen, const char *label, const char *file,
                          const struct cairn_tally *tally)
{
    struct cairn_span command = cairn_model_env(tally->model, "run.command");

    cairn_page_label(&pen->page, label);
    cairn_page_fit(&pen->page, cairn_span_of(file), pen->page.width - CAIRN_PAGE_INDENT,
                   CAIRN_CUT_START);
    if (command.size_bytes > 0 && pen->page.column + 12 < pen->page.width) {
        cairn_page_str(&pen->page, "  ");
        cairn_page_style(&pen->page, CAIRN_STYLE_FAINT);
        cairn_page_fit(&pen->page, command, pen->page.width - pen->page.column, CAIRN_CUT_END);
        cairn_page_style(&pen->page, CAIRN_STYLE_PLAIN);
    }
    cairn_page_end(&pen->page);
}

static void put_head(struct pen *pen)
{
    const struct cairn_diff_show *show = pen->show;
    const struct cairn_diff_value *whole = &show->diff->whole;
    enum cairn_diff_scale scale = show->options->scale;

    put_recording(pen, "before", show->before_file, show->before);
    put_recording(pen, "after", show->after_file, show->after);
    cairn_buf_printf(&pen->text, "%s: %s%s", cairn_metric_name(show->before->filter.metric),
                     cairn_diff_scale_words(show),
                     show->scale_chosen ? ""
                     : scale == CAIRN_DIFF_RUN
                         ? ", since both ran from their start (--normalize chooses)"
                         : ", since they were attached to (--normalize chooses)");
    put_prose(pen, "metric");
    if (scale == CAIRN_DIFF_SHARE)
        return;
    cairn_diff_put_value(&pen->text, show, whole->before, false);
    cairn_buf_add_str(&pen->text, " \xe2\x86\x92 ");
    cairn_diff_put_value(&pen->text, show, whole->after, false);
    cairn_buf_add_str(&pen->text, "  ");
    cairn_diff_put_value(&pen->text, show, whole->change, true);
    if ((show->base_is_after ? whole->after : whole->before) > 0) {
        cairn_buf_add_str(&pen->text, "  ");
        cairn_diff_put_part(&pen->text, show, whole);
        cairn_buf_add_str(&pen->text, show->base_is_after ? " of after" : " of before");
    }
    put_prose(pen, "whole");
}

static void put_heads(struct pen *pen)
{
    unsigned column = 2 + VERDICT_COLUMNS + VALUE_COLUMNS;

    cairn_page_end(&pen->page);
    cairn_page_style(&pen->page, CAIRN_STYLE_FAINT);
    cairn_buf_add_str(&pen->text, "change");
    put_right(pen, column);
    if (pen->page.width >= NARROW_COLUMNS) {
        cairn_buf_add_str(&pen->text, pen->show->base_is_after ? "of after" : "of before");
        put_right(pen, column += PART_COLUMNS);
        cairn_buf_add_str(&pen->text, "interval");
        put_right(pen, column += INTERVAL_COLUMNS);
        cairn_buf_add_str(&pen->text, "before");
        put_right(pen, column += VALUE_COLUMNS);
        cairn_buf_add_str(&pen->text, "after");
        put_right(pen, column += VALUE_COLUMNS);
    }
    cairn_page_style(&pen->page, CAIRN_STYLE_PLAIN);
    cairn_page_end(&pen->page);
}

static const char *verdict_word(enum cairn_diff_verdict verdict)
{
    static const char *const words[] = {[CAIRN_DIFF_SAME] = "",
                                        [CAIRN_DIFF_WITHIN] = "within",
                                        [CAIRN_DIFF_WORSE] = "worse",
                                        [CAIRN_DIFF_BETTER] = "better"};

    return words[verdict];
}

static void put_line(struct pen *pen, const struct cairn_diff_row *diff_row, bool self)
{
    const struct cairn_row *row = diff_row->after ? diff_row->after : diff_row->before;
    const struct cairn_diff_value *value = self ? &diff_row->self : &diff_row->total;
    unsigned column = 2 + VERDICT_COLUMNS + VALUE_COLUMNS;

    cairn_page_to(&pen->page, 2);
    cairn_page_style(&pen->page, value->verdict == CAIRN_DIFF_WORSE    ? CAIRN_STYLE_WARN
                                 : value->verdict == CAIRN_DIFF_BETTER ? CAIRN_STYLE_STRONG
                                                                       : CAIRN_STYLE_FAINT);
    cairn_page_str(&pen->page, verdict_word(value->verdict));
    cairn_page_style(&pen->page, CAIRN_STYLE_PLAIN);
    put_value(pen, value->change, true, column);
    if (pen->page.width >= NARROW_COLUMNS) {
        cairn_diff_put_part(&pen->text, pen->show, value);
        put_right(pen, column += PART_COLUMNS);
        cairn_diff_put_interval(&pen->text, pen->show, value, " .. ");
        put_right(pen, column += INTERVAL_COLUMNS);
        put_value(pen, value->before, false, column += VALUE_COLUMNS);
        put_value(pen, value->after, false, column += VALUE_COLUMNS);
    }
    cairn_page_str(&pen->page, self ? "  self   " : "  total  ");
    if (!diff_row->before || !diff_row->after)
        cairn_page_str(&pen->page, diff_row->after ? "[new] " : "[gone] ");
    if (pen->page.width < SLIM_COLUMNS) {
        cairn_page_end(&pen->page);
        cairn_page_to(&pen->page, NAME_INDENT);
    }
    cairn_page_fit(&pen->page, row->qualname, pen->page.width - pen->page.column, CAIRN_CUT_END);
    cairn_diff_put_place(&pen->text, row);
    if (pen->text.size_bytes > 0 && pen->page.column + 2 + NAME_COLUMNS_MIN < pen->page.width) {
        cairn_page_str(&pen->page, "  ");
        cairn_page_style(&pen->page, CAIRN_STYLE_FAINT);
        cairn_page_fit(&pen->page, cairn_buf_span(&pen->text), pen->page.width - pen->page.column,
                       CAIRN_CUT_START);
        cairn_page_style(&pen->page, CAIRN_STYLE_PLAIN);
    }
    cairn_buf_clear(&pen->text);
    cairn_page_end(&pen->page);
}

/* A row has a line for its own time and one for its total, where each is distinguishable. */
static void put_rows(struct pen *pen)
{
    const struct cairn_diff *diff = pen->show->diff;
    size_t limit = pen->show->limit ? pen->show->limit : ROWS_USUAL, told = 0, i;

    for (i = 0; i < diff->count && i < limit; i++) {
        const struct cairn_diff_row *row = &diff->items[i];
        bool self = cairn_diff_tells(diff, &row->self);
        bool total = cairn_diff_tells(diff, &row->total);

        if (!self && !total)
            break;
        if (told++ == 0)
            put_heads(pen);
        if (self)
            put_line(pen, row, true);
        if (total && (!self || cairn_diff_differs(row->total.change, row->self.change)))
            put_line(pen, row, false);
    }
    cairn_page_end(&pen->page);
    for (told = i; told < diff->count; told++)
        if (!cairn_diff_tells(diff, &diff->items[told].self) &&
            !cairn_diff_tells(diff, &diff->items[told].total))
            break;
    if (told > i)
        cairn_buf_printf(&pen->text, "%zu more rows changed (-n shows more). ", told - i);
    if (told == 0)
        cairn_buf_printf(&pen->text, "None of %zu %s.", diff->count,
                         diff->counted ? "is distinguishable" : "changed");
    else if (diff->counted)
        cairn_buf_printf(&pen->text, "%zu others are not distinguishable.", diff->count - told);
    else
        cairn_buf_printf(&pen->text, "%zu others did not change.", diff->count - told);
    put_prose(pen, "rows");
}

static void put_outcome(struct pen *pen)
{
    const struct cairn_diff *diff = pen->show->diff;
    const struct cairn_rows *few = diff->before.rankable ? &diff->after : &diff->before;

    cairn_diff_put_noise(&pen->text, pen->show);
    put_prose(pen, "noise");
    cairn_buf_add_str(&pen->text, cairn_diff_outcome(diff));
    if (diff->counted && !diff->enough)
        cairn_buf_printf(&pen->text,
                         ": %s has %llu samples, about %llu would do. Record for longer, or at a "
                         "higher rate.",
                         few == &diff->before ? "the one before" : "the one after",
                         (unsigned long long)few->base.ticks,
                         (unsigned long long)few->samples_wanted);
    put_prose(pen, "verdict");
}

int cairn_diff_text(const struct cairn_diff_show *show, struct cairn_outlet *out)
{
    struct pen pen = {.show = show};
    int code;

    cairn_page_init(&pen.page, &out->buf, show->width, show->colour);
    cairn_buf_init(&pen.text, TEXT_MAX_BYTES);
    put_head(&pen);
    put_rows(&pen);
    put_outcome(&pen);
    code = pen.text.code < 0 ? pen.text.code : out->buf.code;
    cairn_buf_release(&pen.text);
    return code;
}

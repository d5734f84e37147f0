/* What the slow regions of a name spend more time in than the middle ones. */
#include <math.h>

#include "escape.h"
#include "report_parts.h"
#include "slowregions.h"
#include "text.h"

#define COLUMN 10
#define NUMBERS 4 /* columns of them */

static void put_seconds(struct cairn_page *page, unsigned column, const char *sign, double seconds)
{
    struct cairn_buf text;

    cairn_buf_init(&text, 64);
    cairn_buf_add_str(&text, sign);
    cairn_text_time(&text, (uint64_t)(fabs(seconds) * 1e9 + 0.5));
    cairn_page_to(page, column * COLUMN);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
}

static void put_row(struct cairn_page *page, const struct cairn_diff_row *row)
{
    const struct cairn_row *shown = row->after ? row->after : row->before;
    const struct cairn_diff_value *self = &row->self;
    unsigned left, start = NUMBERS * COLUMN;
    struct cairn_buf place;

    put_seconds(page, 0, "", self->after);
    put_seconds(page, 1, "", self->before);
    put_seconds(page, 2, self->change < 0 ? "-" : "+", self->change);
    put_seconds(page, 3, self->change < 0 ? "-" : "+", self->change < 0 ? self->high : self->low);
    left = page->width > start + COLUMN ? page->width - start : COLUMN;
    cairn_buf_init(&place, 4096);
    cairn_report_place(page, &place, shown, left / 2);
    cairn_page_to(page, start);
    cairn_page_fit(page, shown->name, left - left / 2 - 2, CAIRN_CUT_END);
    cairn_page_to(page, start + left - left / 2);
    cairn_page_fit(page, cairn_span_of(cairn_buf_cstr(&place)), left / 2, CAIRN_CUT_START);
    cairn_page_drop(page, &place);
    cairn_page_end(page);
}

static void put_head(struct cairn_page *page, const struct cairn_slow_regions *slow)
{
    static const char *const titles[] = {"slow", "middle", "more", "at least", "function"};
    struct cairn_buf text;

    cairn_buf_init(&text, 256);
    cairn_buf_printf(&text, "the slowest %zu regions (", slow->slow.regions);
    cairn_text_time(&text, (uint64_t)(slow->diff.whole.after * 1e9));
    cairn_buf_printf(&text, " each) against the middle %zu (", slow->middle.regions);
    cairn_text_time(&text, (uint64_t)(slow->diff.whole.before * 1e9));
    cairn_buf_add_str(&text, ")");
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    cairn_page_drop(page, &text);
    for (unsigned i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        cairn_page_to(page, i * COLUMN);
        cairn_page_str(page, titles[i]);
    }
    cairn_page_end(page);
}

static void put_none(struct cairn_page *page, const struct cairn_slow_regions *slow)
{
    const char *why = "Nothing in them can be told apart: all of it may be chance.";

    if (!slow->made)
        why = "Slow ones are not compared: fewer than 4 regions have a length.";
    else if (!slow->diff.enough)
        why = "Slow ones are not compared: they have too few samples. A higher --rate, or a longer "
              "run, has more.";
    cairn_page_prose(page, 0, cairn_span_of(why));
}

int cairn_report_slow(struct cairn_report *report, size_t most, struct cairn_err *err)
{
    const struct cairn_filter *filter = &report->tally->filter;
    struct cairn_page *page = &report->page;
    struct cairn_slow_regions slow;
    size_t shown = 0;
    int code;

    if (!filter->region || filter->region_length != CAIRN_REGION_LENGTH_ANY)
        return 0;
    code = cairn_slow_regions_make(report->tally, &slow, err);
    for (size_t i = 0; code == 0 && slow.made && slow.diff.enough && i < slow.diff.count; i++) {
        const struct cairn_diff_row *row = &slow.diff.items[i];

        if (row->self.verdict == CAIRN_DIFF_SAME || shown == most)
            break; /* what is distinguishable comes first */
        if (shown++ == 0)
            put_head(page, &slow);
        put_row(page, row);
    }
    if (code == 0 && shown == 0)
        put_none(page, &slow);
    cairn_slow_regions_release(&slow);
    return code;
}

/* The comparison for a comment on a pull request. */
#include "diff_show.h"
#include "escape.h"

#define ROWS_USUAL 10
#define TEXT_MAX_BYTES ((size_t)1 << 20)

static void put_span(struct cairn_buf *out, struct cairn_span text)
{
    cairn_buf_add_str(out, "<code>");
    cairn_escape_markdown(out, text);
    cairn_buf_add_str(out, "</code>");
}

static void put_line(const struct cairn_diff_show *show, const struct cairn_diff_row *diff_row,
                     bool self, struct cairn_buf *out)
{
    static const char *const words[] = {[CAIRN_DIFF_SAME] = "",
                                        [CAIRN_DIFF_WITHIN] = "within tolerance",
                                        [CAIRN_DIFF_WORSE] = "**worse**",
                                        [CAIRN_DIFF_BETTER] = "better"};
    const struct cairn_row *row = diff_row->after ? diff_row->after : diff_row->before;
    const struct cairn_diff_value *value = self ? &diff_row->self : &diff_row->total;
    struct cairn_buf place;

    cairn_buf_printf(out, "| %s | ", words[value->verdict]);
    put_span(out, row->qualname);
    if (!diff_row->before || !diff_row->after)
        cairn_buf_add_str(out, diff_row->after ? " (new)" : " (gone)");
    cairn_buf_add_str(out, " | ");
    cairn_buf_init(&place, TEXT_MAX_BYTES);
    cairn_diff_put_place(&place, row);
    if (place.size_bytes > 0)
        put_span(out, cairn_buf_span(&place));
    if (place.code < 0)
        out->code = place.code;
    cairn_buf_release(&place);
    cairn_buf_printf(out, " | %s | ", self ? "self" : "total");
    cairn_diff_put_value(out, show, value->before, false);
    cairn_buf_add_str(out, " | ");
    cairn_diff_put_value(out, show, value->after, false);
    cairn_buf_add_str(out, " | ");
    cairn_diff_put_value(out, show, value->change, true);
    cairn_buf_add_str(out, " | ");
    cairn_diff_put_interval(out, show, value, " to ");
    cairn_buf_add_str(out, " |\n");
}

static void put_table(const struct cairn_diff_show *show, struct cairn_buf *out)
{
    const struct cairn_diff *diff = show->diff;
    size_t limit = show->limit ? show->limit : ROWS_USUAL;

    for (size_t i = 0; i < diff->count && i < limit; i++) {
        const struct cairn_diff_row *row = &diff->items[i];
        bool self = cairn_diff_tells(diff, &row->self);

        if (!self && !cairn_diff_tells(diff, &row->total))
            break;
        if (i == 0)
            cairn_buf_add_str(out,
                              "| | function | where | time | before | after | change | interval |\n"
                              "|---|---|---|---|--:|--:|--:|--:|\n");
        put_line(show, row, self, out);
    }
}

int cairn_diff_markdown(const struct cairn_diff_show *show, struct cairn_outlet *out)
{
    const struct cairn_diff_value *whole = &show->diff->whole;
    enum cairn_diff_scale scale = show->options->scale;
    struct cairn_buf *buf = &out->buf;

    cairn_buf_printf(buf, "### cairn: %s\n\n", cairn_diff_outcome(show->diff));
    cairn_buf_printf(buf, "%s, %s", cairn_metric_name(show->before->filter.metric),
                     cairn_diff_scale_words(show));
    if (scale != CAIRN_DIFF_SHARE) {
        cairn_buf_add_str(buf, ": ");
        cairn_diff_put_value(buf, show, whole->before, false);
        cairn_buf_add_str(buf, " \xe2\x86\x92 ");
        cairn_diff_put_value(buf, show, whole->after, false);
        cairn_buf_add_str(buf, " (");
        cairn_diff_put_value(buf, show, whole->change, true);
        cairn_buf_add_str(buf, ")");
    }
    cairn_buf_add_str(buf, "\n\n");
    put_table(show, buf);
    cairn_buf_add_str(buf, "\n<sub>");
    cairn_diff_put_noise(buf, show);
    cairn_buf_add_str(buf, "</sub>\n");
    return buf->code;
}

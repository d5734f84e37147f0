/* Rows of the report's table as comma-separated values, RFC 4180: a spreadsheet opens it. A text
 * that a spreadsheet would take for a formula gets an apostrophe in front. */
#include <inttypes.h>
#include <math.h>

#include "escape.h"
#include "exporters.h"
#include "table.h"

static void put_text(struct cairn_buf *out, struct cairn_span text)
{
    cairn_escape_csv(out, text);
    cairn_buf_u8(out, ',');
}

static void put_seconds(struct cairn_buf *out, uint64_t ns)
{
    cairn_buf_printf(out, "%" PRIu64 ".%09" PRIu64 ",", ns / 1000000000u, ns % 1000000000u);
}

static void put_row(struct cairn_buf *out, const struct cairn_row *row)
{
    const double shares[] = {row->self_share, row->total_share, row->self_low,
                             row->self_high,  row->total_low,   row->total_high};

    put_text(out, row->name);
    put_text(out, row->qualname);
    put_text(out, row->file);
    cairn_buf_printf(out, "%" PRIu32 ",%" PRIu32 ",", row->line, row->first_line);
    put_text(out, row->module);
    put_text(out, cairn_span_of(row->kind));
    put_seconds(out, row->self.value_ns);
    put_seconds(out, row->total.value_ns);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        if (isnan(shares[i])) /* not known: see tally.h */
            cairn_buf_u8(out, ',');
        else
            cairn_buf_printf(out, "%.9g,", shares[i]);
    cairn_buf_printf(out, "%" PRIu64 ",%" PRIu64 ",%.9g\r\n", row->self.ticks, row->total.ticks,
                     row->bound);
}

int cairn_export_csv(const struct cairn_tally *tally, const struct cairn_export_options *options,
                     struct cairn_outlet *out)
{
    /* Idle waiting is in: what is left out could not be added up. */
    struct cairn_rows_options chosen = {.by = options->by, .with_idle = true};
    struct cairn_rows rows;
    int code = cairn_rows_make(tally, &chosen, &rows, NULL);

    if (code < 0)
        return code;
    cairn_buf_add_str(&out->buf,
                      "name,qualname,file,line,first_line,module,kind,self_s,total_s,self_share,"
                      "total_share,self_low,self_high,total_low,total_high,samples,total_samples,"
                      "bound\r\n");
    for (size_t i = 0; i < rows.count && code == 0; i++) {
        put_row(&out->buf, &rows.items[i]);
        code = cairn_outlet_drain(out);
    }
    cairn_rows_release(&rows);
    return code;
}

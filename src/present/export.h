/* export.h: the formats a recording can be written in, one file and one entry each.
 *
 * An exporter reads the tally's cells, so that its sum is the report's. It writes frames and
 * threads in an order that does not depend on how the recording was made.
 */
#ifndef CAIRN_EXPORT_H
#define CAIRN_EXPORT_H

#include "outlet.h"
#include "table.h"
#include "tally.h"

enum cairn_export_lines {
    CAIRN_EXPORT_LINES_DEFAULT, /* what the format is used to */
    CAIRN_EXPORT_LINES_EXECUTING,
    CAIRN_EXPORT_LINES_FIRST, /* of the function's definition */
    CAIRN_EXPORT_LINES_NONE,
};

struct cairn_export_options { /* all zero is the default */
    enum cairn_export_lines lines;
    bool threads, processes; /* put them in front of each stack, where the format has no labels */
    bool samples;            /* count samples instead of the metric's time */
    double node_least, edge_least; /* of a graph: functions and calls with less of the whole are
                                      left out */
    const char *title;             /* of a picture; NULL: the program's name */
    enum cairn_by by;              /* rows of a table */
    /* Where a format says what of these samples it could not hold, beside what it never holds;
     * NULL: nobody asks. Initialised, and released, by the caller. */
    struct cairn_buf *lost;
};

struct cairn_exporter {
    const char *name; /* as behind -f */
    const char *line; /* what it is, for a list of formats */
    const char *lost; /* what it never holds, and a recording does */
    bool binary;      /* not for a terminal */
    bool threads;     /* tells threads apart, asked or not */
    bool stacks;      /* holds stacks */
    int (*write)(const struct cairn_tally *tally, const struct cairn_export_options *options,
                 struct cairn_outlet *out);
};

extern const struct cairn_exporter cairn_exporters[]; /* ends with a NULL name */

/* What the options say, or what the format is used to. */
enum cairn_export_lines cairn_export_lines_or(const struct cairn_export_options *options,
                                              enum cairn_export_lines usual);

/* Writes `tally` in that format. 0, or a negative code with `err` filled (NULL allowed);
 * -CAIRN_EUSAGE when the metric was not recorded. */
int cairn_export(const struct cairn_exporter *exporter, const struct cairn_tally *tally,
                 const struct cairn_export_options *options, struct cairn_outlet *out,
                 struct cairn_err *err);

#endif

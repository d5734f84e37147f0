/* report_text.h: the report a person reads on a terminal.
 *
 * A pure function of tally and options: no clock, no environment, no file is looked at, but for
 * the lines that `source` gives. Lines are at most `width` columns wide, names are escaped and cut
 * to fit.
 */
#ifndef CAIRN_REPORT_TEXT_H
#define CAIRN_REPORT_TEXT_H

#include "outlet.h"
#include "source.h"
#include "table.h"

struct cairn_report_options {
    int by; /* enum cairn_by, or -1: the overview of functions and lines */
    enum cairn_sort sort;
    size_t limit;   /* rows of a table; 0: as many as the view has by itself */
    bool with_idle; /* waiting for work is ranked like everything else */
    const char *of; /* NULL, or the function whose callers and callees are wanted */
    unsigned width; /* columns, at least 40; less counts as 40 */
    bool colour;
    bool next;                   /* end with commands that lead on */
    struct cairn_source *source; /* for the text of lines; NULL: they are shown without */
    const char *file; /* the recording as the user would name it, for those; may be NULL */
};

void cairn_report_options_init(struct cairn_report_options *options); /* overview, 80 columns */

/* 0, or a negative code with `err` filled (NULL allowed). */
int cairn_report_text(const struct cairn_tally *tally, const struct cairn_report_options *options,
                      struct cairn_outlet *out, struct cairn_err *err);

/* The sentences of a report without its tables, for a page that shows those in its own way. Each
 * line is whole, however long. */
struct cairn_report_words {
    struct cairn_buf head;     /* where the time went */
    struct cairn_buf beside;   /* what was waited for, what lay over the states */
    struct cairn_buf quality;  /* how far the numbers can be trusted */
    struct cairn_buf no_table; /* why there is nothing to rank; empty where there is */
};

/* 0, or a negative code with `err` filled (NULL allowed); release the words in both cases. */
int cairn_report_words_make(const struct cairn_tally *tally, struct cairn_report_words *ret_words,
                            struct cairn_err *err);
void cairn_report_words_release(struct cairn_report_words *words);

#endif

/* report_parts.h: the blocks of the text report, for report_text.c to put in order. Each writes
 * whole lines; failures of memory stay in the page's buffer. */
#ifndef CAIRN_REPORT_PARTS_H
#define CAIRN_REPORT_PARTS_H

#include "facts.h"
#include "page.h"
#include "report_text.h"
#include "role_rows.h"

struct cairn_report {
    struct cairn_page page;
    const struct cairn_tally *tally;
    const struct cairn_report_options *options;
    struct cairn_facts facts;
    const struct cairn_row *top; /* the function to name first; NULL: none stands out for sure */
    const struct cairn_row *top_python; /* where that is outside Python: the first that is not */
    uint64_t top_base_ns;               /* what they are a part of */
    struct cairn_buf outside;           /* names of threads; empty: not asked for yet */
};

/* Pieces of text: "38 %", "1.4 %"; the whole 0 gives "0 %". */
void cairn_report_share(struct cairn_buf *out, uint64_t part, uint64_t whole);

void cairn_report_head(struct cairn_report *report); /* one or two sentences */
void cairn_report_run(struct cairn_report *report);  /* real user sys, phases, states */
/* What lay over the states, and the `waits` longest waits, more when states are asked for. */
void cairn_report_beside(struct cairn_report *report, size_t waits);
void cairn_report_idle(struct cairn_report *report);
void cairn_report_quality(struct cairn_report *report);
void cairn_report_next(struct cairn_report *report);

/* Appends "nn.py:25", or of line 0 the file alone: as much of the end of its path as there is room
 * for, without the folder of a library. Of no file, nothing. */
void cairn_report_path(struct cairn_page *page, struct cairn_buf *out, struct cairn_span file,
                       enum cairn_origin origin, uint32_t line_number, unsigned columns);

/* "nn.py:25", "[libm.so.6]", of what is outside Python threads, or nothing, into `out`; the name
 * alone when `columns` are too few. */
void cairn_report_place(struct cairn_page *page, struct cairn_buf *out, const struct cairn_row *row,
                        unsigned columns);

/* A bar of the states' textures, `columns` wide. */
void cairn_report_bar(struct cairn_page *page, const uint64_t *state_ns, unsigned columns);

/* A row of what is outside Python gets for its module which threads that is, with their names as
 * they are; borrowed from the report. 0 or a negative code with `err` filled. */
int cairn_report_outside(struct cairn_report *report, const struct cairn_rows_options *options,
                         struct cairn_rows *rows, struct cairn_err *err);

/* Functions with self, total, bound and place: those worth a look, at most `usual` of them, or as
 * many as the options ask for. Lines likewise, with their text where it is known. */
void cairn_report_places(struct cairn_report *report, const struct cairn_rows *rows, size_t usual);
void cairn_report_lines(struct cairn_report *report, const struct cairn_rows *rows, size_t usual);
/* Functions by total only: callers, callees. */
void cairn_report_edges(struct cairn_report *report, const struct cairn_rows *rows, size_t usual);
/* Threads, processes, modules, states: a share and a name; bars for threads and processes. */
void cairn_report_groups(struct cairn_report *report, const struct cairn_rows *rows, size_t usual);

/* Processes by role: how many, the spread of their times, where they spend them. 0 or
 * -CAIRN_ENOMEM. */
int cairn_report_roles(struct cairn_report *report);

/* asyncio's tasks, where some were seen or they are asked for; at most `usual`, or as many as the
 * options ask for. 0 or -CAIRN_ENOMEM. */
int cairn_report_tasks(struct cairn_report *report, size_t usual);

/* Regions that the program wrote down, where there are any; as many as above. 0 or a negative
 * code. */
int cairn_report_regions(struct cairn_report *report, size_t usual);

/* Where a region was chosen: what the slow ones spend more in than the middle ones, at most `most`
 * functions. 0 or a negative code with `err` filled. */
int cairn_report_slow(struct cairn_report *report, size_t most, struct cairn_err *err);

/* Functions with their calls, where those were counted; at most `usual`, or as many as the options
 * ask for. 0 or -CAIRN_ENOMEM. */
int cairn_report_exact(struct cairn_report *report, size_t usual);

/* The same of the functions that `of` matches, with the numbers of who called them and whom they
 * called, where calls were counted. 0 or a negative code with `err` filled. */
int cairn_report_exact_of(struct cairn_report *report, size_t usual, struct cairn_err *err);

/* Functions with their lines, where those were counted; as many of them as above. 0 or a negative
 * code with `err` filled. */
int cairn_report_counted(struct cairn_report *report, size_t usual, struct cairn_err *err);

/* Instead of everything but the run's figures: why nothing is there. */
void cairn_report_nothing(struct cairn_report *report);

/* Instead of a table: how many samples there are, how many it takes and how to get them. */
void cairn_report_too_few(struct cairn_report *report, const struct cairn_rows *rows);

#endif

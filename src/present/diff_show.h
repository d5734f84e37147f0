/* diff_show.h: what `cairn diff` prints: text, JSON, Markdown. Pure functions of a comparison. */
#ifndef CAIRN_DIFF_SHOW_H
#define CAIRN_DIFF_SHOW_H

#include "diff.h"
#include "outlet.h"

struct cairn_diff_show {
    const struct cairn_diff *diff;
    const struct cairn_tally *before, *after;
    const char *before_file, *after_file;
    const struct cairn_diff_options *options;
    bool scale_chosen;  /* by the user, else by what was recorded */
    bool base_is_after; /* percentages are of that one, in text */
    uint64_t each_ns;   /* as cairn_facts_each_ns(), where it is one number of both; else 0 */
    size_t limit;       /* rows; 0: as many as the view has by itself */
    unsigned width;     /* of a terminal */
    bool colour;
};

/* Each: 0, or a negative code. */
int cairn_diff_text(const struct cairn_diff_show *show, struct cairn_outlet *out);
int cairn_diff_json(const struct cairn_diff_show *show, struct cairn_outlet *out);
int cairn_diff_markdown(const struct cairn_diff_show *show, struct cairn_outlet *out);

/* "same", "worse", "not enough data": what the exit status says too. */
const char *cairn_diff_outcome(const struct cairn_diff *diff);

/* Pieces that text and Markdown share. A value with its unit, with a sign when it is a change; what
 * the scale is, in words; how sure it all is. */
void cairn_diff_put_value(struct cairn_buf *out, const struct cairn_diff_show *show, double value,
                          bool sign);
const char *cairn_diff_scale_words(const struct cairn_diff_show *show);
void cairn_diff_put_noise(struct cairn_buf *out, const struct cairn_diff_show *show);
/* "+5.6 %", of the one that is the base: empty when that is nothing. */
void cairn_diff_put_part(struct cairn_buf *out, const struct cairn_diff_show *show,
                         const struct cairn_diff_value *value);
/* "+1 ms .. +2 ms", with `between` for the dots; "n/a" where there is none. */
void cairn_diff_put_interval(struct cairn_buf *out, const struct cairn_diff_show *show,
                             const struct cairn_diff_value *value, const char *between);
/* Where the function is: "path:line", "[module]", or nothing. Not escaped. */
void cairn_diff_put_place(struct cairn_buf *out, const struct cairn_row *row);

#endif

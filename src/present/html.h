/* html.h: a recording as one page that needs nothing but itself.
 *
 * The page holds sums for each stack, not samples; what it shows is computed in it, from the same
 * sums as a report. It asks nothing of a network and says so (a Content-Security-Policy that allows
 * nothing but the page's own script and style, by their hashes). Foreign text is in it only
 * as gzipped JSON in base64, which can end no element, and in its escaped title.
 */
#ifndef CAIRN_HTML_H
#define CAIRN_HTML_H

#include "filter.h"
#include "outlet.h"
#include "redact.h"

struct cairn_html_parts; /* html_parts.h */

struct cairn_html_options {
    struct cairn_filter filter; /* what is in the page; its metric is the one shown first */
    struct cairn_redact redact; /* when on, neither source nor environment nor command are in it */
    const struct cairn_model *before; /* to compare with; NULL: none */
    bool source;                      /* the lines of functions, where they are surely what ran */
    /* Of a page that is served, which may ask its server for more: whether the recording has grown
     * since this version of it (`follows`), and for what is long in it, which `columns` gets (NULL:
     * the page holds it). Where it has too many stacks to hold them slice by slice `parts` gets
     * what can be asked of a part of the time; else that becomes NULL. */
    uint64_t version;
    bool follows;
    struct cairn_buf *columns;
    struct cairn_html_parts **parts; /* with `columns`; NULL: not wanted */
};

/* Appends what the page allows to be done in it: a Content-Security-Policy. `asks`: requests to
 * where it comes from. */
void cairn_html_policy(bool asks, struct cairn_buf *out);

/* 0, or a negative code with `err` filled (NULL allowed). */
int cairn_html(const struct cairn_model *model, const struct cairn_html_options *options,
               struct cairn_outlet *out, struct cairn_err *err);

#endif

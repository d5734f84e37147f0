/* page.h: lines of a terminal: columns counted, foreign text escaped and cut, colours optional.
 *
 * Everything a person reads is put here piece by piece; `column` is where the next piece begins.
 * Characters may be two columns wide or none. Trailing blanks are not written.
 * Owner: borrows the buffer. Threads: one at a time.
 */
#ifndef CAIRN_PAGE_H
#define CAIRN_PAGE_H

#include <stdbool.h>

#include "buf.h"

#define CAIRN_PAGE_WIDTH_MIN 40

enum cairn_style {
    CAIRN_STYLE_PLAIN,
    CAIRN_STYLE_STRONG,
    CAIRN_STYLE_FAINT,
    CAIRN_STYLE_WARN,
    CAIRN_STYLE_STATES, /* and one for each enum cairn_state from here on */
};

enum cairn_cut { CAIRN_CUT_END, CAIRN_CUT_START }; /* where "…" stands */

struct cairn_page {
    struct cairn_buf *out;
    unsigned width;
    bool colour;
    unsigned column, blanks; /* blanks: columns of those that may turn out to be trailing */
    enum cairn_style wanted, applied;
};

void cairn_page_init(struct cairn_page *page, struct cairn_buf *out, unsigned width, bool colour);

/* Our own words. */
void cairn_page_str(struct cairn_page *page, const char *str);
void cairn_page_printf(struct cairn_page *page, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void cairn_page_repeat(struct cairn_page *page, const char *str, unsigned times);

/* Foreign text, escaped, in at most `columns`. */
void cairn_page_fit(struct cairn_page *page, struct cairn_span text, unsigned columns,
                    enum cairn_cut cut);

/* Blanks up to `column`; at least one when there already and not at the start of a line. */
void cairn_page_to(struct cairn_page *page, unsigned column);

void cairn_page_style(struct cairn_page *page, enum cairn_style style);
void cairn_page_end(struct cairn_page *page); /* of the line */

/* "label    " as the head of a block whose lines begin at CAIRN_PAGE_INDENT. */
#define CAIRN_PAGE_INDENT 9
void cairn_page_label(struct cairn_page *page, const char *label);

/* A piece that stays whole: begins a new line when it does not fit, else follows `gap`. */
void cairn_page_item(struct cairn_page *page, const char *gap, struct cairn_span text);

/* Words of text that is escaped already, wrapped; ends the line. */
void cairn_page_prose(struct cairn_page *page, unsigned indent, struct cairn_span text);

/* Columns that foreign `text` takes once escaped. */
unsigned cairn_page_columns(struct cairn_page *page, struct cairn_span text);

/* Releases a buffer in which something for this page was put together. That memory was short for
 * it becomes the page's failure; what is longer than its ceiling is shown cut off. */
void cairn_page_drop(struct cairn_page *page, struct cairn_buf *buf);

#endif

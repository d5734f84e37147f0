/* highlight.h: lines of Python in pieces, for who shows them: keywords, texts, comments.
 *
 * What a text in three quotes or a `\` at the end leaves open goes on in the next line; a field of
 * an f-string in one quote ends with its line. No more is known of the language than that; what is
 * no Python comes out whole, in some pieces.
 */
#ifndef CAIRN_HIGHLIGHT_H
#define CAIRN_HIGHLIGHT_H

#include <stdbool.h>

#include "cursor.h"

enum cairn_highlight_kind {
    CAIRN_HIGHLIGHT_PLAIN = 'p',
    CAIRN_HIGHLIGHT_KEYWORD = 'k',
    CAIRN_HIGHLIGHT_STRING = 's',
    CAIRN_HIGHLIGHT_COMMENT = 'c',
};

struct cairn_highlight { /* all 0: in front of a statement */
    uint8_t quote;       /* of the text that is open; 0: none is */
    bool triple;
    bool fields; /* it is an f-string: what stands in braces is code, and has quotes of its own … */
    unsigned braces;   /* … so many are open, … */
    unsigned brackets; /* … in the outermost so many of ( and [ … */
    bool format;       /* … and it is behind its colon, where quotes are fill */
};

/* The next piece of `line` from *at on, which is put behind it; pieces are together the line, and
 * two plain ones never follow each other. False: there is none. Borrowed from the line. */
bool cairn_highlight_next(struct cairn_highlight *highlight, struct cairn_span line, size_t *at,
                          enum cairn_highlight_kind *ret_kind, struct cairn_span *ret_piece);

#endif

/* html_columns.h: the long rows of numbers of a page, as JSON or as bytes beside it.
 *
 * A page from the disk holds them in its JSON. Of a large recording a page that is served asks for
 * them: each is then an object of `at` (the offset of its bytes), `bytes` (of a number: 1, 2 or 4
 * without a sign, -4 with one, 8 a double) and `count`, as a browser reads them without parsing.
 * Owner: owns what gathers, borrows JSON and buffer. Threads: one at a time.
 */
#ifndef CAIRN_HTML_COLUMNS_H
#define CAIRN_HTML_COLUMNS_H

#include "buf.h"
#include "json_out.h"
#include "vec.h"

struct cairn_html_columns {
    struct cairn_json *json;
    struct cairn_buf *out; /* NULL: as JSON */
    CAIRN_VEC(int64_t) values;
};

void cairn_html_columns_init(struct cairn_html_columns *columns, struct cairn_json *json,
                             struct cairn_buf *out);
void cairn_html_columns_release(struct cairn_html_columns *columns);

/* One column after the other, each where a value of the JSON may stand. Numbers are at most 2^53,
 * and at least -2^31. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. */
void cairn_html_columns_begin(struct cairn_html_columns *columns);
int cairn_html_columns_put(struct cairn_html_columns *columns, int64_t value);
int cairn_html_columns_end(struct cairn_html_columns *columns);

#endif

/* html_data.h: what a page says, as one JSON object, for html.c to pack and web/src/data.ts to
 * read. */
#ifndef CAIRN_HTML_DATA_H
#define CAIRN_HTML_DATA_H

#include "html.h"

#define CAIRN_HTML_SCHEMA 2

/* Where the JSON goes: what gathers in `out` is handed on piece by piece. */
struct cairn_html_sink {
    struct cairn_outlet *out; /* without a descriptor */
    int (*drain)(struct cairn_html_sink *sink);
};

/* 0, or a negative code with `err` filled (NULL allowed). */
int cairn_html_data(const struct cairn_model *model, const struct cairn_html_options *options,
                    struct cairn_html_sink *sink, struct cairn_err *err);

#endif

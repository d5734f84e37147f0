/* html_source.h: the lines of functions for a page, where they surely are what ran. */
#ifndef CAIRN_HTML_SOURCE_H
#define CAIRN_HTML_SOURCE_H

#include "html_data.h"
#include "html_tree.h"
#include "json_out.h"

/* Puts the key "source": for each function of the tree the first line and the texts from there on,
 * or null. 0 or a negative code. */
int cairn_html_source(const struct cairn_model *model, const struct cairn_html_tree *tree,
                      struct cairn_json *json, struct cairn_html_sink *sink);

#endif

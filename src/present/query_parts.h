/* query_parts.h: the views of a query that have a file of their own. */
#ifndef CAIRN_QUERY_PARTS_H
#define CAIRN_QUERY_PARTS_H

#include "query.h"

/* Each puts the keys of its view behind those that all have. 0, or a negative code with `err`
 * filled (NULL allowed). */
int cairn_query_put_graph(struct cairn_json *json, const struct cairn_tally *tally,
                          const struct cairn_query *query, struct cairn_outlet *out,
                          struct cairn_err *err);
int cairn_query_put_timeline(struct cairn_json *json, const struct cairn_tally *tally,
                             struct cairn_outlet *out);

#endif

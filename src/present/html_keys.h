/* html_keys.h: the page's help, as "keys" of its data, and longer sentences of its views, as
 * "notes": texts need not be in the script, whose size is bounded. */
#ifndef CAIRN_HTML_KEYS_H
#define CAIRN_HTML_KEYS_H

#include "json_out.h"

/* An array of [key, words], and an object of texts, in the object that is open. */
void cairn_html_keys_put(struct cairn_json *json);

#endif

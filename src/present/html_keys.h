/* html_keys.h: the page's help, as "keys" of its data: what is read by nobody but who asks for it
 * need not be in the script. */
#ifndef CAIRN_HTML_KEYS_H
#define CAIRN_HTML_KEYS_H

#include "json_out.h"

/* An array of [key, words], in the object that is open. */
void cairn_html_keys_put(struct cairn_json *json);

#endif

/* ask.h: one query of a recording, asked by the command line or by a page: `cairn query`, and what
 * `cairn view` answers below /api/. */
#ifndef CAIRN_ASK_H
#define CAIRN_ASK_H

#include "model.h"
#include "option.h"
#include "outlet.h"
#include "server.h"

/* Whether a query is called so. */
bool cairn_ask_is_query(const char *name);

/* Answers the query `name` about `subject` (a function or its handle for `function`, a stack's
 * handle or NULL for `flame`, NULL for others) as the settings say. `file`: what the answer calls
 * the recording. 0, or a negative code with `err` filled: -CAIRN_EUSAGE for what is asked wrong. */
int cairn_ask(const struct cairn_model *model, const char *name, const char *subject,
              const struct cairn_settings *settings, const char *file, struct cairn_outlet *out,
              struct cairn_err *err);

/* The same for a request of a page: `name` is the last part of its path, parameters are the options
 * of `cairn query` by their names, and `of` the subject. What goes wrong is an answer, too: an
 * object with `error`. */
void cairn_ask_request(const struct cairn_model *model, const char *name,
                       const struct cairn_server_request *request,
                       const struct cairn_settings *settings, const char *file,
                       struct cairn_server_answer *ret_answer);

#endif

/* report_json.h: the report for scripts: one JSON object, its keys listed in docs/json.md. */
#ifndef CAIRN_REPORT_JSON_H
#define CAIRN_REPORT_JSON_H

#include "json_out.h"
#include "report_text.h"

/* Raised when a key changes its meaning or goes away; new keys leave it as it is. */
#define CAIRN_JSON_SCHEMA 1

/* Options as for the text; `by` -1 means by function, `limit` 0 all rows; width, colour and next
 * do not matter. 0, or a negative code with `err` filled (NULL allowed). */
int cairn_report_json(const struct cairn_tally *tally, const struct cairn_report_options *options,
                      struct cairn_outlet *out, struct cairn_err *err);

/* Its parts, for other objects about a recording. Those that return something fill `err` when it is
 * negative. The first opens the object: schema, recording, quality, sums. */
int cairn_report_json_begin(struct cairn_json *json, const struct cairn_tally *tally,
                            const char *file, struct cairn_err *err);
int cairn_report_json_roles(struct cairn_json *json, const struct cairn_tally *tally,
                            bool with_idle, struct cairn_err *err);
void cairn_report_json_waits(struct cairn_json *json, const struct cairn_tally *tally);
int cairn_report_json_table(struct cairn_json *json, const struct cairn_tally *tally,
                            const struct cairn_report_options *options, struct cairn_outlet *out,
                            struct cairn_err *err);
int cairn_report_json_of(struct cairn_json *json, const struct cairn_tally *tally,
                         const struct cairn_report_options *options, struct cairn_outlet *out,
                         struct cairn_err *err);
int cairn_report_json_rows(struct cairn_json *json, const char *key,
                           const struct cairn_tally *tally, const struct cairn_rows *rows,
                           size_t limit, struct cairn_outlet *out);

/* The handle of a function of the model; null for UINT32_MAX. */
void cairn_report_json_handle(struct cairn_json *json, const char *key,
                              const struct cairn_model *model, uint32_t function);

/* "tid", "pid" and "role": of a thread; or, where `thread` is UINT32_MAX, of a process; null where
 * that is, too. */
void cairn_report_json_track(struct cairn_json *json, const struct cairn_tally *tally,
                             uint32_t thread, uint32_t process);

#endif

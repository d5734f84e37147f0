/* show.h: recordings into reports: what `cairn report` does, and every run when it has ended. */
#ifndef CAIRN_SHOW_H
#define CAIRN_SHOW_H

#include "buf.h"
#include "command.h"
#include "filter.h"
#include "model.h"
#include "output.h"
#include "tally.h"

/* Loads the recordings that the words name, files of other tools among them (guests.h), or else the
 * newest one here, whose path `ret_path` (initialised by the caller) gets then. `progress` as for
 * cairn_model_load_told(). */
int cairn_show_load(const struct cairn_words *words, const struct cairn_reading *reading,
                    struct cairn_progress *progress, struct cairn_model **ret_model,
                    struct cairn_buf *ret_path, struct cairn_err *err);

/* cairn_output_check() with what the words name, or else with the newest one here. */
int cairn_show_check_output(const struct cairn_words *words, const char *output,
                            struct cairn_err *err);

/* The recording of --before; NULL in *ret_model without one. */
int cairn_show_load_before(const struct cairn_settings *settings, struct cairn_progress *progress,
                           struct cairn_model **ret_model, struct cairn_err *err);

/* The options that every reading command shares; -CAIRN_EUSAGE when --to is not behind --from. */
int cairn_show_filter(const struct cairn_settings *settings, struct cairn_filter *ret_filter,
                      struct cairn_err *err);

/* Says so on stderr where calls that were counted are shown whole although a part was asked for. */
void cairn_show_what_is_whole(const struct cairn_tally *tally);

/* Writes the report of a model to `output`, as the settings say. `path`: what JSON calls the
 * recording, and the commands that a text suggests; NULL for one that they find by themselves. */
int cairn_show_report(const struct cairn_model *model, const struct cairn_settings *settings,
                      const char *path, const struct cairn_output *output, struct cairn_err *err);

#endif

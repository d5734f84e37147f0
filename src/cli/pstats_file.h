/* pstats_file.h: a .prof file or a recording as pstats sees it. */
#ifndef CAIRN_PSTATS_FILE_H
#define CAIRN_PSTATS_FILE_H

#include "option.h"
#include "prof.h"
#include "pstats.h"

/* Loads `path` into an initialised table; as below. */
int cairn_pstats_prof(const char *path, const struct cairn_settings *settings,
                      struct cairn_prof *prof, bool *ret_recording, struct cairn_err *err);

/* Loads `path`; `settings` say what of a recording. On success cairn_pstats_release() it. Failures
 * of the system have err->sys; *ret_recording: the file is a recording of Cairn. */
int cairn_pstats_file(const char *path, const struct cairn_settings *settings,
                      struct cairn_pstats *ret_stats, bool *ret_recording, struct cairn_err *err);

#endif

/* place.h: where recordings lie when nobody says.
 *
 * .cairn/ in the current folder, with a .gitignore of its own; where that cannot be written,
 * $TMPDIR/cairn-UID/, which must be ours alone.
 */
#ifndef CAIRN_PLACE_H
#define CAIRN_PLACE_H

#include <stdbool.h>

#include "buf.h"
#include "err.h"

/* Puts the path of a recording that is yet to be made into `ret_path` (cleared first):
 * FOLDER/<name>-<date>-<pid>.cairn, and makes the folder. Of `name` only what is harmless in a
 * file name is kept. *ret_elsewhere: it is not in the current folder, which should be said. The
 * place is the effective user's. */
int cairn_place_new(const char *name, struct cairn_buf *ret_path, bool *ret_elsewhere,
                    struct cairn_err *err);

/* Puts the path of the newest recording, by its time of change, into `ret_path`.
 * -CAIRN_ENOTFOUND when there is none, with `err` saying what to do. */
int cairn_place_newest(struct cairn_buf *ret_path, struct cairn_err *err);

/* Takes .cairn/ away when it holds nothing but what cairn_place_new() put there: after a recording
 * that came to nothing. */
void cairn_place_tidy(void);

#endif

/* redact.h: foreign text without what tells who recorded it, and where.
 *
 * What is left out: the home folder and the name of the user who asks, home folders of others by
 * their usual place (/home/NAME, /Users/NAME, C:\Users\NAME, ~NAME), and of a path all that does
 * not say which file of the program or of which library it is. Files of other tools may come from
 * Windows. Pure functions; nothing of the environment is looked at.
 */
#ifndef CAIRN_REDACT_H
#define CAIRN_REDACT_H

#include <stdbool.h>

#include "buf.h"
#include "model.h"

struct cairn_redact {
    bool on;                 /* false: everything is copied as it is */
    const char *home, *user; /* of who asks; NULL or "": not known. "root" is nobody's name */
};

/* Appends `text` to `out`; the home folder becomes `~`, the user's name `user`, that of four
 * characters or more within words too. Of "Process 12: COMMAND" the program is left. */
void cairn_redact_text(const struct cairn_redact *redact, struct cairn_span text,
                       struct cairn_buf *out);

/* The same of a path: what stands behind site-packages/, lib/pythonX.Y/ or PythonXY\Lib\, else the
 * last part. */
void cairn_redact_path(const struct cairn_redact *redact, struct cairn_span path,
                       struct cairn_buf *out);

/* The same of a process's name, which other tools fill with its command line: the program. */
void cairn_redact_process(const struct cairn_redact *redact, struct cairn_span name,
                          struct cairn_buf *out);

/* The whole model: every name, path and text; of command lines the program, of settings those that
 * say what its numbers are. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT, after which it is not to be shown.
 * What chooses by path or command line (a tally's filter) has to have chosen. */
int cairn_redact_model(const struct cairn_redact *redact, struct cairn_model *model);

#endif

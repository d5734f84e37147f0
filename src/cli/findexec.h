/* findexec.h: finds a command as a shell would. */
#ifndef CAIRN_FINDEXEC_H
#define CAIRN_FINDEXEC_H

#include "buf.h"
#include "err.h"

/* Puts the path of `word` into `ret_path` (cleared first): itself when it holds a slash, else
 * from PATH. -CAIRN_ENOTFOUND; -CAIRN_ENOTEXEC when what is there cannot be executed;
 * -CAIRN_ENOMEM. */
int cairn_findexec(const char *word, struct cairn_buf *ret_path, struct cairn_err *err);

#endif

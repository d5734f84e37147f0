/* package.h: where the Python package lies that belongs to this program. */
#ifndef CAIRN_PACKAGE_H
#define CAIRN_PACKAGE_H

#include "buf.h"
#include "err.h"

/* The path of a file or folder of the package, `name` within it. -CAIRN_ENOTFOUND, -CAIRN_EIO or
 * -CAIRN_ENOMEM. */
int cairn_package_find(const char *name, struct cairn_buf *ret_path, struct cairn_err *err);

#endif

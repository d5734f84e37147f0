/* origin.h: whose code a file is, and what its module is called, judged by its path alone: the
 * recording may be from another machine. Pure functions; nothing is looked up. */
#ifndef CAIRN_ORIGIN_H
#define CAIRN_ORIGIN_H

#include "buf.h"
#include "model.h"

/* enum cairn_origin of a co_filename. */
uint8_t cairn_origin_of(struct cairn_span file);

/* Appends a dotted name: "os.path" for ".../lib/python3.12/os/path.py", "app" for "src/app.py",
 * "pkg" for ".../pkg/__init__.py"; what is no path ("<string>") as it is. Native files: the last
 * part of the path. 0 or what the buffer's code became. */
int cairn_module_of(struct cairn_buf *out, struct cairn_span file);
struct cairn_span cairn_file_of(struct cairn_span path);

#endif

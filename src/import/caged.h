/* caged.h: cairn_import() in a process that can do nothing but read this file and write the
 * recording (base/cage). What the commands use.
 *
 * Threads: one at a time; forks.
 */
#ifndef CAIRN_CAGED_H
#define CAIRN_CAGED_H

#include "import.h"

/* As cairn_import(), and that the file may take no more memory and time than a file may:
 * -CAIRN_EFOREIGN; and may end the process that reads it: -CAIRN_EDAMAGED. The recording is whole
 * in the file of `sink`, which must be new and is good for closing alone. Makes the spill itself;
 * `options->progress` is told in this process. */
int cairn_caged_import(int fd, const char *path, const struct cairn_import_options *options,
                       struct cairn_sink *sink, struct cairn_err *err);

/* As cairn_import_mapped(), of which `ret_paths`, initialised by the caller, gets what there is:
 * what fails here fails in cairn_caged_import(), which says why. */
void cairn_caged_mapped(int fd, const char *path, struct cairn_buf *ret_paths);

#endif

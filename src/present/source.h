/* source.h: lines of source files, where they surely are still what ran.
 *
 * A line is shown when the recording was made since this machine started, the file is a regular
 * one that nobody has changed since the recording ended, and the function is still defined where
 * the recording says. Paths come from the observed program: what they name is opened for reading
 * only, never waited for, and cut off at a ceiling; and it is shown only where source may lie: in
 * the current folder, in the libraries of a Python, elsewhere what is called as source of Python
 * is. What counts is where a file really lies. Owner: keeps the latest file. Threads: one at a
 * time.
 */
#ifndef CAIRN_SOURCE_H
#define CAIRN_SOURCE_H

#include "buf.h"
#include "model.h"

struct cairn_source {
    uint64_t newest_real_ns; /* a file changed later is not believed; 0: none is */
    struct cairn_span file;  /* the latest, borrowed from the model */
    struct cairn_buf text;   /* its bytes; empty when it is not believed */
};

void cairn_source_init(struct cairn_source *source, const struct cairn_model *model);
void cairn_source_release(struct cairn_source *source);

/* The text of a line without its blanks around it; borrowed until the next call. Empty when it is
 * not known. `name` and `first_line` are the function's. */
struct cairn_span cairn_source_line(struct cairn_source *source, struct cairn_span file,
                                    struct cairn_span name, uint32_t first_line, uint32_t line);

/* The same with the blanks before it. */
struct cairn_span cairn_source_whole_line(struct cairn_source *source, struct cairn_span file,
                                          struct cairn_span name, uint32_t first_line,
                                          uint32_t line);

#endif

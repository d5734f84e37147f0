/* linespool.h: lines that engines counted into their spools (lineskept.c), as rows of a recording:
 * a process, a code, a line; how often it began, and for how long it went on. Instructions likewise
 * (unitspool.c): how often they were executed.
 */
#ifndef CAIRN_LINESPOOL_H
#define CAIRN_LINESPOOL_H

#include "books.h"
#include "err.h"
#include "writer.h"

struct cairn_linespool_result {
    uint64_t processes, cut_short; /* files; of them those that were not ended on purpose */
    uint64_t displaced;            /* and those where the program had a trace function of its own */
    uint64_t events, lost;         /* times that a line began: counted, and could not be */
    uint64_t instructions;         /* that were executed */
    uint64_t uncosted;             /* files that do not tell what an event costs */
    double cost_ns;                /* of counting lines, in the others */
    struct cairn_books books;
};

/* Writes the lines of all files of `folder`; `boot_id` is a string of the writer. 0; -CAIRN_EIO,
 * -CAIRN_ENOMEM or what the sink says. */
int cairn_linespool_put(const char *folder, struct cairn_writer *writer, uint32_t boot_id,
                        struct cairn_linespool_result *ret_result, struct cairn_err *err);

/* What the recording says of them; nothing where there are none. */
int cairn_linespool_counters(struct cairn_writer *writer,
                             const struct cairn_linespool_result *result);

#endif

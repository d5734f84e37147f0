/* callspool.h: what engines left in their spools (spoolfile.h), as rows of a recording.
 *
 * What points nowhere is left out and counted as lost, but of one that lives on, where
 * it came after the copy began.
 */
#ifndef CAIRN_CALLSPOOL_H
#define CAIRN_CALLSPOOL_H

#include "err.h"
#include "linespool.h"
#include "regionspool.h"
#include "sink.h"

struct cairn_callspool_result {
    uint64_t processes, cut_short; /* files of calls; those that were not ended on purpose */
    uint64_t displaced;            /* files, where the program had a profile function of its own */
    uint64_t text;                 /* files, whose events came by jumps in the text as well */
    uint64_t events, lost;         /* calls and resumes: counted, and could not be */
    struct {
        uint64_t kept, lost, gone; /* calls: rows; without room; that made room for later ones */
    } times;
    struct cairn_linespool_result lines;
    struct cairn_regionspool_result regions;
};

/* Writes the trees of calls, the lines and the regions of all files of `folder` as a writer of its
 * own, `writer_id`.
 * This process began before those did. 0; -CAIRN_EIO, -CAIRN_ENOMEM or what
 * the sink says. */
int cairn_callspool_write(const char *folder, struct cairn_sink *sink, uint32_t writer_id,
                          struct cairn_callspool_result *ret_result, struct cairn_err *err);

#endif

/* regionspool.h: what programs said of themselves (regions.h), as rows of a recording: a region or
 * a mark with its moment, how long it lasted, and its name as a stack of one label.
 *
 * The files may hold anything. Times are those of CLOCK_MONOTONIC; what is longer than 2^34 ticks
 * ends up to 1,024 ticks too early. Of a process that lives on, all that began before its file was
 * copied is there.
 */
#ifndef CAIRN_REGIONSPOOL_H
#define CAIRN_REGIONSPOOL_H

#include "err.h"
#include "writer.h"

struct cairn_regionspool_result {
    uint64_t processes;      /* files */
    uint64_t regions, marks; /* rows */
    uint64_t lost;           /* for which there was no room */
};

/* Writes those of all files of `folder`. This process began before those did.
 * 0; -CAIRN_EIO, -CAIRN_ENOMEM, or what the writer says. */
int cairn_regionspool_put(const char *folder, struct cairn_writer *writer, uint32_t boot_id,
                          struct cairn_regionspool_result *ret_result, struct cairn_err *err);

/* 0 or what the writer says. */
int cairn_regionspool_counters(struct cairn_writer *writer,
                               const struct cairn_regionspool_result *result);

#endif

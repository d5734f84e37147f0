/* scratch.h: a folder of a test's own, and a recording in it that counts: row n is the n-th. */
#ifndef CAIRN_SCRATCH_H
#define CAIRN_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "sink.h"

struct scratch {
    char folder[32], path[48];
};

void scratch_make(struct scratch *scratch);
void scratch_remove(struct scratch *scratch);

/* The bytes of a file, and back. They end the test when they fail. */
void scratch_load(const char *path, struct cairn_buf *bytes);
void scratch_store(const char *path, const uint8_t *data, size_t size_bytes);

#define SCRATCH_CHUNK_ROWS 10

/* Flushes `chunks` chunks of SCRATCH_CHUNK_ROWS rows each, numbered on from *row; `filler_bytes`
 * of noise make a chunk larger. 0, or the code and *err of the call that failed. */
int scratch_write(struct cairn_sink *sink, size_t chunks, size_t filler_bytes, uint64_t *row,
                  struct cairn_err *err);

/* Reads such a recording: sets seen[n] for each row n < size that came back. 0 or a code. Ends the
 * test when a row came twice, is of no known number, or does not hold what was written. */
int scratch_read(const char *path, bool *seen, size_t size, uint64_t *ret_jumped_bytes);

#endif

/* runs.h: rows of samples: what a worker did, from tick to tick, until it did something else.
 *
 * The open run of a worker is one row in the making. Everything a worker's clock and books said is
 * in a row, in its carry, or left over (remains.h);
 * what rows hold too much is its excess, and taken back. Owner: borrows the sampler and its
 * subjects. Threads: one at a time.
 */
#ifndef CAIRN_RUNS_H
#define CAIRN_RUNS_H

#include "sampler.h"

/* Tells a failure that ends the recording to the sampler; the first one counts. Returns `code`. */
int cairn_runs_keep_code(struct cairn_sampler *sampler, int code);

/* One sample: what `now` says of stack and state held for the worker at the latest tick. */
void cairn_runs_add(struct cairn_sampler *sampler, struct cairn_worker *worker,
                    struct cairn_run now);

/* Writes the rows that are held back, and the open run, if there is one. */
void cairn_runs_close(struct cairn_sampler *sampler, struct cairn_worker *worker);

/* A worker (of the sampler `ctx`) is gone: as cairn_subject_scan() calls it. */
void cairn_runs_gone(void *ctx, struct cairn_worker *worker);

/* After the workers of a process have their samples: what ran in threads that a late tick missed
 * (remains.h) goes to the last one of those that was met, or, where that has no room for it or none
 * was met, to the first thread, which made them, or waits for them. */
void cairn_runs_of_missed(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          uint64_t span_ns);

/* The process is gone. What is left over goes to its first thread, which has a row if any has; but
 * where that one's own clock told what it ran, and more is left over than one life, it goes to the
 * last of those that came and went before. */
void cairn_runs_end(struct cairn_sampler *sampler, struct cairn_subject *subject);

#endif

/* ahead.h: samples are made by a thread of their own, some ahead of who takes them.
 *
 * To decode rows costs about as much as to add them up, so a long recording takes little more than
 * half the time. Samples come in the same order, batch by batch, from copies: what was borrowed of
 * the stream stays as long as the batch.
 * Owner: the stream owns it. Threads: one takes; its own makes, and nobody else touches the stream
 * until cairn_ahead_stop().
 */
#ifndef CAIRN_AHEAD_H
#define CAIRN_AHEAD_H

#include "samples.h"

struct cairn_ahead; /* opaque */

/* The next batch of the stream, as cairn_samples_batch(), into room for CAIRN_SAMPLES_BATCH. */
typedef int cairn_ahead_make(struct cairn_samples *samples, struct cairn_sample *batch,
                             size_t *ret_count);

/* NULL: there is no second processor, no memory or no thread to be had; the stream is untouched. */
struct cairn_ahead *cairn_ahead_begin(struct cairn_samples *samples, cairn_ahead_make *make);

/* As cairn_samples_batch(). */
int cairn_ahead_batch(struct cairn_ahead *ahead, const struct cairn_sample **ret_samples,
                      size_t *ret_count);

/* Its thread is over; what it made and nobody took is lost. NULL is nothing. */
void cairn_ahead_stop(struct cairn_ahead *ahead);
void cairn_ahead_free(struct cairn_ahead *ahead);

#endif

/* slices.h: calls as they were seen in time: each function's beginning and end, thread by thread.
 *
 * A thread that has a timeline is told by its calls, one by one; what the filter says of time and
 * threads holds for them, and of stacks: of those with a match, the calls from the match on.
 *
 * Of other threads samples tell. What one sample saw and the next one of the thread still sees, on
 * the same stack, is taken for one call. A metric other than wall takes less than its sample: it is
 * laid at the beginning of it. So the times between a begin and its end, less those of the begins
 * inside, add up to the tally.
 */
#ifndef CAIRN_SLICES_H
#define CAIRN_SLICES_H

#include "calltree.h"
#include "tally_samples.h"

struct cairn_slices_ops {                      /* each may end the walk with a negative code */
    int (*thread)(void *ctx, uint32_t thread); /* what follows is of this one */
    int (*begin)(void *ctx, uint32_t node, uint64_t time_ns);
    int (*end)(void *ctx, uint32_t node, uint64_t time_ns);
    int (*moment)(void *ctx, const struct cairn_moment *moment); /* NULL allowed */
};

/* Whether any thread of the recording has a timeline, and it is time that is asked for: then the
 * tree is to hold counted stacks. */
bool cairn_slices_counted(const struct cairn_tally *tally);

/* Every begin gets its end, the inner ones first; times of a thread never go back. `timeline` and
 * `tree` are the tally's. */
int cairn_slices_walk(const struct cairn_tally *tally, const struct cairn_timeline *timeline,
                      const struct cairn_calltree *tree, const struct cairn_slices_ops *ops,
                      void *ctx);

/* Numbers for processes and threads as a viewer needs them, which takes those of one number for
 * one: the pid or tid, or where two of the model share it, a number that none has. Arrays to
 * free(), one entry for each process or thread. 0 or -CAIRN_ENOMEM. */
int cairn_slices_pids(const struct cairn_model *model, uint64_t **ret_pids);
int cairn_slices_tids(const struct cairn_model *model, uint64_t **ret_tids);

#endif

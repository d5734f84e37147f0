/* perfetto_stacks.h: samples of stacks in a Perfetto trace (StackSample), and the tables in which
 * their functions, files, frames, stacks and threads are told, each once.
 *
 * A run of ticks of one thread on one stack is one sample, at the run's beginning, where its slices
 * begin as well. Its weights are what it took of the metric and, where the tally knows how many
 * samples there were, its ticks; so those of a trace add up to the tally. When each tick of a run
 * was is not told: one sample a tick would be a thousand a second, of 30 bytes each, for every
 * thread that waits.
 * Owner: owns its memory; borrows tally, tree and outlet.
 * Threads: one at a time.
 */
#ifndef CAIRN_PERFETTO_STACKS_H
#define CAIRN_PERFETTO_STACKS_H

#include "calltree.h"
#include "intern.h"
#include "map.h"
#include "tally_samples.h"

struct cairn_perfetto_weights;        /* opaque */
struct Perfetto__StackSampleDefaults; /* perfetto.pb-c.h */

struct cairn_perfetto_stacks {
    const struct cairn_tally *tally;
    const struct cairn_calltree *tree;
    struct cairn_outlet *out;
    bool samples; /* ticks are the weight and time stands beside it, not the other way round */
    struct cairn_intern names, paths;
    struct cairn_map frames;      /* {function, line} to the frame's number */
    bool *stack_done, *task_done; /* of each of the tree's nodes, and of each thread: it was told */
    struct cairn_perfetto_weights *weights;
    CAIRN_VEC(uint64_t) path;
    struct cairn_buf text;
};

/* 0 or -CAIRN_ENOMEM; released by the caller in every case. */
int cairn_perfetto_stacks_init(struct cairn_perfetto_stacks *stacks,
                               const struct cairn_tally *tally, const struct cairn_calltree *tree,
                               bool samples, struct cairn_outlet *out);
void cairn_perfetto_stacks_release(struct cairn_perfetto_stacks *stacks);

/* What the weights of samples are, for the packet that begins the sequence; owned by `stacks`. */
struct Perfetto__StackSampleDefaults *cairn_perfetto_stacks_defaults(
    const struct cairn_perfetto_stacks *stacks);

/* Writes the moment, with what it needs of the tables before it. One that took nothing of what is
 * weighed is left out. `pid` and `tid` are those of the moment's thread. 0, -CAIRN_ENOMEM,
 * -CAIRN_ELIMIT, or what the outlet says. */
int cairn_perfetto_stacks_put(struct cairn_perfetto_stacks *stacks,
                              const struct cairn_moment *moment, uint64_t pid, uint64_t tid);

#endif

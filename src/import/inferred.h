/* inferred.h: stacks for formats that know only who called whom.
 *
 * Of each function its own time is known, and how much of it, and of all below it, came by way of
 * each direct caller. That is not enough to tell stacks: what is made here supposes that a function
 * spends its time alike whoever called its caller. Every sum of own times is exact; what lies below
 * a function is an inference, and the recording says so ("import.stacks" is "inferred").
 */
#ifndef CAIRN_INFERRED_H
#define CAIRN_INFERRED_H

#include "guest.h"

struct cairn_inferred_function {
    struct cairn_guest_frame frame;
    uint64_t self_ns, total_ns; /* total: with all that it called */
    double self, total;         /* of them, what came from no caller; in the unit of its calls */
    uint64_t calls;             /* 0: not told. Without it, the sum of those that lead to it */
};

struct cairn_inferred_call {
    uint32_t caller, callee; /* indexes of functions */
    double self, total;      /* of the callee's time, what came by this way; any unit */
    uint64_t calls;          /* so many of them */
};

/* Gives all of it to one thread of the guest. `calls` is put in order. */
int cairn_inferred_give(struct cairn_guest *guest, uint32_t thread,
                        const struct cairn_inferred_function *functions, size_t function_count,
                        struct cairn_inferred_call *calls, size_t call_count);

/* The same of a file that has counted calls, which stand in the recording, too; the unit of the
 * calls' time is ns. Who recursed is known but within cycles of two or more functions: how many of
 * their calls did is marked as inferred, and the total is that of the stacks. So is, of all of them
 * without `recursion_known`, how often they recursed; and the own time that a function took for a
 * caller. */
int cairn_inferred_give_counted(struct cairn_guest *guest, uint32_t thread,
                                const struct cairn_inferred_function *functions,
                                size_t function_count, struct cairn_inferred_call *calls,
                                size_t call_count, bool recursion_known);

#endif

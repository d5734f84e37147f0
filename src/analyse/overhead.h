/* overhead.h: what counting cost by its own books, where it was told how much it may
 * (`--max-overhead`), and whether it kept to that. */
#ifndef CAIRN_OVERHEAD_H
#define CAIRN_OVERHEAD_H

#include "model.h"

struct cairn_overhead {
    bool asked;             /* else nothing of this is known */
    double limit, reached;  /* of the CPU time that the programs themselves needed */
    bool kept;              /* in each process */
    uint64_t setup_ns;      /* CPU time to begin, which is not in `reached` */
    uint64_t let_go, ended; /* functions, or what they call of C; processes that ended counting */
    uint64_t plain;   /* processes that counted all calls of Python without times in the end */
    uint64_t untimed; /* functions whose calls were counted on without their times */
};

struct cairn_overhead cairn_overhead_of(const struct cairn_model *model);

#endif

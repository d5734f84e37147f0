/* cage.h: a child process that reads what nobody vouches for, and can do nothing else.
 *
 * It has the descriptors that it is given and no others, and gets none: no file, no connection. It
 * has no rights: root becomes nobody, capabilities go, none can be had again. A filter leaves it
 * the few system calls that reading, writing and asking for memory take; whatever else it tries
 * ends it. Memory, processor time and what it writes have limits. It goes when its parent does.
 * What it hands back is what it wrote to its descriptors and one code with a text, both judged by
 * the parent when the child is over: an exit, a crash and a kill are told apart.
 * Where the system refuses a part (a container), the rest holds, and that is told.
 * Threads: any; forks, so that only async-signal-safe state of other threads is there in the child.
 */
#ifndef CAIRN_CAGE_H
#define CAIRN_CAGE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "progress.h"

struct cairn_cage {
    const char *what;      /* names what is read, in messages */
    const int *files;      /* descriptors that stay open */
    size_t file_count;     /* at most CAIRN_CAGE_FILES_MAX */
    uint64_t memory_bytes; /* on top of what the process has; 0: as it has */
    uint64_t write_bytes;  /* of a file; 0: as it has */
    unsigned cpu_s;        /* processor time; 0: as it has */
    /* In the child. 0 or a code, with `err` filled, of which code, sys and text come back. */
    int (*work)(void *context, struct cairn_err *err);
    void *context;
    /* Told in the parent, some times a second, what the work writes into `share_ppm`, millionths
     * that both see. Both may be NULL. */
    struct cairn_progress *progress;
    const _Atomic uint32_t *share_ppm;
};

#define CAIRN_CAGE_FILES_MAX 72

enum {                            /* in place of an errno */
       CAIRN_CAGE_SANITIZED = -1, /* left out: a sanitizer watches this build, and needs more */
       CAIRN_CAGE_VALGRIND = -2,  /* left out: valgrind's own calls would be the child's */
};

/* What holds a child: each 0, or why it could not be had: an errno or one of the above. */
struct cairn_cage_held {
    int filter; /* of system calls */
    int user;   /* root is nobody, capabilities are gone */
    int fixed;  /* neither can be had again */
    int limits;
};

/* Runs the work in a cage. Its code, when there is such a code; -CAIRN_EFOREIGN: it needed more
 * memory, time or room than it may have; -CAIRN_EDAMAGED: it crashed, was killed, or tried what it
 * may not; -CAIRN_EIO: no child could be made. `ret_held` may be NULL. */
int cairn_cage_run(const struct cairn_cage *cage, struct cairn_cage_held *ret_held,
                   struct cairn_err *err);

/* Tries it for real, on a child that does nothing. */
int cairn_cage_try(struct cairn_cage_held *ret_held, struct cairn_err *err);

/* Why something could not be had, as half a sentence. */
const char *cairn_cage_why(int why, char *buf, size_t size_bytes);

#endif

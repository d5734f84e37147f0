/* progress.h: how work that may take long tells how far it is.
 *
 * Owner: whoever wants to know; the work borrows it. Threads: called on the one that works.
 */
#ifndef CAIRN_PROGRESS_H
#define CAIRN_PROGRESS_H

#include <stddef.h>

struct cairn_progress {
    /* `share`: from 0 up to 1, which means that it is done. Is called often: a clock may be asked,
     * more must be rare. */
    void (*tell)(struct cairn_progress *progress, double share);
};

/* `progress` may be NULL: nobody wants to know. */
static inline void cairn_progress_tell(struct cairn_progress *progress, double share)
{
    if (progress != NULL)
        progress->tell(progress, share);
}

#endif

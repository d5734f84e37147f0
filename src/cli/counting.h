/* counting.h: what `cairn run --exact` and --lines add to a run: engines in the program that count
 * calls and lines. */
#ifndef CAIRN_COUNTING_H
#define CAIRN_COUNTING_H

#include "buf.h"
#include "option.h"
#include "session.h"

struct cairn_counting {
    struct cairn_buf spool; /* the folder that engines leave their counts in; empty: none is made */
    const struct cairn_owner *owner;
};

/* Makes the folder with what the settings want, tells every Python that will be started about it
 * (in this process' environment), and has `options` bring in what was counted. The counting must
 * not move. In any case it is to be closed. 0, or a negative code. */
int cairn_counting_open(struct cairn_counting *counting, const struct cairn_settings *settings,
                        struct cairn_session_options *options, struct cairn_err *err);
void cairn_counting_close(struct cairn_counting *counting);

#endif

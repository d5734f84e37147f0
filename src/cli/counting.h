/* counting.h: what the program itself adds to a recording: regions and marks that it wrote down,
 * and with `cairn run --exact` and --lines what engines in it counted. */
#ifndef CAIRN_COUNTING_H
#define CAIRN_COUNTING_H

#include "buf.h"
#include "map.h"
#include "option.h"
#include "session.h"
#include "vec.h"

struct cairn_counting {
    struct cairn_buf spool; /* the folder that engines leave their files in; empty: none is made */
    const struct cairn_owner *owner;
    pid_t announced;            /* for whom the folder is announced (announce.h); 0: for nobody */
    int lock;                   /* the announcement's */
    bool wants;                 /* something is to be counted from the start on */
    CAIRN_VEC(pid_t) met;       /* processes that began a Python, … */
    struct cairn_map met_since; /* … {pid, when it began, ns since boot}: which of those, until
                                   their file was found */
    const struct cairn_settings *settings; /* borrowed */
    bool calls_missing, lines_missing;     /* where something was to be counted nothing was, … */
    uint64_t calls_unmet, lines_unmet; /* … or of some words: their bits, those of `called` … */
                                       /* … and of `counted` */
};

/* Makes the folder with what the settings want, announces it to process `pid` (ourselves: to all
 * that will be started), and has `options` bring in what is found there. Where something is to be
 * counted, every Python that will be started is told (in this process' environment); where nothing
 * is, that no folder can be made is no failure: there are no regions then. The counting must not
 * move. In any case it is to be closed. 0, or a negative code. */
int cairn_counting_open(struct cairn_counting *counting, const struct cairn_settings *settings,
                        pid_t pid, struct cairn_session_options *options, struct cairn_err *err);

/* Once all is brought in: says of places that were named and that nothing ran in. */
void cairn_counting_say(const struct cairn_counting *counting);
void cairn_counting_close(struct cairn_counting *counting);

#endif

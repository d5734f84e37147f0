/* following.h: a recording as a page, made anew while somebody still writes it.
 *
 * It is read again only when somebody asks, when it has grown, and so seldom that this takes no
 * more than a part of a processor; by a thread of its own, so that requests are answered meanwhile
 * from what was read before. What cannot be read again stays as it was, and is followed no more.
 * Owner: owns models and pages; the call is borrowed. Threads: one at a time, beside its own.
 */
#ifndef CAIRN_FOLLOWING_H
#define CAIRN_FOLLOWING_H

#include "command.h"
#include "model.h"
#include "outlet.h"
#include "progress.h"
#include "writing.h"

struct cairn_showing { /* a recording as it was read once */
    struct cairn_model *model;
    struct cairn_outlet page;
    struct cairn_buf columns;       /* that the page asks for; empty: it holds them */
    struct cairn_html_parts *parts; /* that can be asked for; NULL: none */
    struct cairn_writing seen;      /* before it was read */
    bool live;                      /* it has no end, and somebody wrote then */
};

struct cairn_making; /* opaque */

struct cairn_following {
    const struct cairn_call *call;
    struct cairn_words words; /* the recordings: those of the call, or the newest one */
    char *newest[2];
    struct cairn_buf path; /* of that */
    struct cairn_showing now;
    uint64_t version;            /* rises each time that it was read; from 1 */
    bool follows;                /* it was live when it was read first: its page asks */
    uint64_t due_ns;             /* not read again before; CLOCK_MONOTONIC */
    struct cairn_making *making; /* NULL: nothing is being read */
};

/* Reads it for the first time. 0, or a negative code with `err` filled; ended in every case. */
int cairn_following_begin(struct cairn_following *following, const struct cairn_call *call,
                          struct cairn_progress *progress, struct cairn_err *err);

/* Somebody asks whether there is more: takes over what has been read meanwhile, and has it read
 * when it is time. */
void cairn_following_ask(struct cairn_following *following);

/* How long whoever asks may as well wait before asking again. */
uint64_t cairn_following_wait_ns(const struct cairn_following *following);

/* False: it is still being read, and what that uses must outlive it: the caller ends the process.
 */
bool cairn_following_end(struct cairn_following *following);

#endif

/* pythread.h: what the reader keeps of each thread from tick to tick, and one thread's part of a
 * tick: what to read of it, and what to make of that.
 *
 * The places where a thread's frames lie are learned: the chunks of its data stack, and frames
 * elsewhere (on the C stack, in generators), so that one vectored read fetches them all. A place
 * that turns out to have moved is learned again and costs another read.
 * Threads: one.
 */
#ifndef CAIRN_PYTHREAD_H
#define CAIRN_PYTHREAD_H

#include "map.h"
#include "pyahead.h"
#include "pyblocks.h"
#include "pycframe.h"
#include "pycode.h"
#include "pydoubts.h"
#include "pyplaces.h"
#include "pyread.h"
#include "pystack.h"

#define CAIRN_PYREAD_TRIES 3 /* one read of a thread, and at most two more for what moved */

#define CAIRN_PYCHAINS 4 /* of chunks, that a thread switches between: one a greenlet */

#define CAIRN_PYMOMENTS 8 /* in a read, at each of which the stack may be known */

#define CAIRN_PYKEPT_UNKNOWN UINT64_MAX

#define CAIRN_PYKEPT_RESUMERS_MAX 4096

CAIRN_VEC_DECLARE(cairn_pychunks, struct cairn_pychunk); /* outermost first */

struct cairn_pykept {
    struct cairn_pythread thread; /* first: the public part */
    uint64_t generation;          /* of the list walk that saw it last */
    uint8_t header[CAIRN_PYLAYOUT_THREAD_BYTES];
    bool header_ok;                        /* `header` was read in this round */
    uint64_t cframe, hot_chunk, chunk_top; /* of the header, as last read */

    struct cairn_pychunks chunks; /* in use; and those of greenlets that rest, … */
    struct cairn_pychunks resting[CAIRN_PYCHAINS];
    uint64_t rested_tick[CAIRN_PYCHAINS]; /* … since */
    struct cairn_pychunk first_chunk;     /* where the data stack began when it was last read */
    struct cairn_pyplaces others;         /* frames elsewhere */
    struct cairn_pycframes cframes;
    struct cairn_pyplaces after; /* frames that resume generators, to be read again */

    struct cairn_pyraws raws; /* the stack, outermost first, as far as it holds; of it … */
    size_t raws_shown;        /* … so many are in what was handed out */
    struct cairn_pyraws good; /* the last one that passed every check */
    CAIRN_VEC(struct cairn_pyframe) frames;
    bool exc, exc_known;      /* an exception is on its way or being handled */
    bool exc_item_ok;         /* of this round: the item of a generator … */
    uint64_t exc_item;        /* … where it was when last read; 0: none */
    uint64_t exc_item_value;  /* the exception in it */
    uint64_t ticks;           /* of this thread, for ageing */
    uint64_t first_native_id; /* in the first copy of this tick */
    uint64_t own_native_id;   /* `native_id` as the thread state has it, whoever runs it */
    uint32_t nest_kept;       /* `kept` of a read of this tick that was made again; else the most */
    uint64_t nest_outer;      /* thread state that it was seen to go on from; 0: none */
    unsigned tries;           /* reads of this tick … */
    /* Until 3.10: where frames lie; which was current after the first runs of them had been copied;
     * whether that is what is judged; and generator's frame -> frame that resumed it last. */
    struct cairn_pyblocks blocks;
    uint64_t currents[CAIRN_PYMOMENTS];
    uint64_t refused_tick; /* the last one in which frames did not hang together */
    bool later;
    struct cairn_map resumers;
    uint64_t tid_next_ns;   /* until 3.10: not before is its number looked for again */
    uint64_t disowned_tick; /* when the process had no task of this number last; 0: never */
    uint64_t tid_told;      /* until 3.10: the number that was read in front of it; 0: none was */
    uint64_t tid_refused;   /* the one in front of it when its own was looked for last */
    uint64_t tid_end;       /* the one behind it; CAIRN_PYKEPT_UNKNOWN: none was */
    struct cairn_pydoubts doubts;
    struct cairn_pyentries entries;
};

struct cairn_pycontext { /* what all threads of a reader share */
    struct cairn_remote *remote;
    const struct cairn_pylayout *layout;
    const struct cairn_pytable *table;
    struct cairn_pycodes *codes;
    struct cairn_pyread_stats *stats;
    struct cairn_pyraws walk;   /* scratch */
    struct cairn_pyraws inner;  /* scratch: a walk that led to no root, outermost first, or, until
                                   3.10, what can be told of it, innermost first */
    CAIRN_VEC(bool) used;       /* scratch: which of a thread's `others` the chain went through */
    uint64_t frame_type;        /* until 3.10: of all frames; 0: not met yet */
    struct cairn_pyahead ahead; /* until 3.10: scratch: frames that no read was planned for */
    /* {caller, callee} -> where it calls; {0, callee} -> caller; more keys in pylinks and pyrecall.
     */
    struct cairn_map calls;
    uint32_t header_bytes; /* of a thread state, as far as it is read */
    uint64_t now_ns;
};

/* Whether its frames did not hang together lately (until 3.10). */
bool cairn_pykept_is_restless(const struct cairn_pykept *kept);

void cairn_pykept_free(struct cairn_pykept *kept);

/* Another thread has taken the state over: nothing of the stack that is known is its own, be it of
 * this tick, and it was not read. */
void cairn_pykept_forget_stack(struct cairn_pykept *kept);

/* A field of a thread state's header; 0: this version has none. */
uint64_t cairn_pyheader_field(const uint8_t *header, uint32_t place);

/* The same of the header that was just read. */
uint64_t cairn_pykept_field(const struct cairn_pykept *kept, uint32_t place);

/* What was copied of the thread. */
struct cairn_pyimage cairn_pykept_image(const struct cairn_pycontext *ctx,
                                        const struct cairn_pykept *kept);

/* Makes the stack out of what was read and fills the public part. 0: done. -CAIRN_ENOTFOUND:
 * something moved, learn and read again. -CAIRN_EDAMAGED: it does not fit together, read again;
 * when this is the `last` chance, it is torn instead. Or as above. */
int cairn_pykept_settle(struct cairn_pycontext *ctx, struct cairn_pykept *kept, bool last);

/* Whether every read of this tick found the same callee on the same caller at the same call: what
 * lies in moments that do not belong together changes from read to read. To be asked once a read.
 * *ret_again: the tick before ended with this same link in doubt. */
bool cairn_pykept_is_steady(struct cairn_pykept *kept, const struct cairn_pyraw *caller,
                            const struct cairn_pyraw *callee, bool *ret_again);

/* Takes over the walk as the stack, as it is; with TORN it is the part that holds, and `check` says
 * what did not. 0, or as above. */
int cairn_pykept_take(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                      enum cairn_pystack_status status, enum cairn_pycheck check);

/* Gives up for this tick: torn by `check`, or unreadable; what still holds of the last stack
 * stays. 0 or -CAIRN_ENOMEM. */
int cairn_pykept_give_up(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         enum cairn_pystack_status status, enum cairn_pycheck check);

#endif

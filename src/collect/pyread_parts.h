/* pyread_parts.h: the inside of a reader, shared by the files that make it.
 *
 * Threads: one per reader.
 */
#ifndef CAIRN_PYREAD_PARTS_H
#define CAIRN_PYREAD_PARTS_H

#include "map.h"
#include "pynames.h"
#include "pyruntime.h"
#include "pytasks.h"
#include "pythread.h"
#include "pytid.h"
#include "vec.h"

#define CAIRN_PYREAD_THREADS_MAX 65536
#define CAIRN_PYVACANT_MAX 4

struct cairn_pyinterp {
    uint64_t address, head; /* `head`: the first thread when the list was last gone through */
    uint64_t head_now;      /* as just read */
    struct cairn_pynames_places names;

    uint64_t gil;             /* its address; 0: not found (yet) */
    bool gil_seen;            /* what lies there was seen to be one */
    bool gil_known, gc_known; /* the rest is of this tick */
    uint64_t holder;          /* the thread state that holds the GIL; 0: none */
    uint64_t collector;       /* the one that collects garbage; 0: none */
};

struct cairn_pynested { /* a thread state with a stack, where there are several interpreters */
    struct cairn_pykept *kept;
    uint64_t pthread_id, entry; /* `entry`: on the C stack; 0: not known */
    size_t age;                 /* of its interpreter, the newest first */
};

enum cairn_pywatch_what {
    CAIRN_PYWATCH_OUTER,     /* to stand as it was read */
    CAIRN_PYWATCH_INNERMOST, /* to have a stack */
    CAIRN_PYWATCH_OTHER,     /* to have none, as it was read */
};

struct cairn_pywatch { /* a state, and what was looked at of it */
    struct cairn_pykept *kept;
    enum cairn_pywatch_what what;
    const struct cairn_pyraw *leaf; /* OUTER: where it stands; NULL: not known */
    size_t first_part;
    uint64_t interp, current, frame;          /* `frame`: until 3.12, that `current` leads to */
    uint8_t data[CAIRN_PYLAYOUT_FRAME_BYTES]; /* of the leaf */
    bool runs;
};

struct cairn_pynow { /* scratch of pytogether.h */
    CAIRN_VEC(struct cairn_pywatch) watches;
    CAIRN_VEC(struct cairn_remote_part) parts;
    CAIRN_VEC(bool) ok;
    size_t first_head; /* of the parts */
    uint64_t newest;   /* interpreter */
};

struct cairn_pyvacant { /* the places of a thread that is over: pyvacant.h */
    struct cairn_pykept *kept;
    uint64_t since_ns;
};

enum cairn_pyslot_what {
    SLOT_HEAD,   /* of an interpreter's list */
    SLOT_GIL,    /* of an interpreter */
    SLOT_GC,     /* likewise */
    SLOT_HEADER, /* of a thread state */
    SLOT_TID,    /* the kernel's number of the thread, in front of what was copied or behind it */
    SLOT_EXC,    /* the item of the exception that a generator handles */
    SLOT_OTHER,
    SLOT_AFTER,
    SLOT_CURRENT, /* until 3.10: which frame is current, after run `index` */
    SLOT_BLOCKS,  /* until 3.10: a run of them */
    SLOT_CHUNK,   /* + the number of its chain */
};

/* A part of the vectored read, and whose it is. */
struct cairn_pyslot {
    struct cairn_pykept *kept; /* NULL: of an interpreter */
    size_t what;               /* enum cairn_pyslot_what */
    size_t index, place;       /* `place`: in the scratch memory */
};

struct cairn_pyread {
    struct cairn_remote remote;
    struct cairn_pyruntime runtime;
    char version[32];
    struct cairn_pycodes codes;
    struct cairn_pyread_stats stats;
    struct cairn_pycontext ctx;

    CAIRN_VEC(struct cairn_pyinterp) interps;
    CAIRN_VEC(struct cairn_pythread *) threads;
    struct cairn_map by_address; /* thread state -> struct cairn_pykept * */
    uint64_t generation, list_checked_ns;
    uint64_t copied_ns; /* the first round of the last tick */
    uint64_t none;      /* the object None, where that had to be learned */
    bool exc_seen;      /* where threads keep their exceptions is where they do */
    unsigned bad_lists;
    bool list_moved;
    struct cairn_pytids tids;
    void (*died)(void *ctx, struct cairn_pythread *thread);
    void *died_ctx;
    struct cairn_pytasks *tasks; /* NULL: nobody asked for them yet */

    CAIRN_VEC(struct cairn_remote_part) parts;
    CAIRN_VEC(struct cairn_pyslot) slots;
    CAIRN_VEC(bool) ok;
    CAIRN_VEC(struct cairn_pykept *) again; /* to be read in this round */
    CAIRN_VEC(struct cairn_pynested) nested;
    struct cairn_pynow now;
    struct cairn_pyvacant vacant[CAIRN_PYVACANT_MAX]; /* oldest first */
    size_t vacant_count;
    uint64_t first_tid; /* of the thread that the process began with; 0: not asked for yet */
    uint8_t *scratch;
    size_t scratch_cap, scratch_used;
    size_t block_pages; /* of frame objects, in the read that is planned */
};

/* Adds a part to the read that is being planned; its place in `slot` is filled in. 0, or
 * -CAIRN_ENOMEM, -CAIRN_ELIMIT. */
int cairn_pyread_add(struct cairn_pyread *read, struct cairn_pyslot slot, uint64_t address,
                     size_t size_bytes);

/* Finds new and dead threads. When the list cannot be gone through, because it changes meanwhile,
 * all is left as it was, for the next tick. 0, -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pylist_check(struct cairn_pyread *read);

/* Takes what `header` says of the identity of the thread. False: it is another thread, or none. */
bool cairn_pylist_identify(const struct cairn_pylayout *l, struct cairn_pykept *kept,
                           const uint8_t *header, uint64_t interp);

#endif

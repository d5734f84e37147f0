/* pychains.h: what coroutines wait in: from each to what it awaits, down to the innermost frame.
 *
 * The target goes on meanwhile: chains are followed in pages that were copied at about one moment
 * (pypages.h), and a link that was not the same when those were copied again does not hold.
 * Owner: whoever holds the struct. Threads: one at a time.
 */
#ifndef CAIRN_PYCHAINS_H
#define CAIRN_PYCHAINS_H

#include "map.h"
#include "pypages.h"
#include "pyread.h"
#include "vec.h"

#define CAIRN_PYCHAIN_DEPTH_MAX 64
#define CAIRN_PYCHAIN_END UINT32_MAX

enum cairn_pychain_kind {
    CAIRN_PYCHAIN_OTHER = 1, /* a future, say */
    CAIRN_PYCHAIN_FRAMED,    /* a coroutine or generator */
    CAIRN_PYCHAIN_WRAPS,     /* what `await` or `async for` puts around one */
    CAIRN_PYCHAIN_STR,
    CAIRN_PYCHAIN_INT,
    CAIRN_PYCHAIN_SET,
    CAIRN_PYCHAIN_REF,  /* a weak reference */
    CAIRN_PYCHAIN_TASK, /* of `_asyncio`, or of a class made from it */
};

/* One step of a chain. */
struct cairn_pychain_link {
    uint32_t next; /* CAIRN_PYCHAIN_END: the last one */
    uint64_t object, awaits;
    uint64_t frame; /* its address; 0: it has none any more */
    uint64_t code, instr;
    uint64_t top; /* where the stack of its frame ends; 0: it has none now */
    int8_t state;
    enum cairn_pychain_kind kind;
    bool keeps_code; /* it was still of this code when read again */
    bool holds;      /* the same when read again, awaiting the same, and where it can be awaited */
    bool truncated;  /* it awaits more than is followed */
    bool circular;   /* its chain came back to it */
};

struct cairn_pychains {
    struct cairn_map types; /* address of a type to its kind */
    CAIRN_VEC(struct cairn_pychain_link) links;
    size_t max_links;
    struct cairn_pypages *units; /* code is read here, since it lasts; NULL: where all else is */
};

/* At most `chain_count` chains in a round. */
void cairn_pychains_init(struct cairn_pychains *chains, size_t chain_count);
void cairn_pychains_release(struct cairn_pychains *chains);

/* Forgets the chains of the round before. */
void cairn_pychains_clear(struct cairn_pychains *chains);

/* Follows the chain of a coroutine; *ret_link is its first link. 0; -CAIRN_ENOMEM, -CAIRN_ELIMIT,
 * -CAIRN_EGONE, -CAIRN_EPERM. */
int cairn_pychains_follow(struct cairn_pyread *read, struct cairn_pychains *chains,
                          struct cairn_pypages *pages, uint64_t object, uint32_t *ret_link);

/* Tells of every link of a chain whether it holds, when the pages were read again. */
void cairn_pychains_confirm(const struct cairn_pyread *read, struct cairn_pychains *chains,
                            struct cairn_pypages *pages, uint32_t link);

/* False: it is no part of the chain but what that ends in front of: a future, say. */
bool cairn_pychains_goes_on(const struct cairn_pychain_link *link);

/* Whether all of a chain holds. */
bool cairn_pychains_holds(const struct cairn_pychains *chains, uint32_t link);

/* Says of all pages that the chain lies in, code left out, that they will be looked at. 0, or
 * -CAIRN_ENOMEM. */
int cairn_pychains_want(const struct cairn_pyread *read, const struct cairn_pychains *chains,
                        struct cairn_pypages *pages, uint32_t link);

/* Whether a coroutine ran when it was looked at; that it was one was confirmed. */
bool cairn_pychains_runs(const struct cairn_pyread *read, const struct cairn_pychain_link *link);

/* Whether a coroutine has run to its end. */
bool cairn_pychains_is_over(const struct cairn_pyread *read, const struct cairn_pychain_link *link);

/* Whether the coroutine at `object` has not. As for following, or -CAIRN_EUNREADABLE. */
int cairn_pychains_goes(struct cairn_pyread *read, struct cairn_pychains *chains,
                        const struct cairn_pyview *view, uint64_t object, bool *ret_goes);

/* What an object of this type is. As for following. */
int cairn_pychains_kind(struct cairn_pyread *read, struct cairn_pychains *chains, uint64_t type,
                        enum cairn_pychain_kind *ret_kind);

/* The code of a link, also where it moved on in it; NULL: it has none, or it was not loaded. */
struct cairn_pycode_entry *cairn_pychains_code(const struct cairn_pyread *read,
                                               const struct cairn_pychain_link *link);

/* Where the frame of a link stands. False: nowhere that can be. */
bool cairn_pychains_frame(const struct cairn_pyread *read, const struct cairn_pychain_link *link,
                          struct cairn_pyframe *ret_frame);

#endif

/* pystack.h: from a local copy of a thread's memory to its stack, and whether to believe it.
 *
 * Pure: looks only at the copy and at the code cache. The target went on while the copy was made,
 * so every link is judged: a stack is believed when each frame is where its caller's frame ends,
 * each caller stands at an instruction that can have called, and the chain ends where chains end.
 * Threads: no shared state.
 */
#ifndef CAIRN_PYSTACK_H
#define CAIRN_PYSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pycode.h"
#include "pylayout.h"
#include "vec.h"

#define CAIRN_PYSTACK_OWNER_GENERATOR 1
#define CAIRN_PYSTACK_LEAD_BYTES 16        /* copied in front of a generator's frame: its state */
#define CAIRN_PYSTACK_TAG_BITS UINT64_C(7) /* 3.14 on: low bits of a reference */

/* Why a stack was refused; the number indexes cairn_pyread_stats.refused. */
enum cairn_pycheck {
    CAIRN_PYCHECK_MOVED,     /* after all reads some frame still lay outside what was read */
    CAIRN_PYCHECK_ALIGN,     /* an address that cannot be one of a frame */
    CAIRN_PYCHECK_OWNER,     /* a frame's owner does not fit the place it lies in */
    CAIRN_PYCHECK_HOPS,      /* the chain does not end */
    CAIRN_PYCHECK_ROOT,      /* the chain ends where none ends */
    CAIRN_PYCHECK_CODE,      /* its code is not a code object */
    CAIRN_PYCHECK_INSTR,     /* its instruction lies outside its code */
    CAIRN_PYCHECK_CALLER,    /* the caller stands at an instruction that cannot have called */
    CAIRN_PYCHECK_STACKTOP,  /* the caller is not suspended in a call */
    CAIRN_PYCHECK_BUMP,      /* the frame does not start where its caller's frame ends */
    CAIRN_PYCHECK_GENERATOR, /* a generator's frame, and it does not run */
    CAIRN_PYCHECK_YIELDED,   /* the same, and all else holds: it ran a moment before */
    CAIRN_PYCHECK_UNBORN,    /* a frame that is still being set up, or what is left of one */
    CAIRN_PYCHECK_RESUMER,   /* what resumed the generator does not hold it where it always did */
    CAIRN_PYCHECK_AFTER,     /* what resumed the generator was not looked at again, or was gone */
    CAIRN_PYCHECK_ENTRY,     /* an entry frame that does not stand where those of its thread do */
    CAIRN_PYCHECK_COUNT
};

const char *cairn_pycheck_name(size_t check); /* NULL past the last */

/* A piece of the target's memory, copied. */
struct cairn_pypiece {
    uint64_t address;
    size_t size_bytes;
    const uint8_t *data;
};

/* The first of `pieces`, whose starts and ends ascend, that ends behind `address`. */
size_t cairn_pypieces_find(const struct cairn_pypiece *pieces, size_t count, uint64_t address);

/* A chunk of the data stack, of which the first part was copied. */
struct cairn_pychunk {
    uint64_t address;
    uint64_t size_bytes; /* of the chunk in the target */
    uint64_t used_bytes; /* as far as is known: what the next read asks for */
    struct cairn_pypiece piece;
};

/* The instruction that the interpreter's own entry frames stand at, from 3.12 on: one and the same
 * for all of a thread, or one of the few behind it. What else lies where one lay, on the C stack,
 * stands elsewhere. */
struct cairn_pyentries { /* all 0: none was seen */
    uint64_t instr;      /* what most of those that were seen said */
    uint32_t lead;       /* by how many */
};

/* What was copied of one thread. */
struct cairn_pyimage {
    const struct cairn_pylayout *layout;
    const struct cairn_pytable *table;
    uint64_t current_frame, base_frame; /* base_frame: 0 before 3.15 */
    bool cut;                           /* the walk stopped before the root */
    const struct cairn_pychunk *chunks; /* outermost first */
    size_t chunk_count;
    uint64_t chunk_top; /* where the next frame would lie, as the header said; 0: not known */
    const struct cairn_pypiece *others; /* frames elsewhere: generators, the C stack; ascending */
    size_t other_count;
    const struct cairn_pypiece
        *after; /* what resumed generators, or was called by one, copied again */
    size_t after_count;
    struct cairn_pyentries *entries; /* NULL: not asked */
    bool *used; /* NULL, or one for each of `others`: set when it was looked at */
};

/* A frame as it stood in the copy. */
struct cairn_pyraw {
    uint64_t address, code, instr, previous;
    int32_t stacktop; /* slots in use while it is suspended; from 3.14 on stale while it runs */
    int32_t chunk; /* index of the chunk it lies in; negative: elsewhere, in others[-1 - chunk] */
    bool entered;  /* by a call from C */
    bool generator;
    int8_t state;                           /* of the generator */
    uint32_t published;                     /* how many frames up to and with this one are shown */
    const struct cairn_pycode_entry *entry; /* what its code was taken for; NULL: not known */
};

/* Whether two frames say the same of where they stand and what they run. */
static inline bool cairn_pyraw_same(const struct cairn_pyraw *a, const struct cairn_pyraw *b)
{
    return a->address == b->address && a->code == b->code && a->previous == b->previous &&
           a->instr == b->instr && a->entered == b->entered;
}

/* Whether a frame of a walk stands as `before` did, and runs what that did, as far as it was asked
 * (until 3.10): other code can have come to lie at the same address. */
static inline bool cairn_pyraw_stays(const struct cairn_pyraw *before,
                                     const struct cairn_pyraw *now)
{
    return cairn_pyraw_same(before, now) && (!now->entry || now->entry == before->entry);
}

CAIRN_VEC_DECLARE(cairn_pyraws, struct cairn_pyraw);

/* Follows the chain from the current frame to its end, innermost frame first, into `raws`, which
 * has room for `max_frames`. 0: the chain ended as chains end. -CAIRN_ENOTFOUND: *ret_missing is
 * not in the copy, frames so far are kept. -CAIRN_ELIMIT: more than `max_frames`.
 * -CAIRN_EDAMAGED: *ret_check says why. */
int cairn_pystack_walk(const struct cairn_pyimage *image, struct cairn_pyraws *raws,
                       size_t max_frames, uint64_t *ret_missing, enum cairn_pycheck *ret_check);

/* Judges frame `index` of `raws` (outermost first) and its link to the one before it, which, if it
 * had returned when it was copied, is put back to where it called. 0, or -CAIRN_EDAMAGED with the
 * check. Its code is in the cache, or it is not a code object. */
int cairn_pystack_judge(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                        struct cairn_pyraw *raws, size_t index, bool innermost,
                        enum cairn_pycheck *ret_check);

/* What was refused as RESUMER or STACKTOP was so in every read of a tick: when that has
 * been often enough, it is right at this call of `caller`. 0 or -CAIRN_ENOMEM. */
int cairn_pystack_believe(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                          const struct cairn_pyraw *caller, enum cairn_pycheck check,
                          uint64_t now_ns);

/* Whether the frame may have a callee that the interpreter runs without a C call. Until 3.13 a
 * frame says whether it has; later it stands at a call, which may be one of C. *ret_resumes: it can
 * only be a generator. */
bool cairn_pystack_calls(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pyraw *raw, bool *ret_resumes);

/* False: the frame has returned, or does so just now. */
bool cairn_pystack_lives(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pyraw *raw);

/* Whether the frame itself tells when it waits for one that it called without C, or has returned:
 * from 3.11 to 3.13. */
bool cairn_pystack_tells(const struct cairn_pylayout *layout);

/* Whether frame `index` of `raws` (outermost first), with nothing on top of it, is still being
 * made, and bears the caller of the one that lay there before: what C called, and on 3.13 what a
 * generator seems to have. So it looks, too, while a tool in C is told that it begins. */
bool cairn_pystack_is_unborn(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                             const struct cairn_pyraw *raws, size_t index);

/* Counts what C called, of the frames from index `from` on of a stack (outermost first) that was
 * walked from the current frame and holds: not of one that was put together by these counts. 0 or
 * -CAIRN_ENOMEM. */
int cairn_pystack_note_entered(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                               const struct cairn_pyraws *raws, size_t from);

/* Whether C calls `callee` on behalf of `caller`, as was counted again and again. */
bool cairn_pystack_enters(const struct cairn_pycodes *codes,
                          const struct cairn_pycode_entry *caller,
                          const struct cairn_pycode_entry *callee);

/* The copy of `size_bytes` at `address`, or NULL. *ret_chunk, as in struct cairn_pyraw, says where
 * to look first and then where it was; for NULL it is not negative when a chunk is the place. */
const uint8_t *cairn_pyimage_at(const struct cairn_pyimage *image, uint64_t address,
                                size_t size_bytes, int32_t *ret_chunk);

/* Whether the address lies in one of the chunks. */
bool cairn_pyimage_has_chunk(const struct cairn_pyimage *image, uint64_t address);

/* Where the first frame of the first chunk lies: a word of it is left out. */
static inline uint64_t cairn_pyimage_first(const struct cairn_pyimage *image)
{
    return image->chunks[0].address + image->layout->chunk_data + 8;
}

/* What the copy `data` of a frame at `address`, frame_size of the layout, says of it; the chunk and
 * what a generator's frame says besides are left at 0. */
void cairn_pystack_decode(const struct cairn_pylayout *layout, uint64_t address,
                          const uint8_t *data, struct cairn_pyraw *ret_raw);

/* One frame from the copy. 0, -CAIRN_ENOTFOUND, or -CAIRN_EDAMAGED with the check.
 * *ret_entry: it is the interpreter's own entry frame, no Python frame. */
int cairn_pystack_frame(const struct cairn_pyimage *image, uint64_t address,
                        struct cairn_pyraw *ret_raw, bool *ret_entry,
                        enum cairn_pycheck *ret_check);

/* Offset of the instruction that the frame stands at: bytes, -1 before the first. False: outside
 * of the code. */
bool cairn_pystack_offset(const struct cairn_pyimage *image, const struct cairn_pycode_entry *entry,
                          uint64_t instr, int32_t *ret_offset);

#endif

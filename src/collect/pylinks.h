/* pylinks.h: who calls whom, and from where, where frames are objects on the heap (3.8 to 3.10).
 *
 * A caller is copied after its callee, and the call may be over by then. So a link is taken as the
 * copies show it only where it can be so; else the place of the call comes from the bytecode, which
 * calls most functions by their name, or from the links that were seen before.
 * Threads: one.
 */
#ifndef CAIRN_PYLINKS_H
#define CAIRN_PYLINKS_H

#include "pythread.h"

/* Judges the link between two neighbours of the walk, whose codes are known, and sets the caller's
 * place to that of the call. 0; -CAIRN_EDAMAGED: it cannot be told (*ret_check: why); or
 * -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pylinks_judge(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                        struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                        enum cairn_pycheck *ret_check);

/* Whether the caller can be who resumed a generator that was over when it was copied, now that it
 * is known where that stood at the moment of the stack: the code of a `with` is resumed by another
 * function before its body than behind it. */
bool cairn_pylinks_may_resume(const struct cairn_pycontext *ctx, const struct cairn_pyraw *caller,
                              const struct cairn_pyraw *callee);

/* Whether a hook of the program's (sys.settrace) is called from anywhere, also before its frame
 * runs. */
bool cairn_pylinks_is_hooked(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept);

/* Puts a caller, which may have gone on, to where it was seen to call such a callee, more than once
 * and not hardly ever. 1: so it is; 0: it was not seen to, or is a generator that others resume
 * there; or -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pylinks_place(struct cairn_pycontext *ctx, struct cairn_pyraw *caller,
                        const struct cairn_pyraw *callee);

/* Brings near what will be asked of the frames of the walk, but for the `same` outermost. */
void cairn_pylinks_prefetch(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                            size_t same);

/* Notes whose the frames of the walk are, but for the `same` outermost. 0 or -CAIRN_ENOMEM. */
int cairn_pylinks_note_owners(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                              size_t same);

/* Who resumed the generator at this address when it was last seen to run; 0: not known. */
uint64_t cairn_pylinks_resumer(const struct cairn_pykept *kept, uint64_t generator);

#endif

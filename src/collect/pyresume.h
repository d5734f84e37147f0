/* pyresume.h: whether a generator was resumed by the frame that it seems to hang on.
 *
 * Frames of generators lie apart from the data stack, so they are copied at another moment than the
 * frame that resumed them. That frame tells which generator it resumed: it holds it on its own
 * stack, on top where the interpreter resumes it, else as an argument of what it calls C with, in
 * the same slot every time. And it is copied a second time, after the generators: if it is there no
 * more, they may hang on another. Coroutines and asynchronous generators are generators here.
 * Pure but for the notes on each call in the code cache; threads: as the code cache.
 */
#ifndef CAIRN_PYRESUME_H
#define CAIRN_PYRESUME_H

#include "pystack.h"

/* 0, or -CAIRN_EDAMAGED with RESUMER or AFTER, or -CAIRN_ENOMEM. */
int cairn_pyresume_judge(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                         const struct cairn_pyraw *resumer, const struct cairn_pyraw *generator,
                         enum cairn_pycheck *ret_check);

/* Whether a frame that C called from a generator is the same where it was copied again after that;
 * true where it was not. */
bool cairn_pyresume_stays(const struct cairn_pyimage *image, const struct cairn_pyraw *callee);

/* Whether it runs the same there, but names another caller: while a frame is made, it still bears
 * the caller of the one that lay there before it. False from 3.12 on: what C called names a place
 * on the C stack, which is another each time. */
bool cairn_pyresume_is_relinked(const struct cairn_pyimage *image,
                                const struct cairn_pyraw *callee);

/* Whether a generator's call of what lies on the data stack need not be doubted. The generator is
 * copied after that, and may have gone on by then, or be another in its memory: so `caller` must
 * have been seen to call `callee` between two copies of that. True for all other calls. */
bool cairn_pyresume_is_known(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                             const struct cairn_pyraw *caller, const struct cairn_pyraw *callee);

/* The same in these copies, or it has seemed so again and again; keeps what it saw. `innermost`:
 * nothing lies on top of `callee`. 0, or -CAIRN_EDAMAGED with AFTER, or -CAIRN_ENOMEM. */
int cairn_pyresume_judge_callee(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                                const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                                bool innermost, enum cairn_pycheck *ret_check);

/* `leaf` was seen to run, with nothing on top of it. 0 or -CAIRN_ENOMEM. */
int cairn_pyresume_rests(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                         const struct cairn_pyraw *leaf);

/* Where `resumer` stands, nothing needs to be held: C holds the generator. 0 or -CAIRN_ENOMEM. */
int cairn_pyresume_believe(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                           const struct cairn_pyraw *resumer);

/* The frame of the generator that `resumer`, which is suspended, resumed without a call of C, and
 * that runs. False: none that was copied, or it has yielded or returned: what is left to be done
 * then is its caller's, as CPython has it. */
bool cairn_pyresume_next(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                         const struct cairn_pyraw *resumer, struct cairn_pyraw *ret_raw);

/* Whether the generator lies on the stack of `resumer` itself. */
bool cairn_pyresume_holds(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                          const struct cairn_pyraw *resumer, const struct cairn_pyraw *generator);

/* The generator that waits for `generator` (`yield from`, `await`), of known code, among those that
 * were copied: it runs no less than that one. False: none was copied. */
bool cairn_pyresume_holder(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                           const struct cairn_pyraw *generator, struct cairn_pyraw *ret_raw);

#endif

/* model_rewrite.h: other texts in the place of those that a recording holds, for readers who are
 * not to have them. What they told when they were read (whose code it is) stays as it was found.
 */
#ifndef CAIRN_MODEL_REWRITE_H
#define CAIRN_MODEL_REWRITE_H

#include "buf.h"
#include "model.h"

enum cairn_told_kind {
    CAIRN_TOLD_NAME, /* of a function, a thread, a task */
    CAIRN_TOLD_PROCESS,
    CAIRN_TOLD_TEXT, /* that rows name: what was waited for ("read /etc/passwd"), what a mark says
                      */
    CAIRN_TOLD_PATH, /* of a file of Python */
    CAIRN_TOLD_COMMAND,
    CAIRN_TOLD_SETTING,
};

struct cairn_told {
    enum cairn_told_kind kind;
    struct cairn_span key; /* of a setting: cairn_model_env() */
    struct cairn_span text;
};

/* Appends to `out`, which is empty, what stands in the place of `told->text`. */
typedef void cairn_rewrite_fn(const void *ctx, const struct cairn_told *told,
                              struct cairn_buf *out);

/* Rewrites every text of `model`, which is no view. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT; after a
 * failure some are as they were. Spans that were had before stay valid, and say what they said. */
int cairn_model_rewrite(struct cairn_model *model, cairn_rewrite_fn *rewrite, const void *ctx);

#endif

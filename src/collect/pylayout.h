/* pylayout.h: where CPython keeps what the reader looks at, by version.
 *
 * A layout is believed as a whole: every offset lies inside its structure and is aligned, every
 * structure fits the reader's buffers. So code that has a layout needs no further check of it.
 * 3.13 on the target itself says most of it (_Py_DebugOffsets); what it does not say comes from
 * the table of its minor version, structure by structure, as long as the two agree.
 * Threads: nothing here changes after cairn_pylayout_*() returned.
 */
#ifndef CAIRN_PYLAYOUT_H
#define CAIRN_PYLAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

struct cairn_err;

#define CAIRN_PYLAYOUT_NONE UINT32_MAX

/* Upper limits of what is read in one piece into a local buffer. */
#define CAIRN_PYLAYOUT_THREAD_BYTES 1024
#define CAIRN_PYLAYOUT_FRAME_BYTES 160
#define CAIRN_PYLAYOUT_CODE_BYTES 512
#define CAIRN_PYLAYOUT_OBJECT_BYTES 128
#define CAIRN_PYLAYOUT_TYPE_BYTES 1024
#define CAIRN_PYLAYOUT_TOLD_BYTES 2048

/* Offsets in bytes; see pylayout.def. */
struct cairn_pylayout {
#define X(group, field, width) uint32_t field;
#include "pylayout.def"
#undef X
};

/* One byte an opcode: how many code units of cache follow it, and … */
#define CAIRN_PYOP_CACHES 0x0f
#define CAIRN_PYOP_CALL 0x01    /* until 3.10, which has no caches: a call in so many words */
#define CAIRN_PYOP_OVER 0x10    /* until 3.10: jumps over as much as its argument says */
#define CAIRN_PYOP_TO 0x20      /* until 3.10: jumps to where its argument says */
#define CAIRN_PYOP_RESUMES 0x20 /* it can hand over to a generator without a call of C */
#define CAIRN_PYOP_MASK 0x40    /* hides another instruction: nothing is known of what follows */
#define CAIRN_PYOP_CALLER 0x80  /* a frame can stand here while one that it called runs */

/* What the headers of a minor version say. */
struct cairn_pytable {
    int minor;
    int executing;                        /* state of a generator whose frame runs … */
    int suspended;                        /* … or which yielded: from this one up to that */
    int kind_bit, compact_bit, ascii_bit; /* in the state word of a str */
    uint32_t told_size; /* of _Py_DebugOffsets, and where in it … ; 0 before 3.13 */
    uint32_t told_free_threaded;
    const struct cairn_pylayout *layout;
    const struct cairn_pylayout *told; /* where in _Py_DebugOffsets each offset stands, or NULL */
    const uint8_t *opcodes;            /* 256 of the above */
};

extern const struct cairn_pytable cairn_pytables[];
extern const size_t cairn_pytable_count;

/* NULL when there is none. */
const struct cairn_pytable *cairn_pytable_find(int minor);

/* Copies the table's layout, verified. 0 or -CAIRN_EUNSUPPORTED. */
int cairn_pylayout_from_table(const struct cairn_pytable *table, struct cairn_pylayout *ret_layout,
                              struct cairn_err *err);

/* What the target tells, and where the table says that it is told: the first bytes of its runtime.
 * What it does not tell is the table's, where the two agree. 0 or -CAIRN_EUNSUPPORTED. */
int cairn_pylayout_told(struct cairn_span runtime, uint32_t hexversion,
                        const struct cairn_pytable *table, struct cairn_pylayout *ret_layout,
                        struct cairn_err *err);

/* Takes the first bytes of the runtime, which start with the cookie. *ret_hexversion is filled as
 * soon as the cookie holds, also when the answer is -CAIRN_EUNSUPPORTED (unknown minor, debug or
 * free-threaded build, an offset that cannot be). -CAIRN_ENOTPYTHON: no cookie. */
int cairn_pylayout_from_target(struct cairn_span runtime, uint32_t *ret_hexversion,
                               const struct cairn_pytable **ret_table,
                               struct cairn_pylayout *ret_layout, struct cairn_err *err);

/* "3.13.0", "3.15.0rc2" of a PY_VERSION_HEX. */
void cairn_pylayout_version_text(uint32_t hexversion, char ret_text[32]);

static inline bool cairn_pylayout_has(uint32_t offset)
{
    return offset != CAIRN_PYLAYOUT_NONE;
}

#endif

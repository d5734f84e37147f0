/* pystr.h: strings and bytes of the target, in two vectored reads for many at once.
 *
 * Threads: one.
 */
#ifndef CAIRN_PYSTR_H
#define CAIRN_PYSTR_H

#include <stdbool.h>

#include "buf.h"
#include "pylayout.h"
#include "remote.h"

#define CAIRN_PYSTR_MAX_BYTES 4096                    /* of a str, as it lies in the target */
#define CAIRN_PYSTR_CUT_BYTES 16384                   /* of one that may be cut: no more is read */
#define CAIRN_PYSTR_BYTES_MAX_BYTES ((size_t)1 << 20) /* of a bytes object, or raw memory */

enum cairn_pystr_kind {
    CAIRN_PYSTR_STR,
    CAIRN_PYSTR_CUT, /* a str of which the beginning will do, with "…" behind it */
    CAIRN_PYSTR_BYTES,
    CAIRN_PYSTR_RAW,
};

struct cairn_pystr {
    enum cairn_pystr_kind kind;
    uint64_t address;
    size_t raw_bytes; /* for CAIRN_PYSTR_RAW, set by the caller */
    /* Results. */
    bool ok;                /* could be read, and is no larger than allowed */
    struct cairn_span text; /* in the buffer: UTF-8 for a str; valid until that changes */
    /* Own. */
    uint8_t head[64];
    uint64_t data, size_bytes;
    uint64_t whole_bytes; /* of a long str; 0: a usual one */
    size_t place;
    uint8_t char_bytes;
};

/* Reads all of them; what cannot be read is not ok. `buf` is cleared first and holds the bytes.
 * 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pystr_read(struct cairn_remote *remote, const struct cairn_pylayout *layout,
                     const struct cairn_pytable *table, struct cairn_pystr *strs, size_t count,
                     struct cairn_buf *buf);

/* The text of a str of which `copy` is one, or the beginning of one: *ret_text lies in it. False:
 * it is no str, not all of it is there, or it is not ASCII. */
bool cairn_pystr_in(const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                    const uint8_t *copy, size_t copy_bytes, struct cairn_span *ret_text);

/* Whether a str of which `copy` is the beginning is in the table of those that are there once only:
 * names are. */
bool cairn_pystr_is_interned(const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                             const uint8_t *copy);

/* Reads parts, each as far as it goes: ok[i] says whether part i came whole. 0, -CAIRN_EGONE or
 * -CAIRN_EPERM; memory that is not there is no failure. */
int cairn_pystr_read_each(struct cairn_remote *remote, const struct cairn_remote_part *parts,
                          size_t count, bool *ok);

#endif

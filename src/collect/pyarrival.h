/* pyarrival.h: a code object on its way from the target into an entry (pycode.h): its fixed part as
 * it was copied, and whether that is one.
 *
 * Threads: one.
 */
#ifndef CAIRN_PYARRIVAL_H
#define CAIRN_PYARRIVAL_H

#include <string.h>

#include "pycode.h"
#include "pystr.h"

struct cairn_pyarrival {
    uint64_t address;
    uint8_t bytes[CAIRN_PYLAYOUT_CODE_BYTES]; /* the fixed part */
    bool ok;
    bool gone;                  /* it was there a moment ago */
    struct cairn_pystr strs[5]; /* by CAIRN_PYPART_; the last one is the instructions */
};

/* What stands in the fixed part. */
static inline uint64_t cairn_pyarrival_u64(const struct cairn_pyarrival *from, uint32_t place)
{
    uint64_t value;

    memcpy(&value, from->bytes + place, sizeof(value));
    return value;
}

static inline uint32_t cairn_pyarrival_u32(const struct cairn_pyarrival *from, uint32_t place)
{
    uint32_t value;

    memcpy(&value, from->bytes + place, sizeof(value));
    return value;
}

/* How many bytes of a code object are its fixed part. */
uint32_t cairn_pyarrival_bytes(const struct cairn_pylayout *layout);

/* Whether it is an object that somebody holds, not what is left of one; the same of any object of
 * which `copy` is the beginning. */
bool cairn_pyarrival_is_counted(const struct cairn_pylayout *layout,
                                const struct cairn_pyarrival *from);
bool cairn_pyarrival_counts(const struct cairn_pylayout *layout, const uint8_t *copy);

/* Whether `type` is the type of code objects. */
bool cairn_pyarrival_is_code_type(struct cairn_pycodes *codes, uint64_t type);

/* What tells code objects apart, by CAIRN_PYPART_. */
void cairn_pyarrival_fingerprint(const struct cairn_pylayout *layout,
                                 const struct cairn_pyarrival *from,
                                 uint64_t ret_parts[CAIRN_PYCODE_PARTS]);
bool cairn_pyarrival_is_same(const struct cairn_pylayout *layout, const struct cairn_pyarrival *a,
                             const struct cairn_pyarrival *b);

/* Keeps a text that was read for as long as the cache lives. 0 or -CAIRN_ENOMEM. */
int cairn_pyarrival_intern(struct cairn_pycodes *codes, const struct cairn_pystr *str,
                           struct cairn_span *ret);

/* Where the instructions lie and how large a frame is, as the fixed part says it. */
void cairn_pyarrival_extent(const struct cairn_pylayout *layout, const struct cairn_pyarrival *from,
                            struct cairn_pycode_entry *entry);

/* The same, and what the instructions themselves say, where they were read. 0 or -CAIRN_ENOMEM. */
int cairn_pyarrival_instructions(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                                 struct cairn_pycode_entry *entry);

#endif

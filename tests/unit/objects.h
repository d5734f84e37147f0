/* objects.h: the memory of a Python program, made object by object, for tests of those who read it.
 *
 * Owner: whoever holds the struct. Threads: one.
 */
#ifndef CAIRN_TEST_OBJECTS_H
#define CAIRN_TEST_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "pylayout.h"
#include "remote.h"

#define OBJECTS_BASE UINT64_C(0x200000)
#define OBJECTS_BYTES UINT64_C(65536)

struct objects {
    uint8_t memory[OBJECTS_BYTES]; /* what stands from OBJECTS_BASE on */
    uint64_t used;
    const struct cairn_pylayout *layout; /* the caller's */
};

void objects_init(struct objects *objects, const struct cairn_pylayout *layout);

/* As `read` of struct cairn_remote; `ctx` is the struct. */
int objects_read(void *ctx, const struct cairn_remote_part *parts, size_t count, size_t *ret_parts);

void objects_put(struct objects *objects, uint64_t address, uint64_t value);

/* The address of a new object, all zero but for its type. */
uint64_t objects_make(struct objects *objects, uint64_t size_bytes, uint64_t type);
uint64_t objects_make_type(struct objects *objects, const char *name);

#endif

/* elfspan.h: bytes in memory as the file that the readers of ELF files read. */
#ifndef CAIRN_TEST_ELFSPAN_H
#define CAIRN_TEST_ELFSPAN_H

#include <string.h>

#include "cursor.h"
#include "err.h"

/* `ctx`: a struct cairn_span. 0 or -CAIRN_ESHORT. */
static inline int elfspan_read(void *ctx, uint64_t offset, void *data, size_t size_bytes)
{
    const struct cairn_span *span = ctx;

    if (offset > span->size_bytes || size_bytes > span->size_bytes - offset)
        return -CAIRN_ESHORT;
    memcpy(data, span->data + offset, size_bytes);
    return 0;
}

#endif

#include "alloc.h"

#include <errno.h>
#include <stdlib.h>

static long left = -1; /* requests served until the one that fails; negative: none will */
static bool has_failed;

static bool must_fail(void)
{
    if (left < 0)
        return false;
    if (left-- > 0)
        return false;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

void *cairn_malloc(size_t size_bytes)
{
    return must_fail() ? NULL : malloc(size_bytes);
}

void *cairn_calloc(size_t count, size_t item_bytes)
{
    return must_fail() ? NULL : calloc(count, item_bytes);
}

void *cairn_realloc(void *old, size_t size_bytes)
{
    return must_fail() ? NULL : realloc(old, size_bytes);
}

void cairn_alloc_fail_after(long count)
{
    left = count;
    has_failed = false;
}

bool cairn_alloc_has_failed(void)
{
    return has_failed;
}

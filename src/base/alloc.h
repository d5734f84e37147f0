/* alloc.h: the one place where Cairn asks for memory, so that a test can make any request fail.
 *
 * Owner: the caller; plain free() gives the memory back. All return NULL when memory is short, and
 * errno is then ENOMEM.
 * Threads: any, except that only one may run while a test has a failure pending.
 */
#ifndef CAIRN_ALLOC_H
#define CAIRN_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void *cairn_malloc(size_t size_bytes) __attribute__((malloc, warn_unused_result));
void *cairn_calloc(size_t count, size_t item_bytes) __attribute__((malloc, warn_unused_result));

/* On failure the old memory is left as it is, as with realloc(3). `size_bytes` is at least 1. */
void *cairn_realloc(void *old, size_t size_bytes) __attribute__((warn_unused_result));

/* For tests: the next `count` requests are served, the one behind them fails, once. A negative
 * number, the default, means that none is made to fail. Also forgets what
 * cairn_alloc_has_failed() knew. */
void cairn_alloc_fail_after(long count);

/* For tests: whether the failure asked for has happened. A loop over all N ends, and has proven
 * something, when this turns false. */
bool cairn_alloc_has_failed(void);

#endif

/* handle.h: short names for functions and stacks that stay the same: "f-" and "s-", 16 hexadecimal
 * digits.
 *
 * They are made of content (XXH3 of kind, qualified name, file and first line; of all frames from
 * the root inwards), so a handle means the same in every query, filter and recording, and whoever
 * shows one can be asked about it elsewhere. Pure functions.
 */
#ifndef CAIRN_HANDLE_H
#define CAIRN_HANDLE_H

#include <stdbool.h>

#include "model.h"

#define CAIRN_HANDLE_CHARS 18

enum cairn_handle_kind { CAIRN_HANDLE_FUNCTION = 'f', CAIRN_HANDLE_STACK = 's' };

uint64_t cairn_handle_function(const struct cairn_function *function);

/* Of a stack: `parent` is that of its caller's, 0 for none; `line` 0 where lines are one. */
uint64_t cairn_handle_stack(uint64_t parent, const struct cairn_function *function, uint32_t line);

/* "f-0123456789abcdef", and back: false for what is no handle of that kind. */
void cairn_handle_text(enum cairn_handle_kind kind, uint64_t handle,
                       char ret_text[CAIRN_HANDLE_CHARS + 1]);
bool cairn_handle_read(enum cairn_handle_kind kind, const char *text, uint64_t *ret_handle);

#endif

#include "handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* What is hashed is the same on every machine: numbers as text, lengths in front. */
static uint64_t add_text(uint64_t seed, struct cairn_span text)
{
    return XXH3_64bits_withSeed(text.data ? text.data : (const uint8_t *)"", text.size_bytes, seed);
}

static uint64_t add_numbers(uint64_t seed, uint64_t a, uint64_t b)
{
    char text[64];
    int length =
        snprintf(text, sizeof(text), "%llx %llx", (unsigned long long)a, (unsigned long long)b);

    return XXH3_64bits_withSeed(text, (size_t)length, seed);
}

uint64_t cairn_handle_function(const struct cairn_function *function)
{
    uint64_t hash = add_numbers(0, function->kind, function->first_line);

    hash = add_text(hash, function->qualname);
    hash = add_text(hash, function->file);
    /* Native code has no file: the same symbol of two libraries is two functions. */
    return function->kind == CAIRN_FUNCTION_PYTHON ? hash : add_text(hash, function->module);
}

uint64_t cairn_handle_stack(uint64_t parent, const struct cairn_function *function, uint32_t line)
{
    return add_numbers(parent, cairn_handle_function(function), line);
}

void cairn_handle_text(enum cairn_handle_kind kind, uint64_t handle,
                       char ret_text[CAIRN_HANDLE_CHARS + 1])
{
    snprintf(ret_text, CAIRN_HANDLE_CHARS + 1, "%c-%016llx", (char)kind,
             (unsigned long long)handle);
}

bool cairn_handle_read(enum cairn_handle_kind kind, const char *text, uint64_t *ret_handle)
{
    if (strlen(text) != CAIRN_HANDLE_CHARS || text[0] != (char)kind || text[1] != '-' ||
        strspn(text + 2, "0123456789abcdef") != CAIRN_HANDLE_CHARS - 2)
        return false;
    *ret_handle = strtoull(text + 2, NULL, 16);
    return true;
}

#include "entry.h"

#include <string.h>

/* By module and name: 3.8 to 3.10 record no qualname. Only what no parent ever runs itself. What
 * builds on multiprocessing (concurrent.futures, loky, torch) begins there as well. */
static const struct {
    const char *module, *name;
} entries[] = {
    {"multiprocessing.process", "_bootstrap"},
    {"billiard.process", "_bootstrap"},
    {"gunicorn.workers.base", "init_process"},
};

static bool is_text(struct cairn_span text, const char *other)
{
    size_t size_bytes = strlen(other);

    return text.size_bytes == size_bytes && !memcmp(text.data, other, size_bytes);
}

bool cairn_function_is_entry(const struct cairn_function *function)
{
    if (function->kind != CAIRN_FUNCTION_PYTHON || function->origin == CAIRN_ORIGIN_USER)
        return false;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (is_text(function->name, entries[i].name) &&
            is_text(function->module, entries[i].module))
            return true;
    return false;
}

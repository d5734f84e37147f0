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

/* Whether a file's path ends like that of the module, of which the dots are folders: what lies in
 * no folder of libraries (vendored, unpacked from an archive, a checkout) is known by its path
 * alone. */
static bool is_path_of(struct cairn_span file, const char *module)
{
    size_t module_bytes = strlen(module), tail_bytes = strlen(".py");
    const uint8_t *at;

    if (file.size_bytes <= module_bytes + tail_bytes ||
        memcmp(file.data + file.size_bytes - tail_bytes, ".py", tail_bytes) != 0)
        return false;
    at = file.data + file.size_bytes - tail_bytes - module_bytes;
    for (size_t i = 0; i < module_bytes; i++)
        if (at[i] != (module[i] == '.' ? '/' : module[i]))
            return false;
    return at[-1] == '/';
}

bool cairn_function_is_entry(const struct cairn_function *function)
{
    if (function->kind != CAIRN_FUNCTION_PYTHON)
        return false;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (is_text(function->name, entries[i].name) &&
            (function->origin == CAIRN_ORIGIN_USER ? is_path_of(function->file, entries[i].module)
                                                   : is_text(function->module, entries[i].module)))
            return true;
    return false;
}

#include "pynames.h"

#include <string.h>

#include "err.h"
#include "pyattributes.h"
#include "pystr.h"

#define DIGIT_BITS 30
#define DIGITS_MAX 3

static int get_u64(const struct cairn_pysource *src, uint64_t address, uint64_t *ret)
{
    return cairn_remote_get(src->remote, address, ret, sizeof(*ret));
}

/* A non-negative integer object. */
static int get_int(const struct cairn_pysource *src, uint64_t address, uint64_t *ret)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint32_t digits[DIGITS_MAX];
    uint64_t count, value = 0;

    CAIRN_TRY(get_u64(src, address + l->long_tag, &count));
    if (src->runtime->table->minor >= 12)
        count >>= 3;
    if (count > DIGITS_MAX)
        return -CAIRN_EDAMAGED;
    if (count)
        CAIRN_TRY(cairn_remote_get(src->remote, address + l->long_digits, digits, count * 4));
    while (count-- > 0)
        value = value << DIGIT_BITS | digits[count];
    *ret = value;
    return 0;
}

static int find_active(const struct cairn_pysource *src, uint64_t interp, struct cairn_pydict *dict,
                       uint64_t *ret_active)
{
    CAIRN_TRY(cairn_pyattributes_of_module(src, interp, "threading", dict));
    return cairn_pydict_find(src, dict, "_active", ret_active);
}

/* One Thread object. */
static int tell_name(const struct cairn_pysource *src, uint64_t object, struct cairn_pydict *dict,
                     void (*named)(void *ctx, uint64_t pthread_id, struct cairn_span name),
                     void *ctx)
{
    struct cairn_pystr str = {.kind = CAIRN_PYSTR_STR};
    struct cairn_buf buf;
    uint64_t ident, number;
    int code;

    CAIRN_TRY(cairn_pyattributes_of(src, object, dict));
    CAIRN_TRY(cairn_pydict_find(src, dict, "_name", &str.address));
    CAIRN_TRY(cairn_pydict_find(src, dict, "_ident", &ident));
    CAIRN_TRY(get_int(src, ident, &number));
    cairn_buf_init(&buf, 16 * CAIRN_PYSTR_MAX_BYTES);
    code = cairn_pystr_read(src->remote, &src->runtime->layout, src->runtime->table, &str, 1, &buf);
    if (code == 0 && !str.ok)
        code = -CAIRN_ENOTFOUND;
    if (code == 0)
        named(ctx, number, str.text);
    cairn_buf_release(&buf);
    return code;
}

static bool is_final(int code)
{
    return code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM;
}

int cairn_pynames_read(const struct cairn_pysource *src, uint64_t interp, uint64_t *active,
                       void (*named)(void *ctx, uint64_t pthread_id, struct cairn_span name),
                       void *ctx)
{
    struct cairn_pydict threads = {0}, scratch = {0};
    int code = 0, count = 0;

    if (!*active)
        code = find_active(src, interp, &scratch, active);
    if (code == 0)
        code = cairn_pydict_read(src, *active, &threads);
    for (size_t i = 0; i < threads.entries.count && code == 0; i++) {
        int one = tell_name(src, threads.entries.items[i].value, &scratch, named, ctx);

        if (is_final(one))
            code = one;
        count += one == 0;
    }
    if (!count)
        *active = 0; /* replaced, perhaps: look again next time */
    cairn_pydict_release(&threads);
    cairn_pydict_release(&scratch);
    return is_final(code) ? code : count;
}

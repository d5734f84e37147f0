#include "pyarrival.h"

uint32_t cairn_pyarrival_bytes(const struct cairn_pylayout *l)
{
    /* What is flexible behind the fixed part is the instructions themselves. */
    return l->code_size < CAIRN_PYLAYOUT_CODE_BYTES ? l->code_size : CAIRN_PYLAYOUT_CODE_BYTES;
}

/* Memory that was freed looks like the object that was there, but for its first word: where its
 * references were counted stands 0, or the address of the next free block. A count is not 0, and
 * above its 32 bits 16 are (from 3.14 on flags follow). */
bool cairn_pyarrival_is_counted(const struct cairn_pylayout *l, const struct cairn_pyarrival *from)
{
    uint64_t word = cairn_pyarrival_u64(from, l->object_type - 8);

    return (uint32_t)word != 0 && (word >> 32 & 0xffff) == 0;
}

/* The type of all code objects is the one whose name is "code"; asked once. */
bool cairn_pyarrival_is_code_type(struct cairn_pycodes *codes, uint64_t type)
{
    uint64_t name;
    char text[5];

    if (codes->type)
        return type == codes->type;
    if (!type || cairn_remote_get(codes->remote, type + codes->layout->type_name, &name, 8) < 0 ||
        cairn_remote_get(codes->remote, name, text, sizeof(text)) < 0 ||
        memcmp(text, "code", sizeof(text)) != 0)
        return false;
    codes->type = type;
    return true;
}

void cairn_pyarrival_fingerprint(const struct cairn_pylayout *l, const struct cairn_pyarrival *from,
                                 uint64_t ret_parts[CAIRN_PYCODE_PARTS])
{
    ret_parts[CAIRN_PYPART_NAME] = cairn_pyarrival_u64(from, l->code_name);
    ret_parts[CAIRN_PYPART_QUALNAME] =
        cairn_pylayout_has(l->code_qualname) ? cairn_pyarrival_u64(from, l->code_qualname) : 0;
    ret_parts[CAIRN_PYPART_FILE] = cairn_pyarrival_u64(from, l->code_filename);
    ret_parts[CAIRN_PYPART_LINETABLE] = cairn_pyarrival_u64(from, l->code_linetable);
    ret_parts[CAIRN_PYPART_LINE] = cairn_pyarrival_u32(from, l->code_first_line);
    /* Until 3.10 the instructions are an object of their own, later as many units behind it. */
    ret_parts[CAIRN_PYPART_CODE] =
        cairn_pylayout_has(l->code_bytes) ? cairn_pyarrival_u64(from, l->code_bytes) : 0;
    ret_parts[CAIRN_PYPART_UNITS] =
        cairn_pylayout_has(l->code_bytes) ? 0 : cairn_pyarrival_u32(from, l->object_count);
}

bool cairn_pyarrival_is_same(const struct cairn_pylayout *l, const struct cairn_pyarrival *a,
                             const struct cairn_pyarrival *b)
{
    uint64_t parts[2][CAIRN_PYCODE_PARTS];

    cairn_pyarrival_fingerprint(l, a, parts[0]);
    cairn_pyarrival_fingerprint(l, b, parts[1]);
    return memcmp(parts[0], parts[1], sizeof(parts[0])) == 0;
}

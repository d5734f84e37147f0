/* Any bytes as the start of a runtime: a layout that is believed keeps its promises, and no other
 * is believed. */
#include <stdint.h>
#include <stdlib.h>

#include "err.h"
#include "pylayout.h"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    const struct cairn_pytable *table;
    struct cairn_pylayout l;
    struct cairn_err err = {0};
    uint32_t hexversion;
    int code = cairn_pylayout_from_target((struct cairn_span){data, size_bytes}, &hexversion,
                                          &table, &l, &err);

    if (code == -CAIRN_ENOTPYTHON)
        return 0;
    MUST(code == 0 || (code == -CAIRN_EUNSUPPORTED && err.text[0]));
    if (code < 0)
        return 0;
    MUST(l.thread_chunk + 8 <= CAIRN_PYLAYOUT_THREAD_BYTES && l.thread_chunk % 8 == 0);
    MUST(l.thread_current_frame + 8 <= CAIRN_PYLAYOUT_THREAD_BYTES);
    MUST(l.frame_size <= CAIRN_PYLAYOUT_FRAME_BYTES && l.frame_instr + 8 <= l.frame_size);
    MUST(l.frame_owner < l.frame_size && l.frame_previous + 8 <= l.frame_size);
    MUST(l.code_name + 8 <= CAIRN_PYLAYOUT_CODE_BYTES && l.code_instructions <= l.code_size);
    MUST(l.unicode_state + 4 <= l.unicode_size && l.unicode_size <= CAIRN_PYLAYOUT_OBJECT_BYTES);
    return 0;
}

#include "err.h"
#include "reader.h"

int cairn_section_next(struct cairn_cursor *cur, struct cairn_section *ret_section,
                       uint64_t *ret_skipped)
{
    for (;;) {
        struct cairn_cursor ahead = *cur;
        struct cairn_section section;
        uint64_t kind;
        int code = cairn_cursor_uvarint(&ahead, &kind);

        if (code < 0)
            return code;
        if (cairn_cursor_bytes(&ahead, &section.bytes) < 0)
            return -CAIRN_EDAMAGED;
        section.must = kind & 1;
        kind >>= 1;
        if (kind >= CAIRN_SECTION_WRITER && kind <= CAIRN_SECTION_SYMBOLS) {
            section.kind = (uint32_t)kind;
            *ret_section = section;
            *cur = ahead;
            return 0;
        }
        if (section.must)
            return -CAIRN_ETOONEW;
        *cur = ahead;
        ++*ret_skipped;
    }
}

/* protobuf.h: fields of a protobuf message out of bytes that nobody vouches for, one by one.
 *
 * Owner: spans are borrowed from the cursor's bytes. Threads: one per cursor.
 */
#ifndef CAIRN_PROTOBUF_H
#define CAIRN_PROTOBUF_H

#include <stdbool.h>

#include "cursor.h"

struct cairn_protobuf_field {
    uint64_t number, value;
    struct cairn_span bytes; /* where is_bytes: a text, a message, packed numbers */
    bool is_bytes;
};

/* 1 while there is a field, 0 behind the last, or -CAIRN_EDAMAGED. */
int cairn_protobuf_next(struct cairn_cursor *cur, struct cairn_protobuf_field *ret_field);

#endif

/* base64_out.h: bytes on their way into an outlet as base64, without line ends. Threads: one at a
 * time. */
#ifndef CAIRN_BASE64_OUT_H
#define CAIRN_BASE64_OUT_H

#include "outlet.h"

struct cairn_base64 { /* all zero but for `out` at the start */
    struct cairn_outlet *out;
    uint8_t kept[3]; /* what does not make three bytes yet */
    unsigned kept_bytes;
};

/* 0, or what the outlet answered. */
int cairn_base64_add(struct cairn_base64 *base64, const void *data, size_t size_bytes);

/* Writes what was kept, and the padding. 0, or what the outlet answered. */
int cairn_base64_end(struct cairn_base64 *base64);

#endif

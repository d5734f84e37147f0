/* gzip_out.h: bytes on their way into an outlet, gzipped. No name and no time in the header, so
 * that the same bytes in give the same bytes out. Threads: one at a time. */
#ifndef CAIRN_GZIP_OUT_H
#define CAIRN_GZIP_OUT_H

#include <zlib.h>

#include "outlet.h"

struct cairn_gzip {
    z_stream stream;
    struct cairn_outlet *out;
};

/* `level`: zlib's, 1 (fastest) to 9 (smallest), or Z_DEFAULT_COMPRESSION. 0 or -CAIRN_ENOMEM. */
int cairn_gzip_open(struct cairn_gzip *gzip, int level, struct cairn_outlet *out);

/* 0, or what the outlet answered. */
int cairn_gzip_add(struct cairn_gzip *gzip, const void *data, size_t size_bytes);

/* Ends the stream when `code` is 0, and releases it in every case. The first failure. */
int cairn_gzip_close(struct cairn_gzip *gzip, int code);

#endif

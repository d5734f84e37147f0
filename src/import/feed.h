/* feed.h: the bytes of a foreign file, a piece at a time, unpacked when they are gzip.
 *
 * Holds always: data <= next <= end; what lies between next and end has not been taken. Memory is
 * one window, which grows up to a ceiling only when a single line or token needs it.
 * Owner: the feed owns its window; descriptor or span are the caller's. Threads: one at a time.
 */
#ifndef CAIRN_FEED_H
#define CAIRN_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "err.h"
#include "progress.h"

struct cairn_feed_gzip;

struct cairn_feed {
    int fd; /* -1: `memory` is read */
    struct cairn_span memory;
    uint64_t offset_bytes; /* of the file, behind what was read of it */
    uint64_t passed_bytes; /* unpacked, in front of `data` */
    uint8_t *data, *next, *end;
    size_t cap_bytes;
    struct cairn_feed_gzip *gzip; /* NULL: the bytes are plain */
    bool over;                    /* nothing comes behind `end` */
    bool is_torn;                 /* it is gzip that is damaged, or was cut off */
    uint64_t size_bytes;          /* of the file; 0: not known */
    /* Told how far the file is read, where reading it all is `share` of the work. May be NULL. */
    struct cairn_progress *progress;
    double share;
};

/* From the start of a file that can be read at any place; or of bytes that are there. 0,
 * -CAIRN_ENOMEM, -CAIRN_EDAMAGED (gzip that is none) or a failure to read. Release in any case. */
int cairn_feed_open(struct cairn_feed *feed, int fd);
int cairn_feed_open_span(struct cairn_feed *feed, struct cairn_span bytes);
void cairn_feed_release(struct cairn_feed *feed);

/* From the start again. */
int cairn_feed_rewind(struct cairn_feed *feed);

/* Brings at least one byte more behind `end`, moving the window. -CAIRN_EEND behind the last one;
 * -CAIRN_ELIMIT when the window is full of what nobody takes, or more was unpacked than any file
 * of use holds; -CAIRN_EDAMAGED; what reading failed with. */
int cairn_feed_more(struct cairn_feed *feed);

/* The next line, without its end, borrowed until the next call. -CAIRN_EEND behind the last. */
int cairn_feed_line(struct cairn_feed *feed, struct cairn_span *ret_line);

/* Everything that is left, borrowed until the next call; -CAIRN_ELIMIT above `max_bytes`. */
int cairn_feed_rest(struct cairn_feed *feed, size_t max_bytes, struct cairn_span *ret_bytes);

/* How far the next byte lies from the start, unpacked. */
uint64_t cairn_feed_at(const struct cairn_feed *feed);

#endif

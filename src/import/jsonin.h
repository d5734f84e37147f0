/* jsonin.h: JSON read in one pass, of any size, in memory that does not depend on it.
 *
 * The caller walks the text: it enters an object or array, asks for the next key or item until
 * there is none, and reads or skips each value. The structure is checked as it goes.
 * Every function returns 0 (1 where said), -CAIRN_EDAMAGED when something else stands there, or
 * what the feed failed with. Owner: the feed is the caller's. Threads: one at a time.
 */
#ifndef CAIRN_JSONIN_H
#define CAIRN_JSONIN_H

#include "buf.h"
#include "feed.h"

#define CAIRN_JSONIN_DEPTH_MAX 512
#define CAIRN_JSONIN_TEXT_MAX_BYTES ((size_t)64 << 10) /* what is longer is cut */

struct cairn_jsonin {
    struct cairn_feed *feed;
    struct cairn_buf text;
    unsigned depth;
    uint8_t open[CAIRN_JSONIN_DEPTH_MAX]; /* '{' or '[' */
    bool fresh;                           /* nothing was read of the innermost one */
    bool lenient; /* a text that ends inside an array is as good as one that closes it */
};

void cairn_jsonin_init(struct cairn_jsonin *json, struct cairn_feed *feed);
void cairn_jsonin_release(struct cairn_jsonin *json);

/* What comes next: '{' '[' '"' '0' (a number) 't' 'f' 'n'. */
int cairn_jsonin_kind(struct cairn_jsonin *json, char *ret_kind);

int cairn_jsonin_enter(struct cairn_jsonin *json, char bracket); /* '{' or '[' */

/* 1: a value follows; 0: the object or array is over, and left. The key is borrowed until anything
 * else is read. */
int cairn_jsonin_key(struct cairn_jsonin *json, struct cairn_span *ret_key);
int cairn_jsonin_item(struct cairn_jsonin *json);

/* A text, borrowed until anything else is read; a number; a whole number that fits; in all three
 * null gives an empty text, NAN, 0. */
int cairn_jsonin_text(struct cairn_jsonin *json, struct cairn_span *ret_text);
int cairn_jsonin_number(struct cairn_jsonin *json, double *ret_number);
int cairn_jsonin_whole(struct cairn_jsonin *json, int64_t *ret_whole);

/* Passes over one value, whatever it is. */
int cairn_jsonin_skip(struct cairn_jsonin *json);

/* Nothing but blanks may follow. */
int cairn_jsonin_end(struct cairn_jsonin *json);

bool cairn_span_is(struct cairn_span span, const char *str);

#endif

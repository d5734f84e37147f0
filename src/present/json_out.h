/* json_out.h: writes JSON as a stream, and notices when what is written would be none.
 *
 * Values follow keys inside objects and stand alone inside arrays. A call that does not fit there
 * (a value without a key, an end without a beginning, a second document) writes nothing and makes
 * cairn_json_end() answer -CAIRN_EINTERNAL, so that no broken document passes for a good one.
 * Owner: borrows the buffer. Threads: one at a time.
 */
#ifndef CAIRN_JSON_OUT_H
#define CAIRN_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define CAIRN_JSON_DEPTH_MAX 32

struct cairn_json {
    struct cairn_buf *out;
    unsigned depth;
    char closing[CAIRN_JSON_DEPTH_MAX]; /* of each level: '}' or ']' */
    bool filled[CAIRN_JSON_DEPTH_MAX];  /* whether the level holds something */
    bool keyed;                         /* a key waits for its value */
    bool written;                       /* the document has begun */
    bool broken;
    unsigned open_depth; /* levels up to here are written one item a line */
};

/* `open_depth`: 0 puts all on one line; 2 gives each row of a table its own. */
void cairn_json_init(struct cairn_json *json, struct cairn_buf *out, unsigned open_depth);

/* Ends the document with a newline. 0, the buffer's code, or -CAIRN_EINTERNAL. */
int cairn_json_end(struct cairn_json *json);

void cairn_json_object(struct cairn_json *json);
void cairn_json_array(struct cairn_json *json);
void cairn_json_close(struct cairn_json *json); /* the innermost object or array */
void cairn_json_key(struct cairn_json *json, struct cairn_span key);

void cairn_json_text(struct cairn_json *json, struct cairn_span text);
void cairn_json_u64(struct cairn_json *json, uint64_t value);
void cairn_json_i64(struct cairn_json *json, int64_t value);
void cairn_json_seconds(struct cairn_json *json, uint64_t ns); /* exact, as decimal */
void cairn_json_millis(struct cairn_json *json, uint64_t ns);
void cairn_json_micros(struct cairn_json *json, uint64_t ns);
void cairn_json_number(struct cairn_json *json, double value); /* null when not finite */
void cairn_json_bool(struct cairn_json *json, bool value);
void cairn_json_null(struct cairn_json *json);

/* A key and its value in one. */
void cairn_json_put_text(struct cairn_json *json, const char *key, struct cairn_span text);
void cairn_json_put_str(struct cairn_json *json, const char *key, const char *str);
void cairn_json_put_u64(struct cairn_json *json, const char *key, uint64_t value);
void cairn_json_put_seconds(struct cairn_json *json, const char *key, uint64_t ns);
void cairn_json_put_number(struct cairn_json *json, const char *key, double value);
void cairn_json_put_bool(struct cairn_json *json, const char *key, bool value);
void cairn_json_put_null(struct cairn_json *json, const char *key);
/* A number, or null where it is not known. */
void cairn_json_put_known(struct cairn_json *json, const char *key, bool known, uint64_t value);

#endif

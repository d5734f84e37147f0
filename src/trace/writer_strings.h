/* writer_strings.h: the strings of a writer, by id, for as long as anything may tell of them.
 *
 * What code, rows and modules name lasts as long as the writer. What tracks alone are called goes
 * after the last of them: a program may give every thread, for days, a name of its own. Names come
 * again, so the latest ones stay a while. Ids are dense, 1 and up, and not given out again; 0 is
 * the empty string. Owner: the writer. Threads: one at a time.
 */
#ifndef CAIRN_WRITER_STRINGS_H
#define CAIRN_WRITER_STRINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "idset.h"
#include "map.h"

#define CAIRN_STRING_BLOCK 32
#define CAIRN_STRINGS_IDLE 1024

struct cairn_kept_string {
    uint8_t *bytes; /* NULL: it went */
    uint32_t size_bytes;
    uint32_t tracks; /* how often those that are kept name it */
    uint32_t idle;   /* one more than its place among those; 0: it is none */
    uint32_t stamp;  /* of the file that has it: writer_parts.h */
    bool lasting;
};

struct cairn_string_block {
    struct cairn_kept_string items[CAIRN_STRING_BLOCK];
    uint32_t gone; /* when all are, the block is */
};

struct cairn_writer_strings {
    struct cairn_map blocks; /* number of it -> struct cairn_string_block *; those that are kept */
    struct cairn_idset ids;
    size_t count;                      /* ids that were given out, 0 included */
    size_t used_bytes;                 /* of those that are kept */
    uint32_t idle[CAIRN_STRINGS_IDLE]; /* that no track is called any more; 0: none */
    size_t idle_next;                  /* the oldest of them */
};

void cairn_writer_strings_init(struct cairn_writer_strings *strings);
void cairn_writer_strings_release(struct cairn_writer_strings *strings);

/* The id of these bytes. `lasting`: something else than a track may name it. 0, -CAIRN_ENOMEM, or
 * -CAIRN_ELIMIT: all together they are too long. */
int cairn_writer_strings_add(struct cairn_writer_strings *strings, struct cairn_span bytes,
                             bool lasting, uint32_t *ret_id);

/* Borrowed, as long as it is kept; empty when it went. */
struct cairn_span cairn_writer_strings_get(const struct cairn_writer_strings *strings, uint32_t id);

/* Its stamp, 0 as long as nobody set it; NULL: it went. */
uint32_t *cairn_writer_strings_stamp(const struct cairn_writer_strings *strings, uint32_t id);

/* A track names it, or does not any more. 0 is nothing. */
void cairn_writer_strings_hold(struct cairn_writer_strings *strings, uint32_t id);
void cairn_writer_strings_let_go(struct cairn_writer_strings *strings, uint32_t id);

#endif

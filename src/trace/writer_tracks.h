/* writer_tracks.h: the tracks of a writer, by id, for as long as rows may tell of them.
 *
 * A program may make threads and processes for days. A track that is said to be over goes once all
 * rows that name it are in the file, and those of what it was the parent of: a later file of the
 * set will not need it. Ids are not given out again. Owner: the writer. Threads: one at a time.
 */
#ifndef CAIRN_WRITER_TRACKS_H
#define CAIRN_WRITER_TRACKS_H

#include <stdint.h>

#include "map.h"
#include "vec.h"
#include "wire.h"
#include "writer_strings.h"

/* Few: a task's track stays, and keeps its block. */
#define CAIRN_TRACK_BLOCK 8

enum cairn_kept_state { CAIRN_KEPT, CAIRN_KEPT_OVER, CAIRN_KEPT_GONE };

struct cairn_kept_track {
    struct cairn_track_def def;
    uint32_t children; /* that are kept */
    uint32_t stamp;    /* of the file that has it: writer_parts.h */
    uint8_t state;
};

struct cairn_track_block {
    struct cairn_kept_track items[CAIRN_TRACK_BLOCK];
    uint32_t gone; /* when all are, the block is */
};

struct cairn_writer_tracks {
    struct cairn_writer_strings *strings; /* borrowed: what they are called */
    struct cairn_map blocks;  /* number of it -> struct cairn_track_block *; those that are kept */
    uint32_t made;            /* how many there have been */
    CAIRN_VEC(uint32_t) over; /* since the last cairn_writer_tracks_drop() */
};

void cairn_writer_tracks_init(struct cairn_writer_tracks *tracks,
                              struct cairn_writer_strings *strings);

void cairn_writer_tracks_release(struct cairn_writer_tracks *tracks);

/* NULL: it went. */
const struct cairn_track_def *cairn_writer_tracks_get(const struct cairn_writer_tracks *tracks,
                                                      uint32_t id);

/* Its stamp, 0 as long as nobody set it; NULL: it went. */
uint32_t *cairn_writer_tracks_stamp(const struct cairn_writer_tracks *tracks, uint32_t id);

/* Adds the track of the next id, or replaces one that is there; 0 or -CAIRN_ENOMEM. */
int cairn_writer_tracks_put(struct cairn_writer_tracks *tracks, uint32_t id,
                            const struct cairn_track_def *def);

/* Best effort: without memory it is kept. */
void cairn_writer_tracks_end(struct cairn_writer_tracks *tracks, uint32_t id);

/* All that was pending is in the file: what is over goes. */
void cairn_writer_tracks_drop(struct cairn_writer_tracks *tracks);

#endif

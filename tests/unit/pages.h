/* pages.h: page sets: the memory that a reader asked for, kept in a file and played back.
 *
 * A set holds some moments of one process; each is a list of lines of 64 bytes. The file:
 * "CPYPAGES", u64 address of the runtime, u32 version, u32 moments; for each moment u32 lines, then
 * for each {u64 address, 64 bytes}; all little-endian. Threads: one per set.
 */
#ifndef CAIRN_TEST_PAGES_H
#define CAIRN_TEST_PAGES_H

#include <stdbool.h>

#include "cursor.h"
#include "map.h"
#include "remote.h"
#include "vec.h"

#define PAGES_LINE_BYTES 64
#define PAGES_MOMENTS_MAX 4

struct pages_line {
    uint64_t address;
    uint8_t bytes[PAGES_LINE_BYTES];
};

struct pages_moment {
    CAIRN_VEC(struct pages_line) lines;
    struct cairn_map by_address;
};

struct pages {
    uint64_t runtime;
    uint32_t hexversion;
    size_t moment_count;
    struct pages_moment moments[PAGES_MOMENTS_MAX];
    /* What a read sees of each line: a moment; by default the first. */
    size_t (*choose)(void *ctx, uint64_t address);
    void *choose_ctx;
    struct cairn_remote *behind; /* recording: where lines that are not there yet come from */
};

void pages_init(struct pages *pages);
void pages_release(struct pages *pages);

/* A remote that reads from the set; a line that is missing is unreadable, or is fetched from
 * `behind` and kept in the moment chosen. */
void pages_remote(struct pages *pages, struct cairn_remote *ret_remote);

/* 0 or a negative code. */
int pages_load(struct pages *pages, const char *path);
int pages_load_span(struct pages *pages, struct cairn_span file);
int pages_save(const struct pages *pages, const char *path);

/* The bytes of a line in a moment, NULL when it is not there. */
uint8_t *pages_line(struct pages *pages, size_t moment, uint64_t address);

#endif

/* in_gperftools.c: what gperftools' CPU profiler writes: words of the machine's size,
 * little-endian.
 *
 * A head {0, 3, 0, microseconds between samples, 0}; then stacks {samples, depth, addresses, leaf
 * first}; an end {0, 1, 0}; then the lines of /proc/PID/maps, as text. Addresses have no names
 * here: a frame is an offset in a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "formats.h"

#define FILE_MAX_BYTES ((size_t)96 << 20)
#define MAPS_MAX ((size_t)1 << 16)
#define DEPTH_MAX 4096
#define US_NS 1000u

struct range {
    uint64_t start, end, offset;
    struct cairn_span path;
};

struct gperftools {
    struct cairn_guest *guest;
    struct cairn_cursor cur;
    bool wide;                    /* words of 8 bytes */
    CAIRN_VEC(struct range) maps; /* by start */
    uint64_t period_us;
    uint32_t thread;
};

static int word(struct gperftools *g, uint64_t *ret_word)
{
    uint32_t half;

    if (g->wide)
        return cairn_cursor_u64(&g->cur, ret_word);
    CAIRN_TRY(cairn_cursor_u32(&g->cur, &half));
    *ret_word = half;
    return 0;
}

/* The head; whether words are wide is told by which of the two reads it whole. */
static int read_head(struct gperftools *g)
{
    uint64_t head[5] = {0};

    for (int i = 0; i < 5; i++)
        CAIRN_TRY(word(g, &head[i]));
    g->period_us = head[3];
    return head[0] == 0 && head[1] >= 3 && head[1] < 100 && head[2] == 0 && head[3] > 0 &&
                   head[3] <= 1000000000 && head[4] == 0
               ? 0
               : -CAIRN_EDAMAGED;
}

/* "5581a000-5581b000 r-xp 00001000 fd:00 12 /usr/bin/x" */
static int read_map(struct gperftools *g, const char *line, struct cairn_span text)
{
    struct range range = {0};
    int path = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*s %*s %n", &range.start,
               &range.end, &range.offset, &path) < 3 ||
        path == 0 || (size_t)path >= text.size_bytes)
        return 0; /* no file is mapped there */
    range.path = (struct cairn_span){text.data + path, text.size_bytes - (size_t)path};
    CAIRN_TRY(cairn_vec_reserve(&g->maps, g->maps.count + 1, MAPS_MAX));
    g->maps.items[g->maps.count++] = range;
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct range *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

static int read_maps(struct gperftools *g, struct cairn_span text)
{
    char line[512];

    while (text.size_bytes > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size_bytes);
        size_t length = end ? (size_t)(end - text.data) : text.size_bytes;
        size_t kept = length < sizeof(line) - 1 ? length : sizeof(line) - 1;

        memcpy(line, text.data, kept);
        line[kept] = 0;
        CAIRN_TRY(read_map(g, line, (struct cairn_span){text.data, length}));
        length += end != NULL;
        text.data += length;
        text.size_bytes -= length;
    }
    if (g->maps.count > 0)
        qsort(g->maps.items, g->maps.count, sizeof(*g->maps.items), by_start);
    return 0;
}

static const struct range *range_of(const struct gperftools *g, uint64_t address)
{
    size_t low = 0, high = g->maps.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (g->maps.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || g->maps.items[low - 1].end <= address)
        return NULL;
    return &g->maps.items[low - 1];
}

/* All but the leaf are where a call returns to: the call lies a byte before. */
static int frame_of(struct gperftools *g, uint64_t address, bool leaf, uint32_t *ret_frame)
{
    struct cairn_guest_frame frame = {.line = 0};
    const struct range *range;
    char name[32];

    address -= !leaf && address > 0;
    range = range_of(g, address);
    snprintf(name, sizeof(name), "0x%" PRIx64,
             range ? address - range->start + range->offset : address);
    frame.name = (struct cairn_span){(const uint8_t *)name, strlen(name)};
    if (range)
        frame.file = range->path;
    return cairn_guest_frame(g->guest, &frame, ret_frame);
}

static int give(struct gperftools *g, uint64_t count, const uint64_t *addresses, uint64_t depth)
{
    struct cairn_guest_sample sample = {
        .thread = g->thread, .state = CAIRN_SAMPLE_UNKNOWN, .count = count};

    if (count > CAIRN_GUEST_TIME_MAX_NS / US_NS / g->period_us)
        return -CAIRN_EDAMAGED;
    sample.ns = sample.cpu_ns = count * g->period_us * US_NS;
    for (uint64_t i = depth; i-- > 0;) {
        uint32_t frame;

        CAIRN_TRY(frame_of(g, addresses[i], i == 0, &frame));
        CAIRN_TRY(cairn_guest_stack(g->guest, sample.stack, frame, &sample.stack));
    }
    return cairn_guest_add(g->guest, &sample);
}

/* The stacks; without `giving`, only past them, to what lies behind. */
static int read_stacks(struct gperftools *g, bool giving)
{
    uint64_t count, depth, addresses[DEPTH_MAX];

    for (;;) {
        CAIRN_TRY(word(g, &count));
        CAIRN_TRY(word(g, &depth));
        if (depth == 0 || depth > DEPTH_MAX)
            return -CAIRN_EDAMAGED;
        for (uint64_t i = 0; i < depth; i++)
            CAIRN_TRY(word(g, &addresses[i]));
        if (count == 0)
            return depth == 1 && addresses[0] == 0 ? 0 : -CAIRN_EDAMAGED;
        if (giving)
            CAIRN_TRY(give(g, count, addresses, depth));
    }
}

static int read_all(struct gperftools *g, struct cairn_span bytes)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    struct cairn_cursor stacks;

    for (int wide = 1; wide >= 0; wide--) {
        g->wide = wide;
        cairn_cursor_init(&g->cur, bytes);
        if (read_head(g) == 0)
            break;
        if (!wide)
            return -CAIRN_EDAMAGED;
    }
    stacks = g->cur;
    CAIRN_TRY(read_stacks(g, false));
    CAIRN_TRY(read_maps(g, (struct cairn_span){g->cur.next, cairn_cursor_left_bytes(&g->cur)}));
    g->cur = stacks;
    g->guest->counted = g->guest->with_states = true;
    CAIRN_TRY(cairn_guest_thread(g->guest, &all, &g->thread));
    CAIRN_TRY(read_stacks(g, true));
    CAIRN_TRY(cairn_guest_fact(g->guest, "import.times", "none"));
    CAIRN_TRY(cairn_guest_fact(g->guest, "import.lost", "which thread it was, names of functions"));
    return cairn_guest_fact(g->guest, "import.values", "samples of CPU time, %" PRIu64 " us apart",
                            g->period_us);
}

int cairn_in_gperftools(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct gperftools g = {.guest = guest};
    struct cairn_span bytes;
    int code = cairn_feed_rest(feed, FILE_MAX_BYTES, &bytes);

    if (code == 0)
        code = read_all(&g, bytes);
    if (code == -CAIRN_EEND || code == -CAIRN_EDAMAGED)
        code = cairn_cursor_fail(&g.cur, -CAIRN_EDAMAGED, "reading a profile", err);
    cairn_vec_release(&g.maps);
    return code;
}

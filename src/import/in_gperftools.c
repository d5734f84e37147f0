/* in_gperftools.c: what gperftools' CPU profiler writes: words of the machine's size,
 * little-endian.
 *
 * A head {0, 3, 0, microseconds between samples, 0}; then stacks {samples, depth, addresses, leaf
 * first}; an end {0, 1, 0}; then the lines of /proc/PID/maps, as text. Addresses have no names
 * here: a frame is an offset in a file, or where that file was given, the function there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "elfnames.h"
#include "formats.h"
#include "gperfmaps.h"
#include "io.h"

#define FILE_MAX_BYTES ((size_t)96 << 20)
#define DEPTH_MAX 4096
#define US_NS 1000u
#define PLACES_MAX ((size_t)1 << 20)
#define SYMBOLS_MAX ((size_t)1 << 21) /* of all files together */
#define PATH_MAX_BYTES 4096
#define TOLD_FILES 3
#define TOLD_MAX_BYTES ((size_t)16 << 10)

struct file {       /* that is mapped */
    uint64_t count; /* what is to be told of it: addresses without a name; or samples */
    struct cairn_elfnames *names; /* NULL: it was not given */
};

struct gperftools {
    struct cairn_guest *guest;
    struct cairn_cursor cur;
    bool wide; /* words of 8 bytes */
    struct cairn_gperfmaps maps;
    CAIRN_VEC(struct file) files; /* by their ids in `maps`; 0: addresses where none is mapped */
    struct cairn_map places;      /* addresses to frames */
    CAIRN_VEC(struct cairn_elfnames) names; /* of the guest's objects */
    uint64_t addresses, unnamed;            /* different ones; of them, without a name */
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

static int read_object(void *ctx, uint64_t offset, void *data, size_t size_bytes)
{
    const struct cairn_object *object = ctx;
    ssize_t got = cairn_io_pread(object->fd, data, size_bytes, offset);

    return got < 0 ? -CAIRN_EIO : (size_t)got < size_bytes ? -CAIRN_ESHORT : 0;
}

/* The names of the files that were given, by the paths under which they were mapped. */
static int read_objects(struct gperftools *g)
{
    const struct cairn_guest *guest = g->guest;
    size_t left = SYMBOLS_MAX;

    CAIRN_TRY(cairn_vec_reserve(&g->names, guest->object_count, CAIRN_OBJECTS_MAX));
    for (size_t i = 0; i < guest->object_count; i++) {
        struct cairn_elfnames *names = &g->names.items[g->names.count++];
        uint32_t file;

        *names = (struct cairn_elfnames){
            .file = {.read = read_object, .ctx = (void *)(uintptr_t)&guest->objects[i]},
            .max_count = left};
        CAIRN_TRY(cairn_elfnames_open(names));
        left -= names->functions.count;
        CAIRN_TRY(cairn_intern_str(&g->maps.files, guest->objects[i].path, &file));
        if (file < g->files.count)
            g->files.items[file].names = names;
    }
    return 0;
}

static int make_frame(struct gperftools *g, uint64_t address, uint32_t *ret_frame)
{
    uint32_t index = cairn_gperfmaps_find(&g->maps, address);
    const struct cairn_gperfmap *map = index == UINT32_MAX ? NULL : &g->maps.items.items[index];
    struct file *file = &g->files.items[map ? map->file : 0];
    struct cairn_guest_frame frame = {.line = 0};
    uint64_t offset = map ? address - map->start + map->offset : address;
    char name[CAIRN_ELFNAME_MAX_BYTES];

    if (!file->names || !cairn_elfnames_find(file->names, offset, name)) {
        snprintf(name, sizeof(name), "0x%" PRIx64, offset);
        file->count++;
        g->unnamed++;
    }
    g->addresses++;
    frame.name = (struct cairn_span){(const uint8_t *)name, strlen(name)};
    if (map)
        frame.file = map->path;
    return cairn_guest_frame(g->guest, &frame, ret_frame);
}

/* All but the leaf are where a call returns to: the call lies a byte before. */
static int frame_of(struct gperftools *g, uint64_t address, bool leaf, uint32_t *ret_frame)
{
    uint64_t found;

    address -= !leaf && address > 0;
    if (cairn_map_get(&g->places, address, 0, &found)) {
        *ret_frame = (uint32_t)found;
        return 0;
    }
    CAIRN_TRY(make_frame(g, address, ret_frame));
    return cairn_map_put(&g->places, address, 0, *ret_frame);
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

/* In which files samples lie, by their leaf or anything above it. */
static int tally(struct gperftools *g, uint64_t count, const uint64_t *addresses, uint64_t depth)
{
    for (uint64_t i = 0; i < depth; i++) {
        uint32_t index = cairn_gperfmaps_find(&g->maps, addresses[i] - (i > 0));

        if (index != UINT32_MAX && count < CAIRN_GUEST_TIME_MAX_NS)
            g->files.items[g->maps.items.items[index].file].count += count;
    }
    return 0;
}

/* Each stack goes to `take`, which may be NULL. */
static int read_stacks(struct gperftools *g, int (*take)(struct gperftools *g, uint64_t count,
                                                         const uint64_t *addresses, uint64_t depth))
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
        if (take)
            CAIRN_TRY(take(g, count, addresses, depth));
    }
}

/* The head and the maps; the cursor stands at the stacks then. */
static int begin(struct gperftools *g, struct cairn_span bytes)
{
    struct cairn_cursor stacks;
    size_t count;

    cairn_map_init(&g->places, PLACES_MAX);
    CAIRN_TRY(cairn_gperfmaps_init(&g->maps));
    for (int wide = 1; wide >= 0; wide--) {
        g->wide = wide;
        cairn_cursor_init(&g->cur, bytes);
        if (read_head(g) == 0)
            break;
        if (!wide)
            return -CAIRN_EDAMAGED;
    }
    stacks = g->cur;
    CAIRN_TRY(read_stacks(g, NULL));
    CAIRN_TRY(cairn_gperfmaps_read(
        &g->maps, (struct cairn_span){g->cur.next, cairn_cursor_left_bytes(&g->cur)}));
    g->cur = stacks;
    count = cairn_intern_count(&g->maps.files);
    CAIRN_TRY(cairn_vec_reserve(&g->files, count, count));
    g->files.count = count;
    memset(g->files.items, 0, g->files.count * sizeof(*g->files.items));
    return 0;
}

static void release(struct gperftools *g)
{
    for (size_t i = 0; i < g->names.count; i++)
        cairn_elfnames_release(&g->names.items[i]);
    cairn_vec_release(&g->names);
    cairn_vec_release(&g->files);
    cairn_gperfmaps_release(&g->maps);
    cairn_map_release(&g->places);
}

/* The file with the most that is left to tell, which is taken; false: there is none. */
static bool take_most(struct gperftools *g, uint32_t *ret_file, uint64_t *ret_count)
{
    *ret_count = 0;
    for (uint32_t i = 0; i < g->files.count; i++)
        if (g->files.items[i].count > *ret_count) {
            *ret_file = i;
            *ret_count = g->files.items[i].count;
        }
    if (*ret_count > 0)
        g->files.items[*ret_file].count = 0;
    return *ret_count > 0;
}

/* What has no name though names were asked for: "4 of 9 addresses have no name: /usr/bin/x (4)". */
static int tell_unnamed(struct gperftools *g)
{
    struct cairn_buf text;
    uint64_t count;
    uint32_t file = 0;
    int code;

    if (g->unnamed == 0)
        return 0;
    cairn_buf_init(&text, TOLD_MAX_BYTES);
    for (int i = 0; i <= TOLD_FILES && take_most(g, &file, &count); i++) {
        struct cairn_span path = cairn_intern_get(&g->maps.files, file);

        if (i == TOLD_FILES)
            cairn_buf_add_str(&text, ", and others");
        else
            cairn_buf_printf(&text, "%s%.*s (%" PRIu64 ")", i > 0 ? ", " : "",
                             file ? (int)(path.size_bytes & 0xfff) : (int)strlen("no file"),
                             file ? (const char *)path.data : "no file", count);
    }
    code = cairn_buf_u8(&text, 0);
    if (code == 0)
        code = cairn_guest_fact(g->guest, "import.unnamed",
                                "%" PRIu64 " of %" PRIu64 " addresses have no name: %s", g->unnamed,
                                g->addresses, (const char *)cairn_buf_span(&text).data);
    cairn_buf_release(&text);
    return code;
}

static int tell(struct gperftools *g)
{
    const char *lost =
        "which thread it was, names of functions (`cairn pprof PROGRAM FILE` reads them)";

    if (g->guest->objects) {
        CAIRN_TRY(tell_unnamed(g));
        lost =
            g->unnamed > 0 ? "which thread it was, names of some functions" : "which thread it was";
    }
    CAIRN_TRY(cairn_guest_fact(g->guest, "import.times", "none"));
    CAIRN_TRY(cairn_guest_fact(g->guest, "import.lost", "%s", lost));
    return cairn_guest_fact(g->guest, "import.values", "samples of CPU time, %" PRIu64 " us apart",
                            g->period_us);
}

static int read_all(struct gperftools *g, struct cairn_span bytes)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};

    CAIRN_TRY(begin(g, bytes));
    CAIRN_TRY(read_objects(g));
    g->guest->counted = g->guest->with_states = true;
    CAIRN_TRY(cairn_guest_thread(g->guest, &all, &g->thread));
    CAIRN_TRY(read_stacks(g, give));
    return tell(g);
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
    release(&g);
    return code;
}

static void add_line(struct cairn_buf *out, struct cairn_span line)
{
    if (line.size_bytes <= PATH_MAX_BYTES)
        cairn_buf_add(out, line.data, line.size_bytes);
    cairn_buf_u8(out, '\n');
}

int cairn_gperftools_mapped(struct cairn_feed *feed, struct cairn_buf *ret_paths)
{
    struct gperftools g = {.guest = NULL};
    struct cairn_span bytes;
    uint32_t file = 0;
    uint64_t count;
    int code = cairn_feed_rest(feed, FILE_MAX_BYTES, &bytes);

    if (code == 0)
        code = begin(&g, bytes);
    if (code == 0)
        code = read_stacks(&g, tally);
    if (code == 0) {
        add_line(ret_paths, cairn_gperfmaps_main(&g.maps));
        for (size_t i = 0; i < CAIRN_OBJECTS_MAX && take_most(&g, &file, &count); i++)
            add_line(ret_paths, cairn_intern_get(&g.maps.files, file));
    }
    release(&g);
    return code;
}

#include "writer_parts.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL /* the length of a key is known here */
#include <xxhash.h>

#include "alloc.h"
#include "clock.h"

#define ARENA_MAX_BYTES ((size_t)1 << 30) /* line tables, build ids */
#define ENV_MAX_BYTES ((size_t)4 << 20)
#define COUNTERS_MAX 1024
#define CLOCKS_MAX 4096
#define ALIKE_LOOKS 8
#define BUF_MAX_BYTES ((size_t)CAIRN_CHUNK_MAX_BYTES)

size_t cairn_writer_count(const struct cairn_writer *writer, enum cairn_part part)
{
    return writer->parts[part].count;
}

/* Ids start at 1; 0 is taken from the start and never sent. */
static int begin_parts(struct cairn_writer *writer)
{
    CAIRN_TRY(cairn_vec_reserve(&writer->codes, 1, CAIRN_IDS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&writer->modules, 1, CAIRN_IDS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&writer->locations, 1, CAIRN_IDS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&writer->stacks, 1, CAIRN_IDS_MAX));
    for (size_t i = 0; i < CAIRN_PART_COUNT; i++) {
        struct cairn_part_state *part = &writer->parts[i];

        CAIRN_TRY(cairn_vec_reserve(&part->stamps, 1, CAIRN_IDS_MAX));
        part->count = 1;
        part->fresh = 1;
    }
    return 0;
}

static int begin(struct cairn_writer *writer)
{
    const char *role = writer->options.role;

    cairn_arena_init(&writer->arena, ARENA_MAX_BYTES);
    cairn_map_init(&writer->codes_by_content, CAIRN_IDS_MAX);
    cairn_idset_init(&writer->locations_by_content);
    cairn_idset_init(&writer->stacks_by_content);
    cairn_writer_strings_init(&writer->strings);
    cairn_writer_tracks_init(&writer->tracks, &writer->strings);
    cairn_buf_init(&writer->env, ENV_MAX_BYTES);
    cairn_buf_init(&writer->column, BUF_MAX_BYTES);
    cairn_buf_init(&writer->body, BUF_MAX_BYTES);
    cairn_buf_init(&writer->out, BUF_MAX_BYTES);
    CAIRN_TRY(begin_parts(writer));
    writer->options.role = cairn_arena_dup(&writer->arena, role, strlen(role));
    return writer->options.role == NULL ? -CAIRN_ENOMEM : 0;
}

int cairn_writer_open(struct cairn_sink *sink, const struct cairn_writer_options *options,
                      struct cairn_writer **ret_writer)
{
    struct cairn_writer *writer = cairn_calloc(1, sizeof(*writer));
    int code;

    if (writer == NULL)
        return -CAIRN_ENOMEM;
    writer->sink = sink;
    writer->options = *options;
    writer->generation = cairn_sink_generation(sink);
    writer->epoch = 1;
    code = options->id == 0 ? -CAIRN_EINTERNAL : begin(writer);
    if (code < 0) {
        cairn_writer_free(writer);
        return code;
    }
    *ret_writer = writer;
    return 0;
}

static void free_tables(struct cairn_writer *writer)
{
    for (size_t i = 0; i < writer->tables.count; i++) {
        struct cairn_writer_table *table = &writer->tables.items[i];

        for (size_t j = 0; j < CAIRN_COLUMNS_MAX; j++)
            cairn_vec_release(&table->columns[j].values);
        free(table->columns);
    }
    cairn_vec_release(&writer->tables);
}

void cairn_writer_free(struct cairn_writer *writer)
{
    if (writer == NULL)
        return;
    for (size_t i = 0; i < CAIRN_PART_COUNT; i++) {
        cairn_vec_release(&writer->parts[i].stamps);
        cairn_vec_release(&writer->parts[i].again);
    }
    cairn_vec_release(&writer->codes);
    cairn_vec_release(&writer->modules);
    cairn_vec_release(&writer->locations);
    cairn_vec_release(&writer->stacks);
    cairn_writer_tracks_release(&writer->tracks);
    cairn_vec_release(&writer->late_lines);
    cairn_vec_release(&writer->changed_tracks);
    cairn_vec_release(&writer->clocks);
    cairn_vec_release(&writer->counters);
    cairn_vec_release(&writer->ticks.numbers);
    cairn_vec_release(&writer->ticks.delays);
    cairn_vec_release(&writer->order);
    cairn_vec_release(&writer->starts);
    cairn_vec_release(&writer->ordered);
    free_tables(writer);
    cairn_map_release(&writer->codes_by_content);
    cairn_idset_release(&writer->locations_by_content);
    cairn_idset_release(&writer->stacks_by_content);
    cairn_writer_strings_release(&writer->strings);
    cairn_arena_release(&writer->arena);
    cairn_buf_release(&writer->env);
    cairn_buf_release(&writer->column);
    cairn_buf_release(&writer->body);
    cairn_buf_release(&writer->out);
    free(writer);
}

/* Room for the stamp of one more entry; what can fail, before the entry counts. */
static int reserve_stamp(struct cairn_writer *writer, enum cairn_part part)
{
    struct cairn_part_state *state = &writer->parts[part];

    return cairn_vec_reserve(&state->stamps, state->count + 1, CAIRN_IDS_MAX);
}

static uint32_t add_stamp(struct cairn_writer *writer, enum cairn_part part, size_t size_bytes)
{
    struct cairn_part_state *state = &writer->parts[part];

    state->stamps.items[state->count] = 0;
    writer->dict_bytes += size_bytes;
    return (uint32_t)state->count++;
}

/* Whether the id was given out; 0 stands for "none". */
static bool knows(const struct cairn_writer *writer, enum cairn_part part, uint64_t id)
{
    return id < cairn_writer_count(writer, part);
}

/* Cuts in front of a character, never inside one. */
static size_t cut_bytes(struct cairn_span bytes, size_t max_bytes)
{
    size_t cut = max_bytes;

    while (cut > max_bytes - 4 && (bytes.data[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

static int add_string(struct cairn_writer *writer, struct cairn_span bytes, bool lasting,
                      uint32_t *ret_id)
{
    struct cairn_part_state *state = &writer->parts[CAIRN_PART_STRING];

    CAIRN_TRY(cairn_writer_strings_add(&writer->strings, bytes, lasting, ret_id));
    if (writer->strings.count > state->count)
        writer->dict_bytes += bytes.size_bytes + 2;
    state->count = writer->strings.count;
    return 0;
}

static int add_cut(struct cairn_writer *writer, struct cairn_span bytes, bool lasting,
                   uint32_t *ret_id)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    const size_t tail_bytes = sizeof(ellipsis) - 1;
    struct cairn_buf cut;
    int code;

    if (bytes.size_bytes <= CAIRN_STRING_MAX_BYTES)
        return add_string(writer, bytes, lasting, ret_id);
    cairn_buf_init(&cut, CAIRN_STRING_MAX_BYTES);
    cairn_buf_add(&cut, bytes.data, cut_bytes(bytes, CAIRN_STRING_MAX_BYTES - tail_bytes));
    cairn_buf_add(&cut, ellipsis, tail_bytes);
    code = cut.code < 0 ? cut.code : add_string(writer, cairn_buf_span(&cut), lasting, ret_id);
    cairn_buf_release(&cut);
    return code;
}

int cairn_writer_string(struct cairn_writer *writer, struct cairn_span bytes, uint32_t *ret_id)
{
    return add_cut(writer, bytes, true, ret_id);
}

int cairn_writer_track_name(struct cairn_writer *writer, struct cairn_span bytes, uint32_t *ret_id)
{
    return add_cut(writer, bytes, false, ret_id);
}

int cairn_writer_str(struct cairn_writer *writer, const char *str, uint32_t *ret_id)
{
    struct cairn_span bytes = {(const uint8_t *)str, strlen(str)};

    return cairn_writer_string(writer, bytes, ret_id);
}

static uint64_t last_alike(const struct cairn_writer *writer, const struct cairn_code_def *def)
{
    uint64_t id = 0;

    cairn_map_get(&writer->codes_by_content, (uint64_t)def->name << 32 | def->qualname,
                  (uint64_t)def->file << 32 | def->first_line, &id);
    return id;
}

static bool same_lines(const struct cairn_linetable_def *a, const struct cairn_linetable_def *b)
{
    return a->kind == b->kind && a->bytes.size_bytes == b->bytes.size_bytes &&
           (!a->bytes.size_bytes || memcmp(a->bytes.data, b->bytes.data, a->bytes.size_bytes) == 0);
}

bool cairn_writer_find_code(const struct cairn_writer *writer, const struct cairn_code_def *def,
                            const struct cairn_linetable_def *lines, uint32_t *ret_id)
{
    uint64_t id = last_alike(writer, def);

    for (int looks = 0; id && looks < ALIKE_LOOKS; looks++) {
        const struct cairn_writer_code *known = &writer->codes.items[id];

        if (known->lines.code && same_lines(&known->lines, lines)) {
            *ret_id = (uint32_t)id;
            return true;
        }
        id = known->alike;
    }
    return false;
}

int cairn_writer_code(struct cairn_writer *writer, const struct cairn_code_def *def,
                      uint32_t *ret_id)
{
    size_t count = cairn_writer_count(writer, CAIRN_PART_CODE);

    if (!knows(writer, CAIRN_PART_STRING, def->name) ||
        !knows(writer, CAIRN_PART_STRING, def->qualname) ||
        !knows(writer, CAIRN_PART_STRING, def->file))
        return -CAIRN_EINTERNAL;
    CAIRN_TRY(cairn_vec_reserve(&writer->codes, count + 1, CAIRN_IDS_MAX));
    CAIRN_TRY(reserve_stamp(writer, CAIRN_PART_CODE));
    writer->codes.items[count] =
        (struct cairn_writer_code){.def = *def, .alike = (uint32_t)last_alike(writer, def)};
    CAIRN_TRY(cairn_map_put(&writer->codes_by_content, (uint64_t)def->name << 32 | def->qualname,
                            (uint64_t)def->file << 32 | def->first_line, count));
    *ret_id = add_stamp(writer, CAIRN_PART_CODE, 8);
    return 0;
}

int cairn_writer_linetable(struct cairn_writer *writer, const struct cairn_linetable_def *def)
{
    struct cairn_linetable_def copy = *def;
    size_t count = writer->late_lines.count;

    if (def->code == 0 || !knows(writer, CAIRN_PART_CODE, def->code))
        return -CAIRN_EINTERNAL;
    if (def->bytes.size_bytes > CAIRN_LINETABLE_MAX_BYTES)
        copy = (struct cairn_linetable_def){.code = def->code, .kind = CAIRN_LINES_NONE};
    CAIRN_TRY(cairn_vec_reserve(&writer->late_lines, count + 1, CAIRN_IDS_MAX));
    copy.bytes.data = cairn_arena_dup(&writer->arena, copy.bytes.data, copy.bytes.size_bytes);
    if (copy.bytes.data == NULL)
        return -CAIRN_ENOMEM;
    writer->codes.items[def->code].lines = copy;
    writer->late_lines.items[writer->late_lines.count++] = def->code;
    writer->dict_bytes += copy.bytes.size_bytes + 4;
    return 0;
}

int cairn_writer_module(struct cairn_writer *writer, const struct cairn_module_def *def,
                        uint32_t *ret_id)
{
    size_t count = cairn_writer_count(writer, CAIRN_PART_MODULE);
    struct cairn_module_def copy = *def;

    if (!knows(writer, CAIRN_PART_STRING, def->path) ||
        def->build_id.size_bytes > CAIRN_BUILD_ID_MAX_BYTES)
        return -CAIRN_EINTERNAL;
    CAIRN_TRY(cairn_vec_reserve(&writer->modules, count + 1, CAIRN_IDS_MAX));
    CAIRN_TRY(reserve_stamp(writer, CAIRN_PART_MODULE));
    copy.build_id.data =
        cairn_arena_dup(&writer->arena, def->build_id.data, def->build_id.size_bytes);
    if (copy.build_id.data == NULL)
        return -CAIRN_ENOMEM;
    writer->modules.items[count] = copy;
    *ret_id = add_stamp(writer, CAIRN_PART_MODULE, 24);
    return 0;
}

static uint64_t hash_of(const struct cairn_idset *set, uint64_t key_a, uint64_t key_b)
{
    const uint64_t key[2] = {key_a, key_b};

    return XXH3_64bits_withSeed(key, sizeof(key), set->seed);
}

static uint32_t find_location(const struct cairn_writer *writer,
                              const struct cairn_location_def *def, uint64_t hash)
{
    size_t at;
    uint32_t id = cairn_idset_first(&writer->locations_by_content, hash, &at);

    for (; id != 0; id = cairn_idset_next(&writer->locations_by_content, hash, &at)) {
        const struct cairn_location_def *known = &writer->locations.items[id];

        if (known->kind == def->kind && known->ref == def->ref && known->offset == def->offset)
            break;
    }
    return id;
}

static uint32_t find_stack(const struct cairn_writer *writer, uint32_t parent, uint32_t location,
                           uint64_t hash)
{
    size_t at;
    uint32_t id = cairn_idset_first(&writer->stacks_by_content, hash, &at);

    for (; id != 0; id = cairn_idset_next(&writer->stacks_by_content, hash, &at)) {
        const struct cairn_stack_def *known = &writer->stacks.items[id];

        if (known->parent == parent && known->location == location)
            break;
    }
    return id;
}

int cairn_writer_location(struct cairn_writer *writer, const struct cairn_location_def *def,
                          uint32_t *ret_id)
{
    static const enum cairn_part parts[] = {
        [CAIRN_LOC_PYTHON] = CAIRN_PART_CODE,
        [CAIRN_LOC_NATIVE] = CAIRN_PART_MODULE,
        [CAIRN_LOC_LABEL] = CAIRN_PART_STRING,
    };
    size_t count = cairn_writer_count(writer, CAIRN_PART_LOCATION);
    struct cairn_location_def copy = *def;
    uint64_t hash;
    uint32_t id;

    if (def->kind < CAIRN_LOC_PYTHON || def->kind > CAIRN_LOC_LABEL ||
        !knows(writer, parts[def->kind], def->ref) ||
        (def->ref == 0 && def->kind != CAIRN_LOC_LABEL))
        return -CAIRN_EINTERNAL;
    if (def->kind == CAIRN_LOC_LABEL)
        copy.offset = 0;
    hash = hash_of(&writer->locations_by_content, (uint64_t)copy.kind << 32 | copy.ref,
                   (uint64_t)copy.offset);
    id = find_location(writer, &copy, hash);
    if (id != 0) {
        *ret_id = id;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&writer->locations, count + 1, CAIRN_IDS_MAX));
    CAIRN_TRY(reserve_stamp(writer, CAIRN_PART_LOCATION));
    CAIRN_TRY(cairn_idset_add(&writer->locations_by_content, hash, (uint32_t)count));
    writer->locations.items[count] = copy;
    *ret_id = add_stamp(writer, CAIRN_PART_LOCATION, 6);
    return 0;
}

int cairn_writer_stack(struct cairn_writer *writer, uint32_t parent, uint32_t location,
                       uint32_t *ret_id)
{
    size_t count = cairn_writer_count(writer, CAIRN_PART_STACK);
    uint64_t hash = hash_of(&writer->stacks_by_content, parent, location);
    uint32_t id = find_stack(writer, parent, location, hash);

    if (id != 0) {
        *ret_id = id;
        return 0;
    }
    if (location == 0 || !knows(writer, CAIRN_PART_LOCATION, location) ||
        !knows(writer, CAIRN_PART_STACK, parent))
        return -CAIRN_EINTERNAL;
    CAIRN_TRY(cairn_vec_reserve(&writer->stacks, count + 1, CAIRN_IDS_MAX));
    CAIRN_TRY(reserve_stamp(writer, CAIRN_PART_STACK));
    CAIRN_TRY(cairn_idset_add(&writer->stacks_by_content, hash, (uint32_t)count));
    writer->stacks.items[count] = (struct cairn_stack_def){parent, location};
    *ret_id = add_stamp(writer, CAIRN_PART_STACK, 3);
    return 0;
}

static bool same_track(const struct cairn_track_def *a, const struct cairn_track_def *b)
{
    return a->kind == b->kind && a->parent == b->parent && a->number == b->number &&
           a->start_ns == b->start_ns && a->boot_id == b->boot_id && a->name == b->name &&
           a->detail == b->detail && a->birth == b->birth;
}

static int replace_track(struct cairn_writer *writer, const struct cairn_track_def *def,
                         uint32_t id)
{
    struct cairn_part_state *state = &writer->parts[CAIRN_PART_TRACK];
    const struct cairn_track_def *known = cairn_writer_tracks_get(&writer->tracks, id);
    size_t count = writer->changed_tracks.count;

    if (!known)
        return -CAIRN_EINTERNAL; /* it was said to be over */
    if (same_track(known, def))
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&writer->changed_tracks, count + 1, CAIRN_IDS_MAX));
    CAIRN_TRY(cairn_writer_tracks_put(&writer->tracks, id, def));
    *cairn_writer_tracks_stamp(&writer->tracks, id) = 0;
    if (id < state->fresh) {
        writer->changed_tracks.items[count] = id;
        writer->changed_tracks.count++;
    }
    writer->dict_bytes += 16;
    return 0;
}

int cairn_writer_track(struct cairn_writer *writer, const struct cairn_track_def *def,
                       uint32_t *ret_id)
{
    size_t count = cairn_writer_count(writer, CAIRN_PART_TRACK);
    size_t id = *ret_id == 0 ? count : *ret_id;

    if (id > count || def->parent >= id || def->kind < CAIRN_TRACK_PROCESS ||
        def->kind > CAIRN_TRACK_GPU_STREAM || !knows(writer, CAIRN_PART_STRING, def->boot_id) ||
        !knows(writer, CAIRN_PART_STRING, def->name) ||
        !knows(writer, CAIRN_PART_STRING, def->detail))
        return -CAIRN_EINTERNAL;
    if (id < count)
        return replace_track(writer, def, (uint32_t)id);
    CAIRN_TRY(cairn_writer_tracks_put(&writer->tracks, (uint32_t)count, def));
    writer->dict_bytes += 16;
    *ret_id = (uint32_t)writer->parts[CAIRN_PART_TRACK].count++;
    return 0;
}

void cairn_writer_track_end(struct cairn_writer *writer, uint32_t id)
{
    cairn_writer_tracks_end(&writer->tracks, id);
}

int cairn_writer_env(struct cairn_writer *writer, const char *key, struct cairn_span value)
{
    struct cairn_span key_span = {(const uint8_t *)key, strlen(key)};
    size_t before_bytes = writer->env.size_bytes;
    int code;

    if (value.size_bytes > CAIRN_STRING_MAX_BYTES)
        value.size_bytes = cut_bytes(value, CAIRN_STRING_MAX_BYTES);
    cairn_buf_bytes(&writer->env, key_span);
    code = cairn_buf_bytes(&writer->env, value);
    if (code < 0) {
        /* The key alone is no entry. The text of what was there stays good. */
        writer->env.size_bytes = before_bytes;
        writer->env.code = 0;
    }
    return code;
}

int cairn_writer_counter(struct cairn_writer *writer, const char *name, uint64_t value)
{
    struct cairn_writer_counter *counter;
    size_t count = writer->counters.count;

    if (strlen(name) > CAIRN_NAME_MAX_BYTES)
        return -CAIRN_EINTERNAL;
    for (size_t i = 0; i < count; i++) {
        counter = &writer->counters.items[i];
        if (strcmp(counter->name, name) == 0) {
            counter->dirty |= counter->value != value;
            counter->value = value;
            return 0;
        }
    }
    CAIRN_TRY(cairn_vec_reserve(&writer->counters, count + 1, COUNTERS_MAX));
    counter = &writer->counters.items[writer->counters.count++];
    memcpy(counter->name, name, strlen(name) + 1);
    counter->value = value;
    counter->dirty = true;
    return 0;
}

int cairn_writer_clock(struct cairn_writer *writer)
{
    char boot_id[37];
    struct cairn_clock_def clock;
    size_t count = writer->clocks.count;

    cairn_clock_boot_id(boot_id);
    CAIRN_TRY(cairn_vec_reserve(&writer->clocks, count + 1, CLOCKS_MAX));
    CAIRN_TRY(cairn_writer_str(writer, boot_id, &clock.boot_id));
    clock.mono_ns = cairn_clock_mono_ns();
    clock.boot_ns = cairn_clock_boot_ns();
    clock.real_ns = cairn_clock_real_ns();
    writer->clocks.items[count] = clock;
    writer->clocks.count++;
    writer->clock_wanted = true;
    return 0;
}

size_t cairn_writer_pending_bytes(const struct cairn_writer *writer)
{
    return writer->row_bytes + writer->dict_bytes;
}

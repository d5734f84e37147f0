/* The sections of a chunk into the raw tables. */
#include "model_raw.h"

#include "err.h"

#define RAW_MAX (1u << 30)

int cairn_model_columns(struct cairn_loader *loader, struct cairn_span section,
                        const char *const *wanted, size_t needed, const uint64_t **ret_columns)
{
    struct cairn_table *table = &loader->table;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    for (size_t i = 0; wanted[i]; i++) {
        ret_columns[i] = cairn_table_find(table, wanted[i]);
        if (i < needed && !ret_columns[i])
            return 0;
    }
    return 1;
}

/* The model's string for a writer's; "[unknown]" for one that was lost. */
static uint32_t string_of(struct cairn_loader *loader, uint32_t writer, uint32_t id)
{
    uint32_t found;

    if (id == 0)
        return 0;
    found = cairn_ids_get(&loader->model->writers.items[writer].strings, id);
    if (found != CAIRN_RAW_LOST)
        return found;
    loader->model->quality.unknown_refs++;
    return loader->unknown;
}

static uint32_t ref_of(struct cairn_loader *loader, const struct cairn_ids *ids, uint32_t id)
{
    uint32_t found = cairn_ids_get(ids, id);

    loader->model->quality.unknown_refs += found == CAIRN_RAW_LOST;
    return found;
}

static int read_strings(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    for (;;) {
        struct cairn_span bytes;
        uint32_t id, string;

        CAIRN_TRY(cairn_dict_string(dict, &id, &bytes));
        CAIRN_TRY(cairn_intern_add(&loader->model->strings, bytes, &string));
        CAIRN_TRY(cairn_ids_put(&loader->model->writers.items[writer].strings, id, string));
    }
}

static int read_codes(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    for (;;) {
        struct cairn_code_def def;
        size_t count = loader->codes.count;
        uint32_t id;

        CAIRN_TRY(cairn_dict_code(dict, &id, &def));
        CAIRN_TRY(cairn_vec_reserve(&loader->codes, count + 1, RAW_MAX));
        CAIRN_TRY(cairn_ids_put(&loader->writers.items[writer].codes, id, (uint32_t)count));
        loader->codes.items[loader->codes.count++] = (struct cairn_raw_code){
            .name = string_of(loader, writer, def.name),
            .qualname = string_of(loader, writer, def.qualname),
            .file = string_of(loader, writer, def.file),
            .first_line = def.first_line,
        };
    }
}

static int read_linetables(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    for (;;) {
        struct cairn_linetable_def def;
        struct cairn_raw_code *code;
        uint32_t at;
        void *copy;

        CAIRN_TRY(cairn_dict_linetable(dict, &def));
        at = ref_of(loader, &loader->writers.items[writer].codes, def.code);
        if (at == CAIRN_RAW_LOST)
            continue;
        copy = cairn_arena_dup(&loader->tables, def.bytes.data, def.bytes.size_bytes);
        if (!copy)
            return -CAIRN_ENOMEM;
        code = &loader->codes.items[at];
        code->table_kind = def.kind;
        code->table = (struct cairn_span){copy, def.bytes.size_bytes};
    }
}

static int read_modules(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    for (;;) {
        struct cairn_module_def def;
        uint32_t id, path;

        CAIRN_TRY(cairn_dict_module(dict, &id, &def));
        path = string_of(loader, writer, def.path);
        CAIRN_TRY(cairn_ids_put(&loader->writers.items[writer].modules, id, path));
    }
}

static uint32_t location_ref(struct cairn_loader *loader, uint32_t writer,
                             const struct cairn_location_def *def)
{
    const struct cairn_raw_writer *raw = &loader->writers.items[writer];

    switch (def->kind) {
    case CAIRN_LOC_PYTHON:
        return ref_of(loader, &raw->codes, def->ref);
    case CAIRN_LOC_NATIVE:
        return ref_of(loader, &raw->modules, def->ref);
    default:
        return string_of(loader, writer, def->ref);
    }
}

static int read_locations(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    for (;;) {
        struct cairn_location_def def;
        size_t count = loader->locations.count;
        uint32_t id;

        CAIRN_TRY(cairn_dict_location(dict, &id, &def));
        CAIRN_TRY(cairn_vec_reserve(&loader->locations, count + 1, RAW_MAX));
        CAIRN_TRY(cairn_ids_put(&loader->writers.items[writer].locations, id, (uint32_t)count));
        loader->locations.items[loader->locations.count++] = (struct cairn_raw_location){
            .kind = def.kind,
            .ref = location_ref(loader, writer, &def),
            .offset = def.offset,
        };
    }
}

static int read_stacks(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    const struct cairn_ids *locations = &loader->writers.items[writer].locations;
    struct cairn_ids *stacks = &loader->model->writers.items[writer].stacks;

    for (;;) {
        struct cairn_stack_def def;
        size_t count = loader->stacks.count;
        uint32_t id, parent;

        CAIRN_TRY(cairn_dict_stack(dict, &id, &def));
        CAIRN_TRY(cairn_vec_reserve(&loader->stacks, count + 1, RAW_MAX));
        parent = def.parent ? ref_of(loader, stacks, def.parent) : CAIRN_RAW_NONE;
        CAIRN_TRY(cairn_ids_put(stacks, id, (uint32_t)count));
        loader->stacks.items[loader->stacks.count++] = (struct cairn_raw_stack){
            .parent = parent,
            .location = ref_of(loader, locations, def.location),
        };
    }
}

static int read_tracks(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    struct cairn_ids *tracks = &loader->model->writers.items[writer].tracks;

    for (;;) {
        struct cairn_track_def def;
        uint32_t id, at;

        CAIRN_TRY(cairn_dict_track(dict, &id, &def));
        at = cairn_ids_get(tracks, id);
        if (at == CAIRN_RAW_LOST) {
            at = (uint32_t)loader->tracks.count;
            CAIRN_TRY(cairn_vec_reserve(&loader->tracks, (size_t)at + 1, RAW_MAX));
            CAIRN_TRY(cairn_ids_put(tracks, id, at));
            loader->tracks.count++;
        }
        loader->tracks.items[at] = (struct cairn_raw_track){
            .kind = def.kind,
            .parent = def.parent ? ref_of(loader, tracks, def.parent) : CAIRN_RAW_NONE,
            .number = def.number,
            .start_ns = def.start_ns,
            .boot_id = string_of(loader, writer, def.boot_id),
            .name = string_of(loader, writer, def.name),
            .detail = string_of(loader, writer, def.detail),
            .birth = def.birth,
            .writer = writer,
            .said_ns = loader->files.items[loader->writers.items[writer].file].last_ns,
        };
    }
}

/* Within a recording a later value replaces an earlier one; of several the first holds. */
static int read_env(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    struct cairn_model *model = loader->model;
    const struct cairn_raw_file *files = loader->files.items;
    uint64_t recording = files[loader->writers.items[writer].file].recording;
    bool may_replace = recording == files[0].recording;

    for (;;) {
        struct cairn_span key_bytes, value_bytes;
        uint32_t key, value;
        uint64_t at;

        CAIRN_TRY(cairn_dict_env(dict, &key_bytes, &value_bytes));
        CAIRN_TRY(cairn_intern_add(&model->strings, key_bytes, &key));
        CAIRN_TRY(cairn_intern_add(&model->strings, value_bytes, &value));
        CAIRN_TRY(cairn_map_put(&loader->told, recording, key, value));
        if (cairn_map_get(&loader->env, key, 0, &at)) {
            if (may_replace)
                model->env.items[at].value = value;
            continue;
        }
        at = model->env.count;
        CAIRN_TRY(cairn_vec_reserve(&model->env, at + 1, RAW_MAX));
        CAIRN_TRY(cairn_map_put(&loader->env, key, 0, at));
        model->env.items[model->env.count++] = (struct cairn_model_env_entry){key, value};
    }
}

static int read_counters(struct cairn_loader *loader, uint32_t writer, struct cairn_dict *dict)
{
    for (;;) {
        struct cairn_span name_bytes;
        uint64_t value, at;
        uint32_t name;

        CAIRN_TRY(cairn_dict_counter(dict, &name_bytes, &value));
        CAIRN_TRY(cairn_intern_add(&loader->model->strings, name_bytes, &name));
        if (!cairn_map_get(&loader->counter_index, writer, name, &at)) {
            at = loader->counters.count;
            CAIRN_TRY(cairn_vec_reserve(&loader->counters, at + 1, RAW_MAX));
            CAIRN_TRY(cairn_map_put(&loader->counter_index, writer, name, at));
            loader->counters.count++;
        }
        loader->counters.items[at] = (struct cairn_raw_counter){writer, name, value};
    }
}

static void see_time(struct cairn_raw_file *file, uint64_t first_ns, uint64_t last_ns)
{
    if (file->first_ns > first_ns)
        file->first_ns = first_ns;
    if (file->last_ns < last_ns)
        file->last_ns = last_ns;
}

static int read_ticks(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    struct cairn_ticks_def *def = &loader->ticks.def;
    int code = cairn_decode_ticks(section, &loader->ticks);

    if (code < 0) {
        def->count = 0;
        return code;
    }
    loader->ticks_seen += def->count;
    if (def->count)
        see_time(&loader->files.items[loader->writers.items[writer].file], def->before_ns,
                 def->times_ns[def->count - 1]);
    return 0;
}

static int read_writer(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    struct cairn_writer_def def;

    CAIRN_TRY(cairn_decode_writer(section, &def));
    return cairn_intern_add(&loader->model->strings, def.boot_id,
                            &loader->writers.items[writer].boot_id);
}

static int read_clock(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    struct cairn_raw_file *file = &loader->files.items[loader->writers.items[writer].file];
    struct cairn_clock_def def;

    CAIRN_TRY(cairn_decode_clock(section, &def));
    if (file->has_anchor)
        return 0;
    file->has_anchor = true;
    file->boot_id = string_of(loader, writer, def.boot_id);
    file->mono_ns = def.mono_ns;
    file->real_ns = def.real_ns;
    return 0;
}

static int read_set(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    struct cairn_raw_file *file = &loader->files.items[loader->writers.items[writer].file];
    uint64_t set_id, sequence, parent;

    CAIRN_TRY(cairn_decode_set(section, &set_id, &sequence, &parent));
    file->set_id = set_id;
    for (size_t i = loader->files.count; i-- > 0 && parent;)
        if (loader->files.items[i].id == parent) {
            parent = loader->files.items[i].recording;
            break;
        }
    if (parent) /* else it is the first; the one before may be missing */
        file->recording = parent;
    return 0;
}

static int read_dict(struct cairn_loader *loader, uint32_t writer,
                     const struct cairn_section *section)
{
    struct cairn_dict dict;

    cairn_dict_init(&dict, section->bytes);
    switch (section->kind) {
    case CAIRN_SECTION_STRINGS:
        return read_strings(loader, writer, &dict);
    case CAIRN_SECTION_CODES:
        return read_codes(loader, writer, &dict);
    case CAIRN_SECTION_LINETABLES:
        return read_linetables(loader, writer, &dict);
    case CAIRN_SECTION_MODULES:
        return read_modules(loader, writer, &dict);
    case CAIRN_SECTION_LOCATIONS:
        return read_locations(loader, writer, &dict);
    case CAIRN_SECTION_STACKS:
        return read_stacks(loader, writer, &dict);
    case CAIRN_SECTION_TRACKS:
        return read_tracks(loader, writer, &dict);
    case CAIRN_SECTION_ENV:
        return read_env(loader, writer, &dict);
    case CAIRN_SECTION_COUNTERS:
        return read_counters(loader, writer, &dict);
    default:
        return -CAIRN_EEND; /* symbols are for those who ask for them */
    }
}

/* Tables are counted by what they hold. */
static int read_rows(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    struct cairn_cursor cur;
    uint64_t kind;

    cairn_cursor_init(&cur, section);
    if (cairn_cursor_uvarint(&cur, &kind) < 0)
        kind = 0;
    loader->row_kinds |= kind < 32 ? (uint32_t)1 << kind : 0;
    if (kind == CAIRN_ROW_EVENT || kind == CAIRN_ROW_MARK)
        return 0; /* read when somebody asks (events.h) */
    if (kind == CAIRN_ROW_TASK)
        return cairn_model_count_tasks(loader, writer, section);
    if (kind == CAIRN_ROW_TREE)
        return cairn_model_take_calls(loader, writer, section);
    if (kind == CAIRN_ROW_PAIR)
        return cairn_model_take_pairs(loader, writer, section);
    if (kind == CAIRN_ROW_LINE)
        return cairn_model_take_counted(loader, writer, section);
    if (kind == CAIRN_ROW_OPCODE)
        return cairn_model_take_opcodes(loader, writer, section);
    if (kind == CAIRN_ROW_GIVEN)
        return cairn_model_take_given(loader, writer, section);
    return cairn_model_count_rows(loader, writer, section);
}

int cairn_model_section(struct cairn_loader *loader, uint32_t writer,
                        const struct cairn_section *section)
{
    int code;

    switch (section->kind) {
    case CAIRN_SECTION_WRITER:
        return read_writer(loader, writer, section->bytes);
    case CAIRN_SECTION_TICKS:
        return read_ticks(loader, writer, section->bytes);
    case CAIRN_SECTION_ROWS:
        return read_rows(loader, writer, section->bytes);
    case CAIRN_SECTION_CLOCK:
        return read_clock(loader, writer, section->bytes);
    case CAIRN_SECTION_SET:
        return read_set(loader, writer, section->bytes);
    default:
        code = read_dict(loader, writer, section);
        return code == -CAIRN_EEND ? 0 : code;
    }
}

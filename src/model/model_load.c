/* From recordings to a model: read all dictionaries, join them, count what the rows hold. */
#include "model_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "loadahead.h"
#include "set.h"

#define TABLES_MAX_BYTES ((size_t)8 << 30)

static int loader_init(struct cairn_loader *loader)
{
    *loader = (struct cairn_loader){0};
    cairn_arena_init(&loader->tables, TABLES_MAX_BYTES);
    cairn_map_init(&loader->env, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&loader->told, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&loader->task_index, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&loader->counter_index, CAIRN_MODEL_ITEMS_MAX);
    CAIRN_TRY(cairn_model_new(&loader->model));
    loader->model->quality.ended = true;
    loader->model->first_ns = UINT64_MAX;
    CAIRN_TRY(cairn_intern_str(&loader->model->strings, "[not python]", &loader->not_python));
    return cairn_intern_str(&loader->model->strings, "[unknown]", &loader->unknown);
}

static void loader_release(struct cairn_loader *loader)
{
    for (size_t i = 0; i < loader->writers.count; i++) {
        cairn_ids_release(&loader->writers.items[i].codes);
        cairn_ids_release(&loader->writers.items[i].modules);
        cairn_ids_release(&loader->writers.items[i].locations);
        cairn_vec_release(&loader->writers.items[i].stack_ticks);
        cairn_ids_release(&loader->writers.items[i].met_tracks);
        cairn_ids_release(&loader->writers.items[i].met_stacks);
    }
    cairn_vec_release(&loader->writers);
    cairn_vec_release(&loader->files);
    cairn_vec_release(&loader->codes);
    cairn_vec_release(&loader->locations);
    cairn_vec_release(&loader->stacks);
    cairn_vec_release(&loader->tracks);
    cairn_vec_release(&loader->counters);
    cairn_vec_release(&loader->tasks);
    cairn_vec_release(&loader->calls);
    cairn_vec_release(&loader->pairs);
    cairn_vec_release(&loader->counted);
    cairn_vec_release(&loader->opcodes);
    cairn_vec_release(&loader->given);
    cairn_map_release(&loader->task_index);
    cairn_map_release(&loader->env);
    cairn_map_release(&loader->told);
    cairn_map_release(&loader->counter_index);
    cairn_ticks_release(&loader->ticks);
    cairn_table_release(&loader->table);
    cairn_vec_release(&loader->met_tracks);
    cairn_vec_release(&loader->met_stacks);
    cairn_arena_release(&loader->tables);
    cairn_model_free(loader->model);
}

/* The index of a chunk's writer; new ones get their tables. */
static int writer_of(struct cairn_loader *loader, uint32_t file, uint32_t id, uint32_t *ret_writer)
{
    struct cairn_model *model = loader->model;
    size_t count = model->writers.count;
    uint64_t found;

    if (cairn_map_get(&model->writer_index, file, id, &found)) {
        *ret_writer = (uint32_t)found;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&model->writers, count + 1, CAIRN_MODEL_ITEMS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&loader->writers, count + 1, CAIRN_MODEL_ITEMS_MAX));
    CAIRN_TRY(cairn_map_put(&model->writer_index, file, id, count));
    cairn_ids_init(&model->writers.items[count].stacks);
    cairn_ids_init(&model->writers.items[count].tracks);
    cairn_ids_init(&model->writers.items[count].strings);
    cairn_ids_init(&loader->writers.items[count].codes);
    cairn_ids_init(&loader->writers.items[count].modules);
    cairn_ids_init(&loader->writers.items[count].locations);
    cairn_ids_init(&loader->writers.items[count].met_tracks);
    cairn_ids_init(&loader->writers.items[count].met_stacks);
    loader->writers.items[count].id = id;
    loader->writers.items[count].file = file;
    model->writers.count = loader->writers.count = count + 1;
    *ret_writer = (uint32_t)count;
    return 0;
}

/* Damage inside one section costs the rest of that section. */
static int read_sections(struct cairn_loader *loader, uint32_t writer, struct cairn_span sections)
{
    struct cairn_quality *quality = &loader->model->quality;
    struct cairn_cursor cur;
    bool damaged = false;
    int code;

    cairn_cursor_init(&cur, sections);
    loader->ticks.def.count = 0; /* those of a chunk are its own */
    for (;;) {
        struct cairn_section section;

        code = cairn_section_next(&cur, &section, &quality->skipped_sections);
        if (code < 0)
            break;
        code = cairn_model_section(loader, writer, &section);
        if (code < 0 && code != -CAIRN_EDAMAGED)
            return code;
        damaged |= code < 0;
    }
    if (code != -CAIRN_EEND && code != -CAIRN_EDAMAGED)
        return code;
    quality->damaged_chunks += damaged || code == -CAIRN_EDAMAGED;
    return 0;
}

/* The chunks of a file, one after the other. */
struct parts {
    struct cairn_reader *reader;
    struct cairn_loadahead *ahead; /* NULL: loaded when they are asked for, into: */
    struct cairn_buf buf;
};

static void parts_begin(struct parts *parts, struct cairn_reader *reader)
{
    *parts = (struct parts){.reader = reader};
    cairn_buf_init(&parts->buf, CAIRN_CHUNK_MAX_BYTES);
    if (cairn_reader_chunk_count(reader) >= CAIRN_MODEL_LONG_CHUNKS)
        parts->ahead = cairn_loadahead_begin(reader);
}

static void parts_end(struct parts *parts)
{
    cairn_loadahead_free(parts->ahead);
    cairn_buf_release(&parts->buf);
}

static int load_part(struct parts *parts, size_t index, struct cairn_span *ret_sections,
                     struct cairn_err *err)
{
    return parts->ahead ? cairn_loadahead_next(parts->ahead, index, ret_sections, err)
                        : cairn_reader_load(parts->reader, index, &parts->buf, ret_sections, err);
}

static int read_chunk(struct cairn_loader *loader, struct parts *parts, size_t index, uint32_t file,
                      struct cairn_err *err)
{
    const struct cairn_chunk_info *info = cairn_reader_chunk(parts->reader, index);
    struct cairn_raw_file *raw = &loader->files.items[file];
    struct cairn_span sections;
    uint32_t writer;
    int code;

    if (!info->understood)
        return 0;
    if (info->first_ns <= info->last_ns) {
        raw->first_ns = info->first_ns < raw->first_ns ? info->first_ns : raw->first_ns;
        raw->last_ns = info->last_ns > raw->last_ns ? info->last_ns : raw->last_ns;
    }
    code = load_part(parts, index, &sections, err);
    if (code == -CAIRN_EDAMAGED)
        return 0; /* the reader counted it */
    if (code < 0)
        return code;
    code = writer_of(loader, file, info->writer, &writer);
    if (code == 0)
        code = read_sections(loader, writer, sections);
    if (code == -CAIRN_ETOONEW)
        return cairn_err_set(err, code, 0, "model", "the recording is of a newer format");
    if (code < 0)
        return cairn_err_set(err, code, 0, "model", "cannot read the recording");
    return 0;
}

static void add_losses(struct cairn_quality *quality, const struct cairn_reader *reader)
{
    const struct cairn_reader_stats *stats = cairn_reader_stats(reader);

    quality->bytes += stats->file_bytes;
    quality->jumped_bytes += stats->jumped_bytes;
    quality->jumped_chunks += stats->jumped_chunks;
    quality->skipped_chunks += stats->skipped_chunks;
    quality->damaged_chunks += stats->damaged_chunks;
}

/* Room for a file of the model, with a descriptor of its own. */
static int add_file(struct cairn_loader *loader, const struct cairn_reader *reader,
                    struct cairn_err *err)
{
    struct cairn_model *model = loader->model;
    size_t count = model->files.count, chunk_count = cairn_reader_chunk_count(reader);
    struct cairn_model_chunk *chunks;
    int fd;

    if (cairn_vec_reserve(&model->files, count + 1, CAIRN_MODEL_ITEMS_MAX) < 0 ||
        cairn_vec_reserve(&loader->files, count + 1, CAIRN_MODEL_ITEMS_MAX) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "model", "cannot read the recording");
    chunks = cairn_calloc(chunk_count + 1, sizeof(*chunks));
    if (!chunks)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "model", "cannot read the recording");
    fd = fcntl(cairn_reader_fd(reader), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        free(chunks);
        return cairn_err_set(err, -CAIRN_EIO, errno, "model", "cannot read the recording");
    }
    model->files.items[count] = (struct cairn_model_file){
        .fd = fd,
        .chunk_count = chunk_count,
        .chunks = chunks,
    };
    loader->files.items[count] = (struct cairn_raw_file){
        .id = cairn_reader_stats(reader)->file_id,
        .set_id = cairn_reader_stats(reader)->file_id,
        .recording = cairn_reader_stats(reader)->file_id,
        .first_ns = UINT64_MAX,
    };
    model->files.count = loader->files.count = count + 1;
    return 0;
}

/* What an engine's rows take on disk, with the names that came with them. */
static void add_bytes(struct cairn_quality *quality, const struct cairn_chunk_info *info,
                      uint32_t holds)
{
    const uint32_t counts = 1u << CAIRN_ROW_TREE | 1u << CAIRN_ROW_LINE | 1u << CAIRN_ROW_OPCODE |
                            1u << CAIRN_ROW_GIVEN | 1u << CAIRN_ROW_PAIR;

    if (holds & 1u << CAIRN_ROW_EVENT)
        quality->tracing_bytes += info->stored_bytes;
    else if (holds & counts)
        quality->counting_bytes += info->stored_bytes;
}

int cairn_model_read(struct cairn_loader *loader, struct cairn_reader *reader,
                     struct cairn_err *err)
{
    uint32_t file = (uint32_t)loader->model->files.count;
    struct parts parts;
    int code;

    CAIRN_TRY(add_file(loader, reader, err));
    parts_begin(&parts, reader);
    code = 0;
    for (size_t i = 0; i < loader->model->files.items[file].chunk_count && code == 0; i++) {
        struct cairn_model_chunk *chunk = &loader->model->files.items[file].chunks[i];
        uint64_t ticks_before = loader->ticks_seen;
        double done = (double)i / (double)loader->model->files.items[file].chunk_count;

        cairn_progress_tell(loader->model->progress, loader->told_from + loader->told_step * done);
        loader->row_kinds = 0;
        code = read_chunk(loader, &parts, i, file, err);
        chunk->ticks = (uint32_t)(loader->ticks_seen - ticks_before);
        chunk->holds = loader->row_kinds | (chunk->ticks > 0);
        add_bytes(&loader->model->quality, cairn_reader_chunk(reader, i), chunk->holds);
    }
    parts_end(&parts); /* from here on the reader's losses are all there */
    add_losses(&loader->model->quality, reader);
    return code;
}

/* How far a file's times are from the first file's clock, over real time; wraps. */
static uint64_t shift_of(const struct cairn_raw_file *raw, const struct cairn_raw_file *first)
{
    if (!raw->has_anchor || !first->has_anchor || raw->boot_id == first->boot_id)
        return 0;
    return (raw->real_ns - raw->mono_ns) - (first->real_ns - first->mono_ns);
}

/* Times of another boot or host are moved onto the first file's clock; and all of them on, should
 * some lie before that clock began to count. */
static void join_clocks(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;
    const struct cairn_raw_file *raws = loader->files.items;
    int64_t earliest_ns = 0;

    for (size_t i = 0; i < loader->files.count; i++) {
        int64_t first_ns = (int64_t)(raws[i].first_ns + shift_of(&raws[i], &raws[0]));

        if (raws[i].first_ns <= raws[i].last_ns && first_ns < earliest_ns)
            earliest_ns = first_ns;
    }
    model->has_real = loader->files.count > 0 && raws[0].has_anchor;
    if (model->has_real)
        model->real_shift_ns = raws[0].real_ns - raws[0].mono_ns + (uint64_t)earliest_ns;
    for (size_t i = 0; i < loader->files.count; i++) {
        uint64_t shift_ns = shift_of(&raws[i], &raws[0]) - (uint64_t)earliest_ns;

        model->files.items[i].shift_ns = shift_ns;
        if (raws[i].first_ns > raws[i].last_ns)
            continue;
        if (model->first_ns > raws[i].first_ns + shift_ns)
            model->first_ns = raws[i].first_ns + shift_ns;
        if (model->last_ns < raws[i].last_ns + shift_ns)
            model->last_ns = raws[i].last_ns + shift_ns;
    }
    if (model->first_ns > model->last_ns)
        model->first_ns = model->last_ns = 0;
}

static int by_key(const void *left, const void *right, void *strings)
{
    const struct cairn_model_env_entry *a = left, *b = right;
    struct cairn_span key_a = cairn_intern_get(strings, a->key);
    struct cairn_span key_b = cairn_intern_get(strings, b->key);
    size_t common_bytes = key_a.size_bytes < key_b.size_bytes ? key_a.size_bytes : key_b.size_bytes;
    int order = memcmp(key_a.data, key_b.data, common_bytes);

    return order ? order
                 : (key_a.size_bytes > key_b.size_bytes) - (key_a.size_bytes < key_b.size_bytes);
}

/* Sums over writers; of a writer that went on in other files of its set, the latest. */
static int sum_counters(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;
    struct cairn_map latest, names;
    int code = 0;

    cairn_map_init(&latest, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&names, CAIRN_MODEL_ITEMS_MAX);
    /* Backwards: files stand in the order they were written. */
    for (size_t i = loader->counters.count; i-- > 0 && code == 0;) {
        const struct cairn_raw_counter *raw = &loader->counters.items[i];
        const struct cairn_raw_writer *writer = &loader->writers.items[raw->writer];
        uint64_t set_id = loader->files.items[writer->file].set_id;
        uint64_t who = (uint64_t)writer->id << 32 | raw->name, at;

        if (cairn_map_get(&latest, set_id, who, &at))
            continue;
        code = cairn_map_put(&latest, set_id, who, 1);
        if (code == 0 && !cairn_map_get(&names, raw->name, 0, &at)) {
            at = model->counters.count;
            code = cairn_vec_reserve(&model->counters, at + 1, CAIRN_MODEL_ITEMS_MAX);
            if (code == 0)
                code = cairn_map_put(&names, raw->name, 0, at);
            if (code == 0)
                model->counters.items[model->counters.count++].name = raw->name;
        }
        if (code == 0)
            model->counters.items[at].value += raw->value;
    }
    cairn_map_release(&latest);
    cairn_map_release(&names);
    return code;
}

/* What the rows hold is counted from the rows, so that reports and exports cannot differ from it.
 */
static int fill_quality(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;
    struct cairn_quality *quality = &model->quality;

    quality->ticks = loader->ticks_seen;
    quality->unreadable = cairn_model_counter(model, "unreadable");
    quality->missed = cairn_model_counter(model, "missed");
    quality->reread = cairn_model_counter(model, "reread");
    quality->nameless = cairn_model_counter(model, "nameless");
    quality->unseen = cairn_model_counter(model, "unseen");
    quality->records_lost = cairn_model_counter(model, "records_lost");
    quality->untold_cpu_ns = cairn_model_counter(model, "untold_cpu_ns");
    quality->own_cpu_ns = cairn_model_counter(model, "own_cpu_ns");
    return cairn_model_counted(loader);
}

static int finish(struct cairn_loader *loader, struct cairn_err *err)
{
    struct cairn_model *model = loader->model;
    int code = cairn_model_join(loader);

    if (code == 0)
        code = cairn_model_mark(model);
    if (code == 0)
        code = cairn_model_join_tasks(loader);
    if (code == 0)
        code = cairn_model_join_calls(loader);
    if (code == 0)
        code = cairn_model_join_pairs(loader);
    if (code == 0)
        code = sum_counters(loader);
    if (code == 0)
        code = fill_quality(loader);
    if (code == 0)
        code = cairn_model_sum_runs(loader);
    if (code < 0)
        return cairn_err_set(err, code, 0, "model", "cannot join the recording's parts");
    join_clocks(loader);
    if (model->env.count)
        qsort_r(model->env.items, model->env.count, sizeof(*model->env.items), by_key,
                &model->strings);
    return cairn_samples_count_entries(model, err);
}

/* `told_step`: which share of the whole work this set is. */
static int load_set(struct cairn_loader *loader, const char *path, double told_step,
                    struct cairn_err *err)
{
    struct cairn_set *set;
    size_t count;
    int code;

    CAIRN_TRY(cairn_set_open(path, &set, err));
    count = cairn_set_count(set);
    code = 0;
    loader->told_step = told_step / (double)count;
    for (size_t i = 0; i < count && code == 0; i++) {
        code = cairn_model_read(loader, cairn_set_reader(set, i), err);
        loader->told_from += loader->told_step;
    }
    loader->model->quality.missing_files += cairn_set_missing(set);
    loader->model->quality.ended &= cairn_reader_stats(cairn_set_reader(set, count - 1))->ended;
    cairn_set_free(set);
    return code;
}

int cairn_model_load(const char *const *paths, size_t count, struct cairn_model **ret_model,
                     struct cairn_err *err)
{
    return cairn_model_load_told(paths, count, NULL, ret_model, err);
}

int cairn_model_load_told(const char *const *paths, size_t count, struct cairn_progress *progress,
                          struct cairn_model **ret_model, struct cairn_err *err)
{
    struct cairn_loader loader;
    int code = loader_init(&loader);

    if (code < 0)
        cairn_err_set(err, code, 0, "model", "cannot read the recording");
    else
        loader.model->progress = progress;
    for (size_t i = 0; i < count && code == 0; i++) {
        code = load_set(&loader, paths[i], 0.5 / (double)count, err);
        if (code < 0 && count > 1 && err && !strstr(err->text, paths[i]))
            cairn_err_add(err, "The file is %.300s.", paths[i]);
    }
    if (code == 0)
        code = finish(&loader, err);
    if (code == 0) {
        *ret_model = loader.model;
        loader.model = NULL;
    }
    loader_release(&loader);
    return code;
}

int cairn_model_load_fd(int fd, struct cairn_model **ret_model, struct cairn_err *err)
{
    struct cairn_reader *reader = NULL;
    struct cairn_loader loader;
    int code = loader_init(&loader);

    if (code < 0)
        cairn_err_set(err, code, 0, "model", "cannot read the recording");
    else
        code = cairn_reader_open_fd(fd, &reader, err);
    if (code == 0)
        code = cairn_model_read(&loader, reader, err);
    if (code == 0) {
        loader.model->quality.ended = cairn_reader_stats(reader)->ended;
        code = finish(&loader, err);
    }
    cairn_reader_free(reader);
    if (code == 0) {
        *ret_model = loader.model;
        loader.model = NULL;
    }
    loader_release(&loader);
    return code;
}

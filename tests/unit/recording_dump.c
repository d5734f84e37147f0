/* The reading half of recording.h: joins writers and files by content, as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "recording.h"
#include "set.h"

enum { STRING, CODE, MODULE, LOCATION, STACK, TRACK, PARTS };

static const char *const part_names[PARTS] = {"string",   "code",  "module",
                                              "location", "stack", "track"};

struct texts {
    CAIRN_VEC(char *) all; /* by id; NULL: not known */
};

struct writer { /* the dictionaries of one writer in one file */
    uint32_t id;
    struct texts parts[PARTS];
    struct texts track_facts;
};

struct counter {
    uint32_t writer;
    char *name;
    uint64_t value;
};

struct dump {
    CAIRN_VEC(struct writer) writers;
    CAIRN_VEC(struct counter) counters;
    struct cairn_ticks ticks;
    struct cairn_table table;
    struct cairn_buf *lines;
    struct recording_tally *tally;
};

static bool short_of_memory; /* of the dump under way */

static void set_text(struct texts *texts, uint32_t id, char *text)
{
    if (cairn_vec_reserve(&texts->all, (size_t)id + 1, 1 << 20) < 0) {
        free(text);
        short_of_memory = true;
        return;
    }
    if (texts->all.count <= id)
        texts->all.count = (size_t)id + 1;
    free(texts->all.items[id]);
    texts->all.items[id] = text;
}

static const char *get_text(const struct texts *texts, uint64_t id)
{
    if (id < texts->all.count && texts->all.items[id] != NULL)
        return texts->all.items[id];
    return "[unknown]";
}

static const char *get(const struct writer *writer, int part, uint64_t id)
{
    return part == STRING && id == 0 ? "" : get_text(&writer->parts[part], id);
}

__attribute__((format(printf, 4, 5))) static void set(struct writer *writer, int part, uint32_t id,
                                                      const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        set_text(&writer->parts[part], id, text);
    va_end(args);
}

static void add_hex(struct cairn_buf *buf, struct cairn_span bytes)
{
    for (size_t i = 0; i < bytes.size_bytes; i++)
        cairn_buf_printf(buf, "%02x", bytes.data[i]);
}

static int read_strings(struct writer *writer, struct cairn_dict *dict)
{
    struct cairn_span bytes;
    uint32_t id;
    int code;

    while ((code = cairn_dict_string(dict, &id, &bytes)) == 0)
        set(writer, STRING, id, "%.*s", (int)bytes.size_bytes, (const char *)bytes.data);
    return code;
}

static int read_codes(struct writer *writer, struct cairn_dict *dict)
{
    struct cairn_code_def def;
    uint32_t id;
    int code;

    while ((code = cairn_dict_code(dict, &id, &def)) == 0)
        set(writer, CODE, id, "%s:%s:%u", get(writer, STRING, def.file),
            get(writer, STRING, def.qualname), def.first_line);
    return code;
}

static int read_linetables(const struct writer *writer, struct cairn_dict *dict,
                           struct cairn_buf *lines)
{
    struct cairn_linetable_def def;
    int code;

    while ((code = cairn_dict_linetable(dict, &def)) == 0) {
        cairn_buf_printf(lines, "L %s %u ", get(writer, CODE, def.code), def.kind);
        add_hex(lines, def.bytes);
        cairn_buf_add_str(lines, "\n");
    }
    return code;
}

static int read_modules(struct writer *writer, struct cairn_dict *dict)
{
    struct cairn_module_def def;
    struct cairn_buf hex;
    uint32_t id;
    int code;

    cairn_buf_init(&hex, 256);
    while ((code = cairn_dict_module(dict, &id, &def)) == 0) {
        cairn_buf_clear(&hex);
        add_hex(&hex, def.build_id);
        short_of_memory |= hex.code < 0;
        set(writer, MODULE, id, "%s{%s}", get(writer, STRING, def.path), cairn_buf_cstr(&hex));
    }
    cairn_buf_release(&hex);
    return code;
}

static int read_locations(struct writer *writer, struct cairn_dict *dict)
{
    static const int parts[] = {0, CODE, MODULE, STRING};
    struct cairn_location_def def;
    uint32_t id;
    int code;

    while ((code = cairn_dict_location(dict, &id, &def)) == 0) {
        if (def.kind == CAIRN_LOC_LABEL)
            set(writer, LOCATION, id, "%s", get(writer, STRING, def.ref));
        else
            set(writer, LOCATION, id, "%s+%lld", get(writer, parts[def.kind], def.ref),
                (long long)def.offset);
    }
    return code;
}

static int read_stacks(struct writer *writer, struct cairn_dict *dict)
{
    struct cairn_stack_def def;
    uint32_t id;
    int code;

    while ((code = cairn_dict_stack(dict, &id, &def)) == 0) {
        const char *leaf = get(writer, LOCATION, def.location);

        if (def.parent == 0)
            set(writer, STACK, id, "%s", leaf);
        else
            set(writer, STACK, id, "%s;%s", get(writer, STACK, def.parent), leaf);
    }
    return code;
}

static int read_tracks(struct writer *writer, struct cairn_dict *dict)
{
    struct cairn_track_def def;
    uint32_t id;
    int code;

    while ((code = cairn_dict_track(dict, &id, &def)) == 0) {
        char *fact;

        set(writer, TRACK, id, "%s/%c%llu@%llu",
            def.kind == CAIRN_TRACK_PROCESS ? get(writer, STRING, def.boot_id)
                                            : get(writer, TRACK, def.parent),
            "?PTKLG"[def.kind], (unsigned long long)def.number, (unsigned long long)def.start_ns);
        if (asprintf(&fact, "%s %s parent=%s birth=%u", get(writer, TRACK, id),
                     get(writer, STRING, def.name),
                     def.parent == 0 ? "-" : get(writer, TRACK, def.parent), def.birth) >= 0)
            set_text(&writer->track_facts, id, fact);
    }
    return code;
}

static int read_env(struct cairn_dict *dict, struct cairn_buf *lines)
{
    struct cairn_span key, value;
    int code;

    while ((code = cairn_dict_env(dict, &key, &value)) == 0)
        cairn_buf_printf(lines, "E %.*s=%.*s\n", (int)key.size_bytes, (const char *)key.data,
                         (int)value.size_bytes, (const char *)value.data);
    return code;
}

static int read_counters(struct dump *dump, uint32_t writer, struct cairn_dict *dict)
{
    struct cairn_span name;
    uint64_t value;
    int code;

    while ((code = cairn_dict_counter(dict, &name, &value)) == 0) {
        struct counter *counter = dump->counters.items;
        char *text = strndup((const char *)name.data, name.size_bytes);
        size_t i = 0;

        for (; i < dump->counters.count; i++) {
            counter = &dump->counters.items[i];
            if (counter->writer == writer && strcmp(counter->name, text) == 0)
                break;
        }
        if (i == dump->counters.count) {
            if (cairn_vec_reserve(&dump->counters, i + 1, 1 << 16) < 0) {
                free(text);
                return -CAIRN_ENOMEM;
            }
            counter = &dump->counters.items[dump->counters.count++];
            *counter = (struct counter){.writer = writer, .name = text};
        } else {
            free(text);
        }
        counter->value = value;
    }
    return code;
}

static int read_writer(struct dump *dump, uint32_t id, struct cairn_span section)
{
    struct cairn_writer_def def;

    CAIRN_TRY(cairn_decode_writer(section, &def));
    return cairn_buf_printf(dump->lines, "W %u %.*s %llu %llu\n", id, (int)def.role.size_bytes,
                            (const char *)def.role.data, (unsigned long long)def.pid,
                            (unsigned long long)def.start_ns);
}

static void write_value(struct dump *dump, const struct writer *writer,
                        const struct cairn_table_column *column, uint64_t value)
{
    struct cairn_buf *lines = dump->lines;

    cairn_buf_printf(lines, " %s=", column->name);
    if (strcmp(column->unit, "id") == 0) {
        if (strcmp(column->name, "on") == 0) {
            cairn_buf_add_str(lines, get(writer, STRING, value));
            return;
        }
        for (int part = 0; part < PARTS; part++) {
            if (strcmp(column->name, part_names[part]) == 0) {
                cairn_buf_add_str(lines, get(writer, part, value));
                return;
            }
        }
    }
    if (strcmp(column->name, "tick") == 0 && value < dump->ticks.def.count)
        value = dump->ticks.def.times_ns[value];
    cairn_buf_printf(lines, "%lld", (long long)value);
}

static int read_rows(struct dump *dump, const struct writer *writer, struct cairn_span section)
{
    struct cairn_table *table = &dump->table;
    const uint64_t *cpu;

    CAIRN_TRY(cairn_decode_table(section, table));
    cpu = cairn_table_find(table, "cpu");
    for (size_t i = 0; i < table->row_count; i++) {
        size_t start = dump->lines->size_bytes;

        cairn_buf_printf(dump->lines, "%u", table->kind);
        for (size_t j = 0; j < table->column_count; j++)
            write_value(dump, writer, &table->columns[j], table->columns[j].values[i]);
        dump->tally->unknown += strstr(cairn_buf_cstr(dump->lines) + start, "[unknown]") != NULL;
        cairn_buf_add_str(dump->lines, "\n");
        dump->tally->rows++;
        dump->tally->cpu += cpu == NULL ? 0 : cpu[i];
    }
    return 0;
}

static int read_section(struct dump *dump, struct writer *writer,
                        const struct cairn_section *section)
{
    struct cairn_dict dict;
    int code;

    cairn_dict_init(&dict, section->bytes);
    switch (section->kind) {
    case CAIRN_SECTION_WRITER:
        return read_writer(dump, writer->id, section->bytes);
    case CAIRN_SECTION_STRINGS:
        code = read_strings(writer, &dict);
        break;
    case CAIRN_SECTION_CODES:
        code = read_codes(writer, &dict);
        break;
    case CAIRN_SECTION_LINETABLES:
        code = read_linetables(writer, &dict, dump->lines);
        break;
    case CAIRN_SECTION_MODULES:
        code = read_modules(writer, &dict);
        break;
    case CAIRN_SECTION_LOCATIONS:
        code = read_locations(writer, &dict);
        break;
    case CAIRN_SECTION_STACKS:
        code = read_stacks(writer, &dict);
        break;
    case CAIRN_SECTION_TRACKS:
        code = read_tracks(writer, &dict);
        break;
    case CAIRN_SECTION_TICKS:
        return cairn_decode_ticks(section->bytes, &dump->ticks);
    case CAIRN_SECTION_ROWS:
        return read_rows(dump, writer, section->bytes);
    case CAIRN_SECTION_ENV:
        code = read_env(&dict, dump->lines);
        break;
    case CAIRN_SECTION_COUNTERS:
        code = read_counters(dump, writer->id, &dict);
        break;
    default:
        return 0;
    }
    return code == -CAIRN_EEND ? 0 : code;
}

static struct writer *find_writer(struct dump *dump, uint32_t id)
{
    for (size_t i = 0; i < dump->writers.count; i++) {
        if (dump->writers.items[i].id == id)
            return &dump->writers.items[i];
    }
    if (cairn_vec_reserve(&dump->writers, dump->writers.count + 1, 1 << 16) < 0)
        return NULL;
    dump->writers.items[dump->writers.count].id = id;
    return &dump->writers.items[dump->writers.count++];
}

static void free_texts(struct texts *texts)
{
    for (size_t i = 0; i < texts->all.count; i++)
        free(texts->all.items[i]);
    cairn_vec_release(&texts->all);
}

/* Ids mean nothing beyond their file. What the tracks were called last is told here. */
static void end_file(struct dump *dump)
{
    for (size_t i = 0; i < dump->writers.count; i++) {
        struct writer *writer = &dump->writers.items[i];

        for (size_t j = 0; j < writer->track_facts.all.count; j++) {
            if (writer->track_facts.all.items[j] != NULL)
                cairn_buf_printf(dump->lines, "T %s\n", writer->track_facts.all.items[j]);
        }
        for (int part = 0; part < PARTS; part++)
            free_texts(&writer->parts[part]);
        free_texts(&writer->track_facts);
    }
    cairn_vec_release(&dump->writers);
}

static int read_chunk(struct dump *dump, struct cairn_reader *reader, size_t index,
                      struct cairn_buf *buf)
{
    struct writer *writer = find_writer(dump, cairn_reader_chunk(reader, index)->writer);
    struct cairn_span sections;
    struct cairn_section section;
    struct cairn_cursor cur;
    uint64_t skipped = 0;
    int code = cairn_reader_load(reader, index, buf, &sections, NULL);

    if (writer == NULL)
        return -CAIRN_ENOMEM;
    if (code == -CAIRN_EDAMAGED)
        return 0;
    if (code < 0)
        return code;
    dump->ticks.def.count = 0;
    cairn_cursor_init(&cur, sections);
    while ((code = cairn_section_next(&cur, &section, &skipped)) == 0)
        CAIRN_TRY(read_section(dump, writer, &section));
    return code == -CAIRN_EEND ? 0 : code;
}

static int read_file(struct dump *dump, struct cairn_reader *reader)
{
    struct recording_tally *tally = dump->tally;
    const struct cairn_reader_stats *stats = cairn_reader_stats(reader);
    struct cairn_buf buf;
    int code = 0;

    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    for (size_t i = 0; code == 0 && i < cairn_reader_chunk_count(reader); i++)
        code = read_chunk(dump, reader, i, &buf);
    cairn_buf_release(&buf);
    end_file(dump);
    tally->files++;
    tally->chunks += cairn_reader_chunk_count(reader);
    tally->jumped_bytes += stats->jumped_bytes;
    tally->jumped_chunks += stats->jumped_chunks;
    tally->damaged_chunks += stats->damaged_chunks;
    tally->file_bytes += stats->file_bytes;
    tally->ended = stats->ended && (tally->files == 1 || tally->ended);
    return code;
}

static void end_dump(struct dump *dump)
{
    for (size_t i = 0; i < dump->counters.count; i++) {
        const struct counter *counter = &dump->counters.items[i];

        cairn_buf_printf(dump->lines, "C %u %s=%llu\n", counter->writer, counter->name,
                         (unsigned long long)counter->value);
        free(counter->name);
    }
    cairn_vec_release(&dump->counters);
    cairn_ticks_release(&dump->ticks);
    cairn_table_release(&dump->table);
}

int recording_dump(const char *path, struct cairn_buf *lines, struct recording_tally *ret_tally)
{
    struct dump dump = {.lines = lines, .tally = ret_tally};
    struct cairn_set *set;
    int code;

    *ret_tally = (struct recording_tally){0};
    short_of_memory = false;
    CAIRN_TRY(cairn_set_open(path, &set, NULL));
    cairn_table_init(&dump.table);
    for (size_t i = 0; (code = 0, i < cairn_set_count(set)); i++) {
        code = read_file(&dump, cairn_set_reader(set, i));
        if (code < 0)
            break;
    }
    end_dump(&dump);
    cairn_set_free(set);
    if (code == 0 && short_of_memory)
        code = -CAIRN_ENOMEM;
    return code < 0 ? code : lines->code;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void recording_sort(struct cairn_buf *lines)
{
    size_t count = 0, at = 0;
    char *text = strdup(cairn_buf_cstr(lines));
    char **all = calloc(lines->size_bytes + 1, sizeof(*all));
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line != '\0')
            all[count++] = line;
    }
    qsort(all, count, sizeof(*all), by_text);
    cairn_buf_clear(lines);
    for (; at < count; at++) {
        if (at > 0 && all[at][0] >= 'A' && strcmp(all[at], all[at - 1]) == 0)
            continue;
        cairn_buf_printf(lines, "%s\n", all[at]);
    }
    free(all);
    free(text);
}

/* fuzz_reader.c: reads whatever it is given as a recording, all the way to ids and values.
 *
 * Input that starts with the magic is a file. Its checksums are made right first, or no mutation
 * would ever come past them. Any other input is the sections of a chunk. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "decode.h"
#include "io.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AT_STORED = 32, AT_PAYLOAD_HASH = 72, AT_HEADER_HASH = 80 };

static void put_hash(uint8_t *at, uint64_t hash)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(hash >> (8 * i));
}

static void make_checksums_right(uint8_t *data, size_t size)
{
    while (size >= CAIRN_HEADER_BYTES && memcmp(data, CAIRN_MAGIC, CAIRN_MAGIC_BYTES) == 0) {
        size_t stored = data[AT_STORED] | (size_t)data[AT_STORED + 1] << 8 |
                        (size_t)data[AT_STORED + 2] << 16 | (size_t)data[AT_STORED + 3] << 24;

        if (stored <= size - CAIRN_HEADER_BYTES)
            put_hash(data + AT_PAYLOAD_HASH, XXH3_64bits(data + CAIRN_HEADER_BYTES, stored));
        put_hash(data + AT_HEADER_HASH, XXH3_64bits(data, AT_HEADER_HASH));
        if (stored > size - CAIRN_HEADER_BYTES)
            return;
        data += CAIRN_HEADER_BYTES + stored;
        size -= CAIRN_HEADER_BYTES + stored;
    }
}

/* Judged values must be what decode.h says of them. */
static void require(int holds)
{
    if (!holds)
        abort();
}

static void read_ids(const struct cairn_section *section)
{
    struct cairn_code_def code;
    struct cairn_module_def module;
    struct cairn_location_def location;
    struct cairn_stack_def stack;
    struct cairn_track_def track;
    struct cairn_span text;
    struct cairn_dict dict;
    uint32_t id;

    cairn_dict_init(&dict, section->bytes);
    switch (section->kind) {
    case CAIRN_SECTION_STRINGS:
        while (cairn_dict_string(&dict, &id, &text) == 0)
            require(id > 0 && text.size_bytes <= CAIRN_STRING_MAX_BYTES);
        break;
    case CAIRN_SECTION_CODES:
        while (cairn_dict_code(&dict, &id, &code) == 0)
            require(id > 0);
        break;
    case CAIRN_SECTION_MODULES:
        while (cairn_dict_module(&dict, &id, &module) == 0)
            require(id > 0 && module.build_id.size_bytes <= CAIRN_BUILD_ID_MAX_BYTES);
        break;
    case CAIRN_SECTION_LOCATIONS:
        while (cairn_dict_location(&dict, &id, &location) == 0)
            require(id > 0 && location.kind >= CAIRN_LOC_PYTHON &&
                    location.kind <= CAIRN_LOC_LABEL);
        break;
    case CAIRN_SECTION_STACKS:
        while (cairn_dict_stack(&dict, &id, &stack) == 0)
            require(stack.parent < id && stack.location > 0);
        break;
    case CAIRN_SECTION_TRACKS:
        while (cairn_dict_track(&dict, &id, &track) == 0)
            require(track.parent < id && track.kind > 0);
        break;
    default:
        break;
    }
}

static void read_facts(const struct cairn_section *section)
{
    struct cairn_linetable_def lines;
    struct cairn_writer_def writer;
    struct cairn_clock_def clock;
    struct cairn_span key, value;
    struct cairn_dict dict;
    uint64_t set_id, sequence, parent, number;

    cairn_dict_init(&dict, section->bytes);
    if (section->kind == CAIRN_SECTION_LINETABLES) {
        while (cairn_dict_linetable(&dict, &lines) == 0)
            require(lines.code > 0 && lines.kind <= CAIRN_LINES_LOCATION);
    } else if (section->kind == CAIRN_SECTION_ENV) {
        while (cairn_dict_env(&dict, &key, &value) == 0)
            require(key.size_bytes + value.size_bytes <= section->bytes.size_bytes);
    } else if (section->kind == CAIRN_SECTION_COUNTERS) {
        while (cairn_dict_counter(&dict, &key, &number) == 0)
            require(key.size_bytes <= section->bytes.size_bytes);
    }
    cairn_decode_writer(section->bytes, &writer);
    cairn_decode_clock(section->bytes, &clock);
    cairn_decode_set(section->bytes, &set_id, &sequence, &parent);
}

struct room { /* reused, as readers do */
    struct cairn_buf buf;
    struct cairn_ticks ticks;
    struct cairn_table table;
};

static void read_measured(const struct cairn_section *section, struct room *room)
{
    static volatile uint64_t sum;

    if (section->kind == CAIRN_SECTION_TICKS &&
        cairn_decode_ticks(section->bytes, &room->ticks) == 0) {
        for (size_t i = 1; i < room->ticks.def.count; i++)
            require(room->ticks.def.numbers[i] > room->ticks.def.numbers[i - 1] &&
                    room->ticks.def.times_ns[i] >= room->ticks.def.times_ns[i - 1]);
    }
    if (section->kind == CAIRN_SECTION_ROWS &&
        cairn_decode_table(section->bytes, &room->table) == 0) {
        require(room->table.row_count <= CAIRN_ROWS_MAX);
        for (size_t i = 0; i < room->table.column_count; i++) {
            for (size_t k = 0; k < room->table.row_count; k++)
                sum += room->table.columns[i].values[k];
        }
    }
    (void)sum;
}

static void read_sections(struct cairn_span sections, struct room *room)
{
    struct cairn_section section;
    struct cairn_cursor cur;
    uint64_t skipped = 0;

    cairn_cursor_init(&cur, sections);
    while (cairn_section_next(&cur, &section, &skipped) == 0) {
        read_ids(&section);
        read_facts(&section);
        read_measured(&section, room);
    }
}

static void read_file(const uint8_t *data, size_t size, struct room *room)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    uint8_t *copy = malloc(size);
    struct cairn_reader *reader;

    memcpy(copy, data, size);
    make_checksums_right(copy, size);
    if (cairn_io_write(fd, copy, size) == 0 && cairn_reader_open_fd(fd, &reader, NULL) == 0) {
        struct cairn_span sections;

        require(cairn_reader_stats(reader)->jumped_bytes <= size);
        for (size_t i = 0; i < cairn_reader_chunk_count(reader); i++) {
            if (cairn_reader_load(reader, i, &room->buf, &sections, NULL) == 0)
                read_sections(sections, room);
        }
        require(cairn_reader_refresh(reader, NULL) == 0);
        cairn_reader_free(reader);
    }
    free(copy);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct room room = {0};

    cairn_buf_init(&room.buf, CAIRN_CHUNK_MAX_BYTES);
    cairn_table_init(&room.table);
    if (size >= CAIRN_MAGIC_BYTES && memcmp(data, CAIRN_MAGIC, CAIRN_MAGIC_BYTES) == 0)
        read_file(data, size, &room);
    else
        read_sections((struct cairn_span){data, size}, &room);
    cairn_table_release(&room.table);
    cairn_ticks_release(&room.ticks);
    cairn_buf_release(&room.buf);
    return 0;
}

#include "scratch.h"

#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "io.h"
#include "reader.h"
#include "rng.h"
#include "writer.h"

void scratch_make(struct scratch *scratch)
{
    snprintf(scratch->folder, sizeof(scratch->folder), "/tmp/cairn-test-XXXXXX");
    assert_non_null(mkdtemp(scratch->folder));
    snprintf(scratch->path, sizeof(scratch->path), "%s/test.cairn", scratch->folder);
}

void scratch_remove(struct scratch *scratch)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", scratch->folder);
    assert_int_equal(system(command), 0);
}

void scratch_load(const char *path, struct cairn_buf *bytes)
{
    cairn_buf_clear(bytes);
    assert_int_equal(cairn_io_read_file(AT_FDCWD, path, bytes), 0);
}

void scratch_store(const char *path, const uint8_t *data, size_t size_bytes)
{
    int fd = cairn_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(cairn_io_write(fd, data, size_bytes), 0);
    cairn_io_close(&fd);
}

static const struct cairn_column_def columns[] = {
    {"n", "", CAIRN_ENC_DELTA},
    {"square", "", CAIRN_ENC_UVARINT},
    {"stack", "id", CAIRN_ENC_RLE},
};

static int write_chunk(struct cairn_writer *writer, uint64_t *row, uint32_t stack,
                       size_t filler_bytes, struct cairn_err *err)
{
    uint64_t noise[128];

    for (size_t i = 0; i < SCRATCH_CHUNK_ROWS; i++) {
        uint64_t n = *row + i;

        CAIRN_TRY(cairn_writer_row(writer, CAIRN_ROW_MARK, columns, 3,
                                   (const uint64_t[]){n, n * n, stack}));
    }
    for (; filler_bytes > 0; filler_bytes -= sizeof(noise)) {
        uint32_t id;

        for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
            noise[i] = cairn_rng_at(*row, filler_bytes + i);
        CAIRN_TRY(cairn_writer_string(
            writer, (struct cairn_span){(const uint8_t *)noise, sizeof(noise)}, &id));
    }
    CAIRN_TRY(cairn_writer_flush(writer, CAIRN_CHUNK_DATA, err));
    *row += SCRATCH_CHUNK_ROWS;
    return 0;
}

int scratch_write(struct cairn_sink *sink, size_t chunks, size_t filler_bytes, uint64_t *row,
                  struct cairn_err *err)
{
    static uint32_t next_id = 1;
    struct cairn_writer_options options = {.id = next_id++, .role = "test"};
    struct cairn_location_def label = {.kind = CAIRN_LOC_LABEL};
    struct cairn_writer *writer;
    uint32_t location, stack;
    int code = cairn_writer_open(sink, &options, &writer);

    if (code < 0)
        return code;
    assert_int_equal(cairn_writer_str(writer, "counting", &label.ref), 0);
    assert_int_equal(cairn_writer_location(writer, &label, &location), 0);
    assert_int_equal(cairn_writer_stack(writer, 0, location, &stack), 0);
    for (size_t i = 0; code == 0 && i < chunks; i++)
        code = write_chunk(writer, row, stack, filler_bytes / 1024 * 1024, err);
    cairn_writer_free(writer);
    return code;
}

static void check_table(const struct cairn_table *table, bool *seen, size_t size)
{
    const uint64_t *n = cairn_table_find(table, "n"), *square = cairn_table_find(table, "square");

    assert_int_equal(table->row_count, SCRATCH_CHUNK_ROWS);
    assert_non_null(n);
    assert_non_null(square);
    for (size_t i = 0; i < table->row_count; i++) {
        assert_true(n[i] < size);
        assert_int_equal(square[i], n[i] * n[i]);
        assert_false(seen[n[i]]);
        seen[n[i]] = true;
    }
}

int scratch_read(const char *path, bool *seen, size_t size, uint64_t *ret_jumped_bytes)
{
    struct cairn_reader *reader;
    struct cairn_table table;
    struct cairn_buf buf;
    uint64_t skipped = 0;

    memset(seen, 0, size * sizeof(*seen));
    CAIRN_TRY(cairn_reader_open(path, &reader, NULL));
    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    cairn_table_init(&table);
    for (size_t i = 0; i < cairn_reader_chunk_count(reader); i++) {
        struct cairn_span sections;
        struct cairn_section section;
        struct cairn_cursor cur;

        if (cairn_reader_load(reader, i, &buf, &sections, NULL) < 0)
            continue;
        cairn_cursor_init(&cur, sections);
        while (cairn_section_next(&cur, &section, &skipped) == 0) {
            if (section.kind != CAIRN_SECTION_ROWS)
                continue;
            assert_int_equal(cairn_decode_table(section.bytes, &table), 0);
            check_table(&table, seen, size);
        }
    }
    *ret_jumped_bytes = cairn_reader_stats(reader)->jumped_bytes;
    cairn_table_release(&table);
    cairn_buf_release(&buf);
    cairn_reader_free(reader);
    return 0;
}

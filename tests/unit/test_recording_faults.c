/* What is left of a recording that something happened to. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "decode.h"
#include "io.h"
#include "recording.h"
#include "rng.h"
#include "scratch.h"

#define TEXT_MAX_BYTES ((size_t)1 << 22)
#define CHUNKS_MAX 64

struct chunk {
    size_t offset, end;
    uint64_t rows;
};

struct scene {
    struct scratch scratch;
    struct cairn_buf bytes, truth, lines; /* the file; what it says; what a reader says */
    struct chunk chunks[CHUNKS_MAX];
    size_t chunk_count;
    uint64_t rows;
    char *text, **rows_of_truth;
    size_t row_count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint64_t rows_of(struct cairn_reader *reader, size_t index)
{
    struct cairn_buf buf;
    struct cairn_span sections;
    struct cairn_section section;
    struct cairn_table table;
    struct cairn_cursor cur;
    uint64_t rows = 0, skipped = 0;

    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    cairn_table_init(&table);
    assert_int_equal(cairn_reader_load(reader, index, &buf, &sections, NULL), 0);
    cairn_cursor_init(&cur, sections);
    while (cairn_section_next(&cur, &section, &skipped) == 0) {
        if (section.kind == CAIRN_SECTION_ROWS) {
            assert_int_equal(cairn_decode_table(section.bytes, &table), 0);
            rows += table.row_count;
        }
    }
    cairn_table_release(&table);
    cairn_buf_release(&buf);
    return rows;
}

static void list_chunks(struct scene *scene)
{
    struct cairn_reader *reader;

    assert_int_equal(cairn_reader_open(scene->scratch.path, &reader, NULL), 0);
    scene->chunk_count = cairn_reader_chunk_count(reader);
    assert_in_range(scene->chunk_count, 2 * RECORDING_CHUNK_PAIRS, CHUNKS_MAX);
    for (size_t i = 0; i < scene->chunk_count; i++) {
        const struct cairn_chunk_info *info = cairn_reader_chunk(reader, i);

        scene->chunks[i].offset = info->offset;
        scene->chunks[i].end = info->offset + CAIRN_HEADER_BYTES + info->stored_bytes;
        scene->chunks[i].rows = rows_of(reader, i);
        scene->rows += scene->chunks[i].rows;
    }
    assert_int_equal(scene->chunks[scene->chunk_count - 1].end, scene->bytes.size_bytes);
    cairn_reader_free(reader);
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    char *rest, *line;

    scratch_make(&scene->scratch);
    cairn_buf_init(&scene->bytes, TEXT_MAX_BYTES);
    cairn_buf_init(&scene->truth, TEXT_MAX_BYTES);
    cairn_buf_init(&scene->lines, TEXT_MAX_BYTES);
    assert_int_equal(recording_write(scene->scratch.path, 0, false, &scene->truth), 0);
    scratch_load(scene->scratch.path, &scene->bytes);
    list_chunks(scene);

    recording_sort(&scene->truth);
    scene->rows_of_truth = calloc(scene->truth.size_bytes, sizeof(char *));
    scene->text = strdup(cairn_buf_cstr(&scene->truth));
    rest = scene->text;
    while ((line = strsep(&rest, "\n")) != NULL)
        scene->rows_of_truth[scene->row_count++] = line;
    qsort(scene->rows_of_truth, scene->row_count, sizeof(char *), by_text);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    scratch_remove(&scene->scratch);
    cairn_buf_release(&scene->bytes);
    cairn_buf_release(&scene->truth);
    cairn_buf_release(&scene->lines);
    free(scene->text);
    free(scene->rows_of_truth);
    free(scene);
    return 0;
}

/* Every row read is one that was written, or says that something of it is unknown. */
static void check_rows(struct scene *scene, const struct recording_tally *tally)
{
    char *rest = (char *)scene->lines.data, *line;
    uint64_t rows = 0, unknown = 0;

    cairn_buf_cstr(&scene->lines);
    while (scene->lines.size_bytes > 0 && (line = strsep(&rest, "\n")) != NULL) {
        if (*line < '0' || *line > '9')
            continue;
        rows++;
        if (strstr(line, "[unknown]") != NULL)
            unknown++;
        else
            assert_non_null(
                bsearch(&line, scene->rows_of_truth, scene->row_count, sizeof(char *), by_text));
    }
    assert_int_equal(rows, tally->rows);
    assert_int_equal(unknown, tally->unknown);
}

static int dump(struct scene *scene, struct recording_tally *tally)
{
    cairn_buf_clear(&scene->lines);
    return recording_dump(scene->scratch.path, &scene->lines, tally);
}

static void test_every_prefix_is_a_recording_or_says_why_not(void **state)
{
    struct scene *scene = *state;
    size_t whole = scene->chunk_count;
    uint64_t rows = scene->rows;

    for (size_t size = scene->bytes.size_bytes + 1; size-- > 0;) {
        struct recording_tally tally;
        int code;

        while (whole > 0 && scene->chunks[whole - 1].end > size)
            rows -= scene->chunks[--whole].rows;
        assert_int_equal(truncate(scene->scratch.path, (off_t)size), 0);
        code = dump(scene, &tally);
        assert_int_equal(code, whole == 0 ? -CAIRN_EDAMAGED : 0);
        if (code < 0)
            continue;
        assert_int_equal(tally.rows, rows);
        assert_int_equal(tally.unknown, 0); /* what rows refer to comes before them */
        assert_int_equal(tally.jumped_bytes, size - scene->chunks[whole - 1].end);
        assert_int_equal(tally.ended, size == scene->bytes.size_bytes);
        check_rows(scene, &tally);
    }
}

static void test_every_bit_flipped_costs_its_chunk_and_no_more(void **state)
{
    struct scene *scene = *state;
    int fd = open(scene->scratch.path, O_RDWR | O_CLOEXEC);
    size_t chunk = 0;

    for (size_t at = 0; at < scene->bytes.size_bytes; at++) {
        uint8_t was = scene->bytes.data[at];
        bool in_header;

        if (at == scene->chunks[chunk].end)
            chunk++;
        in_header = at < scene->chunks[chunk].offset + CAIRN_HEADER_BYTES;
        for (int bit = 0; bit < 8; bit++) {
            struct recording_tally tally;
            uint8_t flipped = (uint8_t)(was ^ 1 << bit);

            assert_int_equal(cairn_io_pwrite(fd, &flipped, 1, at), 0);
            assert_int_equal(dump(scene, &tally), 0);
            assert_int_equal(tally.rows, scene->rows - scene->chunks[chunk].rows);
            assert_int_equal(tally.damaged_chunks, !in_header);
            assert_int_equal(tally.jumped_bytes,
                             in_header ? scene->chunks[chunk].end - scene->chunks[chunk].offset
                                       : 0);
            assert_int_equal(tally.jumped_chunks, in_header && chunk + 1 < scene->chunk_count);
            check_rows(scene, &tally);
        }
        assert_int_equal(cairn_io_pwrite(fd, &was, 1, at), 0);
    }
    close(fd);
}

static void test_writing_goes_on_when_memory_was_short(void **state)
{
    struct scene *scene = *state;
    long n = 0;

    for (;; n++) {
        struct recording_tally tally;
        bool failed;

        cairn_buf_release(&scene->truth);
        /* Its room is made before, since whoever tells the truth must not fail. */
        assert_int_equal(cairn_buf_reserve(&scene->truth, 1 << 16), 0);
        cairn_alloc_fail_after(n);
        assert_int_equal(recording_write(scene->scratch.path, 0, false, &scene->truth), 0);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(dump(scene, &tally), 0);
        recording_sort(&scene->truth);
        recording_sort(&scene->lines);
        assert_string_equal(cairn_buf_cstr(&scene->lines), cairn_buf_cstr(&scene->truth));
        if (!failed)
            break;
    }
    assert_true(n > 50); /* or nothing was made to fail */
}

static void test_reading_says_when_memory_is_short(void **state)
{
    struct scene *scene = *state;
    long n = 0;

    for (;; n++) {
        struct recording_tally tally;
        bool failed;
        int code;

        cairn_buf_release(&scene->lines);
        cairn_alloc_fail_after(n);
        code = dump(scene, &tally);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
        if (!failed)
            break;
    }
    assert_true(n > 20);
    recording_sort(&scene->lines);
    assert_string_equal(cairn_buf_cstr(&scene->lines), cairn_buf_cstr(&scene->truth));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_prefix_is_a_recording_or_says_why_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_every_bit_flipped_costs_its_chunk_and_no_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_writing_goes_on_when_memory_was_short, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_reading_says_when_memory_is_short, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

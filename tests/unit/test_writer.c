#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "reader.h"
#include "rng.h"
#include "writer.h"

struct scene {
    struct cairn_sink *sink;
    struct cairn_writer *writer;
    struct cairn_reader *reader;
    struct cairn_buf buf;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct cairn_sink_options in_memory = {.path = NULL};
    struct cairn_writer_options options = {.id = 1, .role = "test"};

    assert_int_equal(cairn_sink_open(&in_memory, &scene->sink, NULL), 0);
    assert_int_equal(cairn_writer_open(scene->sink, &options, &scene->writer), 0);
    cairn_buf_init(&scene->buf, CAIRN_CHUNK_MAX_BYTES);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    cairn_writer_free(scene->writer);
    cairn_reader_free(scene->reader);
    cairn_sink_close(scene->sink, NULL);
    cairn_buf_release(&scene->buf);
    free(scene);
    return 0;
}

static void flush(struct scene *scene)
{
    assert_int_equal(cairn_writer_flush(scene->writer, CAIRN_CHUNK_DATA, NULL), 0);
}

static size_t chunk_count(struct scene *scene)
{
    if (scene->reader == NULL)
        assert_int_equal(cairn_reader_open_fd(cairn_sink_fd(scene->sink), &scene->reader, NULL), 0);
    else
        assert_true(cairn_reader_refresh(scene->reader, NULL) >= 0);
    return cairn_reader_chunk_count(scene->reader);
}

/* The first section of `kind` in chunk `index`; false when there is none. */
static bool find(struct scene *scene, size_t index, uint32_t kind, struct cairn_span *ret_bytes)
{
    struct cairn_section section;
    struct cairn_span sections;
    struct cairn_cursor cur;
    uint64_t skipped = 0;

    assert_true(index < chunk_count(scene));
    assert_int_equal(cairn_reader_load(scene->reader, index, &scene->buf, &sections, NULL), 0);
    cairn_cursor_init(&cur, sections);
    while (cairn_section_next(&cur, &section, &skipped) == 0) {
        if (section.kind == kind) {
            *ret_bytes = section.bytes;
            return true;
        }
    }
    return false;
}

static void test_nothing_pending_makes_no_chunk(void **state)
{
    struct scene *scene = *state;

    flush(scene);
    assert_int_equal(cairn_sink_bytes(scene->sink), 0);
    assert_int_equal(cairn_writer_counter(scene->writer, "ticks", 7), 0);
    flush(scene);
    assert_int_equal(cairn_writer_counter(scene->writer, "ticks", 7), 0); /* nothing new */
    flush(scene);
    assert_int_equal(chunk_count(scene), 1);
    assert_int_equal(cairn_writer_flush(scene->writer, CAIRN_CHUNK_END, NULL), 0);
    assert_int_equal(chunk_count(scene), 2);
    assert_true(cairn_reader_stats(scene->reader)->ended);
}

static void test_the_same_gets_the_same_id(void **state)
{
    struct scene *scene = *state;
    struct cairn_writer *writer = scene->writer;
    struct cairn_location_def label = {.kind = CAIRN_LOC_LABEL, .offset = 5};
    uint32_t a, b, code;
    struct cairn_span strings;

    assert_int_equal(cairn_writer_str(writer, "", &a), 0);
    assert_int_equal(a, 0);
    assert_int_equal(cairn_writer_str(writer, "x", &a), 0);
    assert_int_equal(cairn_writer_str(writer, "x", &b), 0);
    assert_int_equal(a, b);
    label.ref = a;
    assert_int_equal(cairn_writer_location(writer, &label, &a), 0);
    label.offset = 6; /* labels have none */
    assert_int_equal(cairn_writer_location(writer, &label, &b), 0);
    assert_int_equal(a, b);
    assert_int_equal(cairn_writer_stack(writer, 0, a, &code), 0);
    assert_int_equal(cairn_writer_stack(writer, 0, a, &b), 0);
    assert_int_equal(code, b);

    /* Said once in a file, however often it is asked for. */
    flush(scene);
    assert_true(find(scene, 0, CAIRN_SECTION_STRINGS, &strings));
    assert_int_equal(cairn_writer_str(writer, "x", &a), 0);
    assert_int_equal(cairn_writer_counter(writer, "ticks", 1), 0);
    flush(scene);
    assert_false(find(scene, 1, CAIRN_SECTION_STRINGS, &strings));
    assert_false(find(scene, 1, CAIRN_SECTION_WRITER, &strings));
}

static void test_a_code_is_found_by_what_it_says(void **state)
{
    static const uint8_t tables[][3] = {{1, 2, 3}, {1, 2, 4}};
    struct scene *scene = *state;
    struct cairn_writer *writer = scene->writer;
    struct cairn_code_def def = {.first_line = 7};
    struct cairn_linetable_def lines[2];
    uint32_t ids[2], found;

    assert_int_equal(cairn_writer_str(writer, "<lambda>", &def.name), 0);
    assert_int_equal(cairn_writer_str(writer, "x.py", &def.file), 0);
    for (size_t i = 0; i < 2; i++) { /* two on one line */
        lines[i] = (struct cairn_linetable_def){.kind = CAIRN_LINES_LOCATION,
                                                .bytes = {tables[i], sizeof(tables[i])}};
        assert_false(cairn_writer_find_code(writer, &def, &lines[i], &found));
        assert_int_equal(cairn_writer_code(writer, &def, &ids[i]), 0);
        assert_false(cairn_writer_find_code(writer, &def, &lines[i], &found)); /* no table yet */
        lines[i].code = ids[i];
        assert_int_equal(cairn_writer_linetable(writer, &lines[i]), 0);
        lines[i].code = 0;
    }
    for (size_t i = 0; i < 2; i++) {
        assert_true(cairn_writer_find_code(writer, &def, &lines[i], &found));
        assert_int_equal(found, ids[i]);
    }
    lines[0].bytes.size_bytes--;
    assert_false(cairn_writer_find_code(writer, &def, &lines[0], &found));
    def.first_line++;
    assert_false(cairn_writer_find_code(writer, &def, &lines[1], &found));
}

static void test_ids_never_given_out_are_refused(void **state)
{
    static const struct cairn_column_def columns[] = {{"stack", "id", CAIRN_ENC_UVARINT}};
    struct scene *scene = *state;
    struct cairn_writer *writer = scene->writer;
    struct cairn_code_def code = {.name = 9};
    struct cairn_location_def location = {.kind = CAIRN_LOC_PYTHON, .ref = 1};
    struct cairn_track_def track = {.kind = CAIRN_TRACK_THREAD, .parent = 3};
    const uint64_t stack = 4;
    uint32_t id = 0;

    assert_int_equal(cairn_writer_code(writer, &code, &id), -CAIRN_EINTERNAL);
    assert_int_equal(cairn_writer_location(writer, &location, &id), -CAIRN_EINTERNAL);
    assert_int_equal(cairn_writer_stack(writer, 0, 1, &id), -CAIRN_EINTERNAL);
    assert_int_equal(cairn_writer_track(writer, &track, &id), -CAIRN_EINTERNAL);
    assert_int_equal(cairn_writer_row(writer, CAIRN_ROW_TREE, columns, 1, &stack),
                     -CAIRN_EINTERNAL);
    assert_int_equal(cairn_writer_tick(writer, 1, 1), -CAIRN_EINTERNAL); /* no schedule */
    flush(scene);
    assert_int_equal(cairn_sink_bytes(scene->sink), 0);
}

static void test_long_texts_are_cut_between_characters(void **state)
{
    struct scene *scene = *state;
    const size_t length = CAIRN_STRING_MAX_BYTES + 3;
    char *text = malloc(length);
    struct cairn_span section, bytes;
    struct cairn_dict dict;
    uint32_t id;

    for (size_t i = 0; i < length; i++)
        text[i] = "\xc3\xa4"[i % 2]; /* ä */
    assert_int_equal(
        cairn_writer_string(scene->writer, (struct cairn_span){(uint8_t *)text, length}, &id), 0);
    flush(scene);
    assert_true(find(scene, 0, CAIRN_SECTION_STRINGS, &section));
    cairn_dict_init(&dict, section);
    assert_int_equal(cairn_dict_string(&dict, &id, &bytes), 0);
    assert_int_equal(bytes.size_bytes, CAIRN_STRING_MAX_BYTES - 1); /* half a character less */
    assert_memory_equal(bytes.data, text, CAIRN_STRING_MAX_BYTES - 4);
    assert_memory_equal(bytes.data + CAIRN_STRING_MAX_BYTES - 4, "\xe2\x80\xa6", 3);
    free(text);
}

static void test_large_dictionaries_go_out_in_chunks_of_their_own(void **state)
{
    static const struct cairn_column_def columns[] = {{"string", "id", CAIRN_ENC_UVARINT}};
    const uint32_t count = 300;
    struct scene *scene = *state;
    char *text = malloc(CAIRN_STRING_MAX_BYTES);
    struct cairn_span section, bytes;
    uint32_t id, seen = 0;

    for (uint32_t i = 0; i < count; i++) { /* 19 MB: more than a chunk may hold */
        uint64_t row;

        memset(text, 'a', CAIRN_STRING_MAX_BYTES);
        memcpy(text, &i, sizeof(i));
        assert_int_equal(
            cairn_writer_string(scene->writer,
                                (struct cairn_span){(uint8_t *)text, CAIRN_STRING_MAX_BYTES}, &id),
            0);
        row = id;
        assert_int_equal(cairn_writer_row(scene->writer, CAIRN_ROW_MARK, columns, 1, &row), 0);
    }
    assert_true(cairn_writer_pending_bytes(scene->writer) > CAIRN_CHUNK_MAX_BYTES);
    flush(scene);
    assert_int_equal(cairn_writer_pending_bytes(scene->writer), 0);
    assert_true(chunk_count(scene) >= 4);
    for (size_t i = 0; i < chunk_count(scene); i++) {
        struct cairn_dict dict;

        assert_int_equal(find(scene, i, CAIRN_SECTION_ROWS, &section), i + 1 == chunk_count(scene));
        if (!find(scene, i, CAIRN_SECTION_STRINGS, &section))
            continue;
        cairn_dict_init(&dict, section);
        while (cairn_dict_string(&dict, &id, &bytes) == 0)
            assert_int_equal(id, ++seen);
    }
    assert_int_equal(seen, count);
    free(text);
}

/* Times come back to the quantum, never out of order, with gaps, late ticks and several chunks. */
static void check_ticks(struct scene *scene, uint64_t mean_ns, uint64_t quantum_ns)
{
    enum { CHUNKS = 4, TICKS = 300 };
    const uint64_t start_ns = 5000000000;
    static uint64_t numbers[CHUNKS * TICKS], times_ns[CHUNKS * TICKS];
    uint64_t time_ns = start_ns, number = 17, before_ns = start_ns - 3;
    size_t at = 0, first_chunk = scene->reader == NULL ? 0 : chunk_count(scene);
    struct cairn_ticks ticks = {0};
    struct cairn_span section;

    assert_int_equal(
        cairn_writer_schedule(scene->writer, 99, mean_ns, quantum_ns, number, start_ns, before_ns),
        0);
    assert_int_equal(cairn_writer_tick_index(scene->writer), -1);
    for (size_t i = 0; i < CHUNKS * TICKS; i++) {
        uint64_t draw = cairn_rng_at(7, i);

        number += draw % 10 == 0 ? draw % 1000 : 0;
        time_ns += i % 50 == 0 ? 0 : draw % (2 * mean_ns + 100); /* some at the same time */
        assert_int_equal(cairn_writer_tick(scene->writer, number, time_ns), 0);
        assert_int_equal(cairn_writer_tick_index(scene->writer), i % TICKS);
        assert_int_equal(cairn_writer_tick(scene->writer, number, time_ns), -CAIRN_EINTERNAL);
        numbers[i] = number++;
        times_ns[i] = cairn_writer_tick_time(scene->writer);
        /* Half a quantum; two where ticks come closer than one and must not change places. */
        assert_in_range(times_ns[i], time_ns - quantum_ns, time_ns + 2 * quantum_ns);
        if ((i + 1) % TICKS == 0)
            flush(scene);
    }
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        assert_true(find(scene, first_chunk + chunk, CAIRN_SECTION_TICKS, &section));
        assert_int_equal(cairn_decode_ticks(section, &ticks), 0);
        assert_int_equal(ticks.def.count, TICKS);
        assert_int_equal(ticks.def.before_ns, before_ns);
        assert_int_equal(cairn_reader_chunk(scene->reader, first_chunk + chunk)->first_ns,
                         before_ns);
        for (size_t i = 0; i < TICKS; i++, at++) {
            assert_int_equal(ticks.def.numbers[i], numbers[at]);
            assert_int_equal(ticks.def.times_ns[i], times_ns[at]);
            assert_true(ticks.def.times_ns[i] >= before_ns);
            before_ns = ticks.def.times_ns[i];
        }
    }
    cairn_ticks_release(&ticks);
}

static void test_ticks_come_back_to_the_quantum(void **state)
{
    check_ticks(*state, 1000000, 15625);
    check_ticks(*state, 1, 1);
    check_ticks(*state, 0, 1000); /* as fast as it goes */
    check_ticks(*state, 777777, 40000);
}

static void test_a_gap_too_large_for_a_chunk_asks_for_a_flush(void **state)
{
    struct scene *scene = *state;
    const uint64_t far = (uint64_t)CAIRN_TICK_GAPS_MAX + 2;
    struct cairn_ticks ticks = {0};
    struct cairn_span section;

    assert_int_equal(cairn_writer_schedule(scene->writer, 1, 1000, 10, 0, 5000, 4000), 0);
    assert_int_equal(cairn_writer_tick(scene->writer, 0, 5010), 0);
    assert_int_equal(cairn_writer_tick(scene->writer, far, 20000000000), -CAIRN_ELIMIT);
    flush(scene);
    assert_int_equal(cairn_writer_tick(scene->writer, far, 20000000000), 0);
    flush(scene);
    assert_true(find(scene, 1, CAIRN_SECTION_TICKS, &section));
    assert_int_equal(cairn_decode_ticks(section, &ticks), 0);
    assert_int_equal(ticks.def.numbers[0], far);
    assert_in_range(ticks.def.times_ns[0], 19999999990, 20000000010);
    cairn_ticks_release(&ticks);
}

/* Any words in any encoding are the same words again. */
static void test_tables_come_back_in_every_encoding(void **state)
{
    enum { COLUMNS = 6, ROWS = 500 };
    static const struct cairn_column_def columns[COLUMNS] = {
        {"a", "count", CAIRN_ENC_UVARINT}, {"b", "ns", CAIRN_ENC_SVARINT},
        {"c", "", CAIRN_ENC_DELTA},        {"d", "", CAIRN_ENC_RLE},
        {"e", "", CAIRN_ENC_DELTA_RLE},    {"f", "", CAIRN_ENC_F64},
    };
    static uint64_t values[ROWS][COLUMNS];
    struct scene *scene = *state;
    struct cairn_table table;
    struct cairn_span section;

    for (uint64_t i = 0; i < ROWS; i++) {
        for (uint64_t j = 0; j < COLUMNS; j++) {
            uint64_t draw = cairn_rng_at(j, i);

            values[i][j] = draw >> (cairn_rng_at(i, j) % 65 % 64);
            if (draw % 5 == 0)
                values[i][j] = draw % 2 ? UINT64_MAX : 0;
            else if (draw % 2 && i > 0)
                values[i][j] = values[i - 1][j];
        }
        assert_int_equal(cairn_writer_row(scene->writer, 200, columns, COLUMNS, values[i]), 0);
    }
    flush(scene);
    cairn_table_init(&table);
    assert_true(find(scene, 0, CAIRN_SECTION_ROWS, &section));
    assert_int_equal(cairn_decode_table(section, &table), 0);
    assert_int_equal(table.kind, 200);
    assert_int_equal(table.row_count, ROWS);
    assert_int_equal(table.column_count, COLUMNS);
    assert_null(cairn_table_find(&table, "g"));
    for (size_t j = 0; j < COLUMNS; j++) {
        const uint64_t *column = cairn_table_find(&table, columns[j].name);

        assert_string_equal(table.columns[j].unit, columns[j].unit);
        for (size_t i = 0; i < ROWS; i++)
            assert_true(column[i] == values[i][j]);
    }
    cairn_table_release(&table);
}

/* Rows of every so many of the tracks. */
static void check_rows_of_tracks(struct scene *scene, uint32_t apart)
{
    static const struct cairn_column_def columns[] = {{"n", "", CAIRN_ENC_DELTA},
                                                      {"track", "id", CAIRN_ENC_RLE}};
    enum { TRACKS = 7, ROWS = 1000 };
    struct cairn_track_def def = {.kind = CAIRN_TRACK_THREAD};
    const uint64_t *n, *track;
    struct cairn_table table;
    struct cairn_span section;
    uint64_t last = 0, seen = 0;

    for (uint32_t i = 0; i < TRACKS * apart; i++) {
        uint32_t id = 0;

        def.number = i;
        assert_int_equal(cairn_writer_track(scene->writer, &def, &id), 0);
    }
    for (uint64_t i = 0; i < ROWS; i++)
        assert_int_equal(
            cairn_writer_row(scene->writer, CAIRN_ROW_SAMPLE, columns, 2,
                             (const uint64_t[]){i, 1 + cairn_rng_at(3, i) % TRACKS * apart}),
            0);
    flush(scene);
    cairn_table_init(&table);
    assert_true(find(scene, 0, CAIRN_SECTION_ROWS, &section));
    assert_int_equal(cairn_decode_table(section, &table), 0);
    assert_int_equal(table.row_count, ROWS);
    n = cairn_table_find(&table, "n");
    track = cairn_table_find(&table, "track");
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(track[i],
                         1 + cairn_rng_at(3, n[i]) % TRACKS * apart); /* whole rows moved */
        if (i == 0 || track[i] != track[i - 1]) {
            assert_true(track[i] > last);
            last = track[i];
        } else {
            assert_true(n[i] > n[i - 1]);
        }
        seen += n[i];
    }
    assert_int_equal(seen, ROWS * (ROWS - 1) / 2); /* each of them once */
    cairn_table_release(&table);
}

static void test_rows_of_a_track_stand_together_in_their_order(void **state)
{
    check_rows_of_tracks(*state, 1);
}

/* Between the tracks of threads that live on lie those of the many that came and went. */
static void test_so_do_those_of_tracks_far_apart(void **state)
{
    check_rows_of_tracks(*state, 10000);
}

/* A program may make threads for days, and its first one is there all the while. */
static void test_tracks_that_are_over_take_no_memory(void **state)
{
    static const struct cairn_column_def columns[] = {{"track", "id", CAIRN_ENC_RLE}};
    enum { PIECE = 1000, PIECES = 400 };
    struct cairn_track_def def = {.kind = CAIRN_TRACK_THREAD};
    struct scene *scene = *state;
    size_t before_bytes = 0;
    uint32_t first = 0;
    char name[32];

    assert_int_equal(cairn_writer_track(scene->writer, &def, &first), 0);
    for (uint32_t i = 0; i < PIECE * PIECES; i++) {
        uint32_t id = 0;

        def.number = i;
        snprintf(name, sizeof(name), "Thread-%u (work)", i);
        assert_int_equal(
            cairn_writer_track_name(
                scene->writer, (struct cairn_span){(const uint8_t *)name, strlen(name)}, &def.name),
            0);
        assert_int_equal(cairn_writer_track(scene->writer, &def, &id), 0);
        assert_int_equal(
            cairn_writer_row(scene->writer, CAIRN_ROW_SAMPLE, columns, 1, (const uint64_t[]){id}),
            0);
        assert_int_equal(cairn_writer_row(scene->writer, CAIRN_ROW_SAMPLE, columns, 1,
                                          (const uint64_t[]){first}),
                         0);
        cairn_writer_track_end(scene->writer, id);
        if (i % PIECE == PIECE - 1)
            flush(scene);
        if (i == PIECE * PIECES / 4)
            before_bytes = mallinfo2().uordblks; /* 0 where another allocator is in its place */
    }
    assert_true(mallinfo2().uordblks <= before_bytes + PIECES * PIECE / 8);
}

static void test_a_table_keeps_its_columns_until_the_flush(void **state)
{
    static const struct cairn_column_def one[] = {{"a", "", CAIRN_ENC_RLE}};
    static const struct cairn_column_def other[] = {{"b", "", CAIRN_ENC_RLE}};
    struct scene *scene = *state;
    const uint64_t value = 1;

    assert_int_equal(cairn_writer_row(scene->writer, 1, one, 1, &value), 0);
    assert_int_equal(cairn_writer_row(scene->writer, 1, other, 1, &value), -CAIRN_EINTERNAL);
    assert_int_equal(cairn_writer_row(scene->writer, 2, other, 1, &value), 0);
    flush(scene);
    assert_int_equal(cairn_writer_row(scene->writer, 1, other, 1, &value), 0);
    assert_int_equal(cairn_writer_row(scene->writer, 1, other, 0, &value), -CAIRN_EINTERNAL);
}

static void test_a_full_chunk_refuses_rows_until_the_flush(void **state)
{
    static const struct cairn_column_def columns[] = {{"a", "", CAIRN_ENC_RLE}};
    struct scene *scene = *state;
    uint64_t value = UINT64_MAX, rows = 0;
    int code;

    /* Values that take the most room: the chunk must still hold them all. */
    while ((code = cairn_writer_row(scene->writer, 1, columns, 1, &value)) == 0) {
        value = ~value >> 1 << 1 | (++rows & 1) << 63;
        assert_true(rows < CAIRN_ROWS_MAX);
    }
    assert_int_equal(code, -CAIRN_ELIMIT);
    flush(scene);
    assert_int_equal(cairn_writer_row(scene->writer, 1, columns, 1, &value), 0);
    assert_int_equal(chunk_count(scene), 1);
}

static void test_the_index_tells_time_and_tracks(void **state)
{
    static const struct cairn_column_def columns[] = {{"track", "id", CAIRN_ENC_RLE},
                                                      {"time", "ns", CAIRN_ENC_DELTA},
                                                      {"dur", "ns", CAIRN_ENC_UVARINT}};
    struct scene *scene = *state;
    const struct cairn_chunk_info *info;
    struct cairn_track_def track = {.kind = CAIRN_TRACK_THREAD};
    uint32_t id;

    for (int i = 0; i < 70; i++) {
        id = 0;
        track.number = (uint64_t)i;
        assert_int_equal(cairn_writer_track(scene->writer, &track, &id), 0);
    }
    assert_int_equal(cairn_writer_row(scene->writer, CAIRN_ROW_EVENT, columns, 3,
                                      (const uint64_t[]){3, 500, 100}),
                     0);
    assert_int_equal(cairn_writer_row(scene->writer, CAIRN_ROW_EVENT, columns, 3,
                                      (const uint64_t[]){66, 400, 10}),
                     0);
    flush(scene);
    assert_int_equal(chunk_count(scene), 1);
    info = cairn_reader_chunk(scene->reader, 0);
    assert_int_equal(info->first_ns, 400);
    assert_int_equal(info->last_ns, 600);
    assert_int_equal(info->track_mask, (1 << 3) | (1 << 2));

    assert_int_equal(cairn_writer_counter(scene->writer, "ticks", 1), 0);
    flush(scene);
    assert_int_equal(chunk_count(scene), 2);
    info = cairn_reader_chunk(scene->reader, 1);
    assert_true(info->first_ns > info->last_ns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_pending_makes_no_chunk),
        TEST(test_the_same_gets_the_same_id),
        TEST(test_a_code_is_found_by_what_it_says),
        TEST(test_ids_never_given_out_are_refused),
        TEST(test_long_texts_are_cut_between_characters),
        TEST(test_large_dictionaries_go_out_in_chunks_of_their_own),
        TEST(test_ticks_come_back_to_the_quantum),
        TEST(test_a_gap_too_large_for_a_chunk_asks_for_a_flush),
        TEST(test_tables_come_back_in_every_encoding),
        TEST(test_rows_of_a_track_stand_together_in_their_order),
        TEST(test_so_do_those_of_tracks_far_apart),
        TEST(test_tracks_that_are_over_take_no_memory),
        TEST(test_a_table_keeps_its_columns_until_the_flush),
        TEST(test_a_full_chunk_refuses_rows_until_the_flush),
        TEST(test_the_index_tells_time_and_tracks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "chunkhead.h"
#include "io.h"
#include "reader.h"
#include "scratch.h"

#define FILE_ID 0x1122334455667788u

struct file { /* a recording put together by hand */
    int fd;
    uint64_t number;
    struct cairn_chunkhead head; /* of the next chunk */
};

static struct file new_file(void)
{
    return (struct file){
        .fd = memfd_create("test", MFD_CLOEXEC),
        .head = {.file_id = FILE_ID,
                 .writer = 1,
                 .kind = CAIRN_CHUNK_DATA,
                 .flags = CAIRN_FLAG_PLAIN,
                 .first_ns = UINT64_MAX},
    };
}

/* One ENV section, as small as sections get: {key "k", value "v"}. */
static const uint8_t env_section[] = {CAIRN_SECTION_ENV << 1, 4, 1, 'k', 1, 'v'};

static void encode(struct file *file, const uint8_t *payload, size_t size_bytes,
                   uint8_t ret_header[CAIRN_HEADER_BYTES])
{
    file->head.number = file->number++;
    file->head.stored_bytes = (uint32_t)size_bytes;
    file->head.raw_bytes = (uint32_t)size_bytes;
    file->head.payload_hash =
        file->head.flags & CAIRN_FLAG_UNSEALED ? 0 : XXH3_64bits(payload, size_bytes);
    cairn_chunkhead_encode(&file->head, ret_header);
}

static void append(struct file *file, const uint8_t *payload, size_t size_bytes)
{
    uint8_t header[CAIRN_HEADER_BYTES];

    encode(file, payload, size_bytes, header);
    assert_int_equal(cairn_io_write(file->fd, header, sizeof(header)), 0);
    assert_int_equal(cairn_io_write(file->fd, payload, size_bytes), 0);
}

/* Changes a field of the last header and makes its checksum right again. */
static void append_changed(struct file *file, size_t at, uint8_t value)
{
    uint8_t header[CAIRN_HEADER_BYTES];
    uint64_t hash;

    encode(file, env_section, sizeof(env_section), header);
    header[at] = value;
    hash = XXH3_64bits(header, 80);
    for (unsigned i = 0; i < 8; i++)
        header[80 + i] = (uint8_t)(hash >> (8 * i));
    assert_int_equal(cairn_io_write(file->fd, header, sizeof(header)), 0);
    assert_int_equal(cairn_io_write(file->fd, env_section, sizeof(env_section)), 0);
}

static int open_code(int fd)
{
    struct cairn_reader *reader = NULL;
    struct cairn_err err = {0};
    int code = cairn_reader_open_fd(fd, &reader, &err);

    assert_int_equal(err.code, code);
    assert_int_equal(reader == NULL, code < 0);
    cairn_reader_free(reader);
    return code;
}

static int load_code(struct cairn_reader *reader, size_t index, size_t *ret_size_bytes)
{
    struct cairn_span sections = {NULL, 0};
    struct cairn_buf buf;
    int code;

    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    code = cairn_reader_load(reader, index, &buf, &sections, NULL);
    *ret_size_bytes = sections.size_bytes;
    cairn_buf_release(&buf);
    return code;
}

static void test_what_is_no_recording_is_told_apart(void **state)
{
    static const char python[] = "#!/usr/bin/env python3\nprint('\xC7"
                                 "CAIRN')\n";
    uint8_t header[CAIRN_HEADER_BYTES];
    struct cairn_reader *reader;
    struct file file = new_file();

    (void)state;
    assert_int_equal(open_code(file.fd), -CAIRN_EDAMAGED); /* empty: cut before it began */
    assert_int_equal(cairn_io_write(file.fd, python, sizeof(python)), 0);
    assert_int_equal(open_code(file.fd), -CAIRN_EFOREIGN);
    close(file.fd);

    file = new_file();
    encode(&file, env_section, sizeof(env_section), header);
    header[9] ^= 1; /* the magic, and no header that holds */
    assert_int_equal(cairn_io_write(file.fd, header, sizeof(header)), 0);
    assert_int_equal(open_code(file.fd), -CAIRN_EDAMAGED);
    close(file.fd);

    assert_int_equal(cairn_reader_open("/nowhere/at all", &reader, NULL), -CAIRN_ENOTFOUND);
    assert_int_equal(cairn_reader_open("/tmp", &reader, NULL), -CAIRN_EFOREIGN);
    assert_int_equal(cairn_reader_open("/dev/zero", &reader, NULL), -CAIRN_EFOREIGN);
}

static void test_what_must_be_understood_is_too_new(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        int code;
    } cases[] = {
        {64, 1, -CAIRN_ETOONEW},     /* version */
        {65, 1, -CAIRN_ETOONEW},     /* version */
        {66, 1, -CAIRN_ETOONEW},     /* reserved, must be 0 */
        {68, 1, 0},                  /* reserved, ignored */
        {28, 7, -CAIRN_ETOONEW},     /* kind 0x8007 */
        {29, 0, 0},                  /* kind 0x0001 may be skipped */
        {31, 0x05, -CAIRN_ETOONEW},  /* flag 0x0400 */
        {30, 0xff, 0},               /* flags that need not be known */
        {35, 0x7f, -CAIRN_EDAMAGED}, /* 2 GiB of payload */
        {39, 0x7f, -CAIRN_EDAMAGED}, /* 2 GiB when unpacked */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct file file = new_file();

        append_changed(&file, cases[i].at, cases[i].value);
        assert_int_equal(open_code(file.fd), cases[i].code);
        close(file.fd);

        /* Not only in front. */
        file = new_file();
        append(&file, env_section, sizeof(env_section));
        append_changed(&file, cases[i].at, cases[i].value);
        assert_int_equal(open_code(file.fd), cases[i].code == -CAIRN_ETOONEW ? -CAIRN_ETOONEW : 0);
        close(file.fd);
    }
}

static void test_what_may_be_skipped_is_counted(void **state)
{
    struct file file = new_file();
    struct cairn_reader *reader;

    (void)state;
    append(&file, env_section, sizeof(env_section));
    file.head.kind = 0x77;
    append(&file, env_section, sizeof(env_section));
    file.head.kind = CAIRN_CHUNK_END;
    append(&file, NULL, 0);
    assert_int_equal(cairn_reader_open_fd(file.fd, &reader, NULL), 0);
    assert_int_equal(cairn_reader_chunk_count(reader), 3);
    assert_true(cairn_reader_chunk(reader, 0)->understood);
    assert_false(cairn_reader_chunk(reader, 1)->understood);
    assert_null(cairn_reader_chunk(reader, 3));
    assert_int_equal(cairn_reader_stats(reader)->skipped_chunks, 1);
    assert_true(cairn_reader_stats(reader)->ended);
    assert_int_equal(cairn_reader_stats(reader)->jumped_bytes, 0);
    cairn_reader_free(reader);
    close(file.fd);
}

static void test_sections_not_known_are_skipped_or_too_new(void **state)
{
    static const uint8_t sections[] = {60 << 1, 2, 'x', 'y', CAIRN_SECTION_ENV << 1, 1, 'e'};
    static const uint8_t must[] = {61 << 1 | 1, 0};
    static const uint8_t cut[] = {CAIRN_SECTION_ENV << 1, 9, 'e'};
    struct cairn_section section;
    struct cairn_cursor cur;
    uint64_t skipped = 0;

    (void)state;
    cairn_cursor_init(&cur, (struct cairn_span){sections, sizeof(sections)});
    assert_int_equal(cairn_section_next(&cur, &section, &skipped), 0);
    assert_int_equal(section.kind, CAIRN_SECTION_ENV);
    assert_int_equal(section.bytes.size_bytes, 1);
    assert_int_equal(skipped, 1);
    assert_int_equal(cairn_section_next(&cur, &section, &skipped), -CAIRN_EEND);

    cairn_cursor_init(&cur, (struct cairn_span){must, sizeof(must)});
    assert_int_equal(cairn_section_next(&cur, &section, &skipped), -CAIRN_ETOONEW);
    cairn_cursor_init(&cur, (struct cairn_span){cut, sizeof(cut)});
    assert_int_equal(cairn_section_next(&cur, &section, &skipped), -CAIRN_EDAMAGED);
    assert_int_equal(skipped, 1);
}

static void test_only_the_committed_part_of_an_unsealed_page_counts(void **state)
{
    uint8_t page[64] = {sizeof(env_section)};
    struct file file = new_file();
    struct cairn_reader *reader;
    size_t size_bytes;

    (void)state;
    memcpy(page + 8, env_section, sizeof(env_section));
    memset(page + 8 + sizeof(env_section), 0xee, 64 - 8 - sizeof(env_section));
    file.head.flags = CAIRN_FLAG_UNSEALED;
    append(&file, page, sizeof(page));
    page[0] = 0; /* nothing yet */
    append(&file, page, sizeof(page));
    page[0] = 57; /* one more than there is room for */
    append(&file, page, sizeof(page));
    append(&file, page, 7); /* no room for a counter */
    assert_int_equal(cairn_reader_open_fd(file.fd, &reader, NULL), 0);
    assert_int_equal(load_code(reader, 0, &size_bytes), 0);
    assert_int_equal(size_bytes, sizeof(env_section));
    assert_int_equal(load_code(reader, 1, &size_bytes), 0);
    assert_int_equal(size_bytes, 0);
    assert_int_equal(load_code(reader, 2, &size_bytes), -CAIRN_EDAMAGED);
    assert_int_equal(load_code(reader, 3, &size_bytes), -CAIRN_EDAMAGED);
    assert_int_equal(load_code(reader, 3, &size_bytes), -CAIRN_EDAMAGED); /* counted once */
    assert_int_equal(cairn_reader_stats(reader)->damaged_chunks, 2);
    assert_int_equal(load_code(reader, 4, &size_bytes), -CAIRN_EEND);
    cairn_reader_free(reader);
    close(file.fd);
}

static void test_lengths_that_disagree_are_damaged(void **state)
{
    struct file file = new_file();
    struct cairn_reader *reader;
    uint8_t header[CAIRN_HEADER_BYTES];
    size_t size_bytes;

    (void)state;
    /* PLAIN, but said to unpack to more; then zstd that is none. */
    encode(&file, env_section, sizeof(env_section), header);
    file.head.raw_bytes = sizeof(env_section) + 1;
    cairn_chunkhead_encode(&file.head, header);
    assert_int_equal(cairn_io_write(file.fd, header, sizeof(header)), 0);
    assert_int_equal(cairn_io_write(file.fd, env_section, sizeof(env_section)), 0);
    file.head.flags = 0;
    append(&file, env_section, sizeof(env_section));
    assert_int_equal(cairn_reader_open_fd(file.fd, &reader, NULL), 0);
    assert_int_equal(load_code(reader, 0, &size_bytes), -CAIRN_EDAMAGED);
    assert_int_equal(load_code(reader, 1, &size_bytes), -CAIRN_EDAMAGED);
    cairn_reader_free(reader);
    close(file.fd);
}

static void test_chunks_of_another_file_and_old_numbers_are_jumped(void **state)
{
    struct file file = new_file();
    struct cairn_reader *reader;

    (void)state;
    append(&file, env_section, sizeof(env_section));
    append(&file, env_section, sizeof(env_section));
    file.head.file_id = FILE_ID + 1; /* what the disk held before */
    append(&file, env_section, sizeof(env_section));
    file.head.file_id = FILE_ID;
    file.number = 1; /* and of this file, once more */
    append(&file, env_section, sizeof(env_section));
    file.number = 9;
    append(&file, env_section, sizeof(env_section));
    assert_int_equal(cairn_reader_open_fd(file.fd, &reader, NULL), 0);
    assert_int_equal(cairn_reader_chunk_count(reader), 3);
    assert_int_equal(cairn_reader_stats(reader)->jumped_bytes,
                     2 * (CAIRN_HEADER_BYTES + sizeof(env_section)));
    assert_int_equal(cairn_reader_stats(reader)->jumped_chunks, 7);
    assert_int_equal(cairn_reader_stats(reader)->file_id, FILE_ID);
    cairn_reader_free(reader);
    close(file.fd);
}

/* A reader that looks after every byte must end up with the same as one that comes later. */
static void test_a_follower_sees_each_chunk_once_it_is_whole(void **state)
{
    struct cairn_sink_options options = {.path = NULL};
    struct cairn_reader *reader = NULL;
    struct cairn_buf bytes;
    struct cairn_sink *sink;
    uint64_t row = 0;
    size_t seen = 0;
    int fd = memfd_create("test", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(cairn_sink_open(&options, &sink, NULL), 0);
    assert_int_equal(scratch_write(sink, 5, 0, &row, NULL), 0);
    cairn_buf_init(&bytes, 1 << 20);
    assert_int_equal(cairn_buf_reserve(&bytes, 1 << 16), 0);
    bytes.size_bytes = (size_t)cairn_io_pread(cairn_sink_fd(sink), bytes.data, 1 << 16, 0);
    assert_int_equal(bytes.size_bytes, cairn_sink_bytes(sink));
    bytes.data[300] ^= 1; /* in the second chunk, or the first: a hole to get over */

    for (size_t i = 0; i < bytes.size_bytes; i++) {
        int code;

        assert_int_equal(cairn_io_write(fd, bytes.data + i, 1), 0);
        if (reader == NULL && cairn_reader_open_fd(fd, &reader, NULL) < 0)
            continue;
        code = cairn_reader_refresh(reader, NULL);
        assert_in_range(code, 0, 1);
        assert_true(cairn_reader_chunk_count(reader) >= seen);
        seen = cairn_reader_chunk_count(reader);
        assert_true(cairn_reader_stats(reader)->jumped_bytes <= i + 1);
    }
    assert_in_range(seen, 4, 5);
    assert_int_equal(cairn_reader_chunk(reader, seen - 1)->number, 4);
    cairn_reader_free(reader);
    cairn_sink_close(sink, NULL);
    cairn_buf_release(&bytes);
    close(fd);
}

/* The hole is larger than any buffer of the reader, and full of what looks like the magic. */
static void test_a_large_hole_is_crossed(void **state)
{
    struct file file = new_file();
    struct cairn_reader *reader;
    uint8_t noise[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)CAIRN_MAGIC[i % (CAIRN_MAGIC_BYTES - 1)];
    append(&file, env_section, sizeof(env_section));
    for (int i = 0; i < 100; i++)
        assert_int_equal(cairn_io_write(file.fd, noise, sizeof(noise) - (i == 7)), 0);
    file.number = 3;
    append(&file, env_section, sizeof(env_section));
    assert_int_equal(cairn_reader_open_fd(file.fd, &reader, NULL), 0);
    assert_int_equal(cairn_reader_chunk_count(reader), 2);
    assert_int_equal(cairn_reader_stats(reader)->jumped_bytes, 100 * sizeof(noise) - 1);
    assert_int_equal(cairn_reader_stats(reader)->jumped_chunks, 2);
    cairn_reader_free(reader);
    close(file.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_recording_is_told_apart),
        cmocka_unit_test(test_what_must_be_understood_is_too_new),
        cmocka_unit_test(test_what_may_be_skipped_is_counted),
        cmocka_unit_test(test_sections_not_known_are_skipped_or_too_new),
        cmocka_unit_test(test_only_the_committed_part_of_an_unsealed_page_counts),
        cmocka_unit_test(test_lengths_that_disagree_are_damaged),
        cmocka_unit_test(test_chunks_of_another_file_and_old_numbers_are_jumped),
        cmocka_unit_test(test_a_follower_sees_each_chunk_once_it_is_whole),
        cmocka_unit_test(test_a_large_hole_is_crossed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

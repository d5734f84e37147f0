/* The file itself: who may write it, what a full disk, a kill and a power cut leave behind. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io.h"
#include "reader.h"
#include "rng.h"
#include "scratch.h"
#include "set.h"

#define ROWS_MAX 100000
#define NOBODY 65534

static int setup(void **state)
{
    struct scratch *scratch = calloc(1, sizeof(*scratch));

    scratch_make(scratch);
    alarm(50); /* no test here may hang */
    *state = scratch;
    return 0;
}

static int teardown(void **state)
{
    alarm(0);
    scratch_remove(*state);
    free(*state);
    return 0;
}

static struct cairn_sink *open_sink(const char *path, bool force, bool sync)
{
    struct cairn_sink_options options = {.path = path, .force = force, .sync = sync};
    struct cairn_sink *sink;

    assert_int_equal(cairn_sink_open(&options, &sink, NULL), 0);
    return sink;
}

static void test_an_existing_file_is_kept_unless_forced(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink_options options = {.path = scratch->path};
    struct cairn_sink *sink = open_sink(scratch->path, false, false);
    struct cairn_err err;
    uint64_t row = 0, jumped;
    bool seen[20];
    struct stat info;
    int old;

    assert_int_equal(scratch_write(sink, 1, 0, &row, NULL), 0);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    assert_int_equal(stat(scratch->path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);

    assert_int_equal(cairn_sink_open(&options, &sink, &err), -CAIRN_EEXISTS);
    assert_int_equal(err.sys, EEXIST);
    assert_int_equal(scratch_read(scratch->path, seen, 20, &jumped), 0);
    assert_true(seen[9]);

    /* Who reads the old file keeps it whole. */
    old = cairn_io_open(scratch->path, O_RDONLY, 0);
    sink = open_sink(scratch->path, true, false);
    assert_int_equal(fstat(old, &info), 0);
    assert_true(info.st_size > 0);
    assert_int_equal(scratch_write(sink, 1, 0, &row, NULL), 0);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    assert_int_equal(scratch_read(scratch->path, seen, 20, &jumped), 0);
    assert_true(!seen[9] && seen[10]);
    cairn_io_close(&old);
}

static void test_a_folder_that_cannot_be_written_is_refused(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink_options options = {.path = scratch->path};
    struct cairn_sink *sink;
    struct cairn_err err;
    int status;
    pid_t pid;

    assert_int_equal(chmod(scratch->folder, 0555), 0);
    pid = fork();
    if (pid == 0) {
        /* Root may write anywhere. */
        if (getuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
            _exit(2);
        _exit(cairn_sink_open(&options, &sink, &err) != -CAIRN_EPERM || err.sys != EACCES ||
              strstr(err.text, scratch->path) == NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(scratch->folder, 0700), 0);

    options.path = "/dev/null/nowhere";
    assert_true(cairn_sink_open(&options, &sink, &err) < 0);
    assert_int_equal(err.sys, ENOTDIR);
}

/* Writes until it fails; then the file must end behind a whole chunk, and fail it stays. Runs in a
 * child of its own: 0, or the number of what went wrong. */
static int fill_up(const char *path, int want_sys, bool readable)
{
    struct cairn_sink_options options = {.path = path, .force = true};
    static bool seen[ROWS_MAX];
    struct cairn_err err, again;
    struct cairn_sink *sink;
    uint64_t row = 0, none = 0, jumped_bytes;

    if (cairn_sink_open(&options, &sink, &err) < 0)
        return 1;
    if (scratch_write(sink, ROWS_MAX / SCRATCH_CHUNK_ROWS, 3000, &row, &err) != -CAIRN_EIO)
        return 2;
    if (err.sys != want_sys || strstr(err.text, path) == NULL)
        return 3;
    if (scratch_write(sink, 1, 0, &none, &again) != -CAIRN_EIO || again.sys != err.sys)
        return 4;
    cairn_sink_close(sink, NULL);
    if (!readable)
        return 0;
    if (scratch_read(path, seen, ROWS_MAX, &jumped_bytes) < 0 || jumped_bytes != 0)
        return 5;
    /* All that was said to be written is there, and nothing else. */
    for (uint64_t i = 0; i < ROWS_MAX; i++) {
        if (seen[i] != (i < row))
            return 6;
    }
    return row > 0 ? 0 : 7;
}

static int wait_for(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_size_limit_is_an_error_and_no_signal(void **state)
{
    const struct scratch *scratch = *state;
    pid_t pid = fork();

    if (pid == 0) {
        const struct rlimit limit = {50000, 50000};

        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(fill_up(scratch->path, EFBIG, true));
    }
    assert_int_equal(wait_for(pid), 0);
}

static void test_a_full_device_is_an_error(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(fill_up("/dev/full", ENOSPC, false));
    assert_int_equal(wait_for(pid), 0);
    assert_int_equal(access("/dev/full", F_OK), 0); /* written to, not replaced */
}

static void test_a_full_disk_keeps_what_was_written(void **state)
{
    const struct scratch *scratch = *state;
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int flags = CLONE_NEWNS | (getuid() == 0 ? 0 : CLONE_NEWUSER);

        if (unshare(flags) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", scratch->folder, "tmpfs", 0, "size=256k") < 0)
            _exit(77);
        _exit(fill_up(scratch->path, ENOSPC, true));
    }
    status = wait_for(pid);
    if (status == 77) {
        print_message("# skip: a file system of its own is not allowed here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void test_reserved_space_is_given_back(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink *sink = open_sink(scratch->path, false, false);
    struct stat info;
    uint64_t row = 0;

    assert_int_equal(scratch_write(sink, 3, 0, &row, NULL), 0);
    assert_int_equal(stat(scratch->path, &info), 0);
    assert_int_equal(info.st_size, cairn_sink_bytes(sink)); /* readers see no room, only bytes */
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    assert_int_equal(stat(scratch->path, &info), 0);
    assert_true(info.st_blocks * 512 < 65536);
}

static void run_until_killed(const char *path, int ack)
{
    struct cairn_sink *sink = open_sink(path, true, false);
    uint64_t row = 0;

    while (scratch_write(sink, 1, 2000, &row, NULL) == 0) {
        if (row == ROWS_MAX || write(ack, "", 1) != 1)
            break;
    }
    _exit(1);
}

static void test_a_kill_loses_no_chunk_that_was_flushed(void **state)
{
    const struct scratch *scratch = *state;
    static bool seen[ROWS_MAX];

    for (uint64_t i = 0; i < 200; i++) {
        uint64_t wanted = 1 + cairn_rng_at(20, i) % 40, acked = 0, found = 0, jumped_bytes;
        int ack[2], status;
        char buf[64];
        pid_t pid;

        assert_int_equal(pipe(ack), 0);
        pid = fork();
        if (pid == 0) {
            close(ack[0]);
            run_until_killed(scratch->path, ack[1]);
        }
        close(ack[1]);
        while (acked < wanted) {
            size_t want = wanted - acked < sizeof(buf) ? wanted - acked : sizeof(buf);
            ssize_t got = read(ack[0], buf, want);

            assert_true(got > 0);
            acked += (uint64_t)got;
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        close(ack[0]);

        assert_int_equal(scratch_read(scratch->path, seen, ROWS_MAX, &jumped_bytes), 0);
        while (found < ROWS_MAX && seen[found])
            found++;
        assert_true(found >= acked * SCRATCH_CHUNK_ROWS);
        for (uint64_t row = found; row < ROWS_MAX; row++)
            assert_false(seen[row]);
        assert_true(jumped_bytes < 8192); /* the chunk under way at most */
    }
}

/* What the disk makes of a write that it had not finished. */
enum fate { KEPT, DROPPED, GARBLED };

static void suffer(uint8_t *data, size_t size_bytes, enum fate fate, uint64_t seed)
{
    for (size_t i = 0; fate != KEPT && i < size_bytes; i++)
        data[i] = fate == DROPPED ? 0 : (uint8_t)cairn_rng_at(seed, i);
}

#define LOSS_CHUNKS 7

/* A synced recording of LOSS_CHUNKS chunks, of which the first is on the disk for sure. */
static void make_synced(const struct scratch *scratch, size_t filler_bytes, struct cairn_buf *bytes,
                        size_t *ret_synced, size_t ends[LOSS_CHUNKS])
{
    struct cairn_sink *sink = open_sink(scratch->path, true, true);
    struct cairn_reader *reader;
    uint64_t row = 0;

    assert_int_equal(scratch_write(sink, LOSS_CHUNKS, filler_bytes, &row, NULL), 0);
    *ret_synced = cairn_sink_synced_bytes(sink);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    scratch_load(scratch->path, bytes);
    assert_int_equal(cairn_reader_open(scratch->path, &reader, NULL), 0);
    assert_int_equal(cairn_reader_chunk_count(reader), LOSS_CHUNKS);
    for (size_t i = 0; i < LOSS_CHUNKS; i++)
        ends[i] =
            i + 1 < LOSS_CHUNKS ? cairn_reader_chunk(reader, i + 1)->offset : bytes->size_bytes;
    cairn_reader_free(reader);
    assert_in_range(*ret_synced, ends[0], bytes->size_bytes);
}

static void check_loss(const struct scratch *scratch, const bool kept[LOSS_CHUNKS])
{
    bool seen[LOSS_CHUNKS * SCRATCH_CHUNK_ROWS];
    uint64_t jumped_bytes;

    assert_int_equal(scratch_read(scratch->path, seen, sizeof(seen), &jumped_bytes), 0);
    for (size_t i = 0; i < sizeof(seen); i++)
        assert_int_equal(seen[i], kept[i / SCRATCH_CHUNK_ROWS]);
}

static void test_power_loss_in_every_combination_of_writes(void **state)
{
    const struct scratch *scratch = *state;
    size_t synced, ends[LOSS_CHUNKS];
    struct cairn_buf bytes, image;
    unsigned combinations = 1;

    cairn_buf_init(&bytes, 1 << 20);
    cairn_buf_init(&image, 1 << 20);
    make_synced(scratch, 0, &bytes, &synced, ends);
    for (size_t i = 1; i < LOSS_CHUNKS; i++)
        combinations *= 3;
    for (unsigned n = 0; n < combinations; n++) {
        bool kept[LOSS_CHUNKS] = {true};
        unsigned fates = n;
        size_t size = bytes.size_bytes;

        cairn_buf_clear(&image);
        assert_int_equal(cairn_buf_add(&image, bytes.data, bytes.size_bytes), 0);
        for (size_t i = 1; i < LOSS_CHUNKS; i++, fates /= 3) {
            enum fate fate = ends[i] <= synced ? KEPT : (enum fate)(fates % 3);

            kept[i] = fate == KEPT;
            suffer(image.data + ends[i - 1], ends[i] - ends[i - 1], fate, n);
        }
        /* The size is a write of its own: what was dropped at the end may not be there at all. */
        for (size_t i = LOSS_CHUNKS - 1; n % 2 && i > 0 && !kept[i]; i--)
            size = ends[i - 1];
        scratch_store(scratch->path, image.data, size);
        check_loss(scratch, kept);
    }
    cairn_buf_release(&bytes);
    cairn_buf_release(&image);
}

static void test_power_loss_of_single_sectors(void **state)
{
    const struct scratch *scratch = *state;
    const size_t sector = 512;
    size_t synced, ends[LOSS_CHUNKS];
    struct cairn_buf bytes, image;

    cairn_buf_init(&bytes, 1 << 20);
    cairn_buf_init(&image, 1 << 20);
    make_synced(scratch, 4096, &bytes, &synced, ends);
    for (uint64_t n = 0; n < 500; n++) {
        bool kept[LOSS_CHUNKS];
        uint64_t draw = 0;

        memset(kept, true, sizeof(kept));
        cairn_buf_clear(&image);
        assert_int_equal(cairn_buf_add(&image, bytes.data, bytes.size_bytes), 0);
        for (size_t at = (synced + sector - 1) / sector * sector; at < bytes.size_bytes;
             at += sector) {
            size_t end = at + sector < bytes.size_bytes ? at + sector : bytes.size_bytes;
            /* From few lost ones to nearly all. */
            bool lost = cairn_rng_at(n, draw++) % 64 <= n % 60;

            if (!lost)
                continue;
            suffer(image.data + at, end - at, draw % 2 ? DROPPED : GARBLED, n + draw);
            for (size_t i = 0; i < LOSS_CHUNKS; i++)
                kept[i] &= ends[i] <= at || (i > 0 ? ends[i - 1] : 0) >= end;
        }
        scratch_store(scratch->path, image.data, image.size_bytes);
        check_loss(scratch, kept);
    }
    cairn_buf_release(&bytes);
    cairn_buf_release(&image);
}

static void test_a_set_begins_only_where_it_can_go_on(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink_options options = {.path = scratch->path, .rotate_bytes = 1};
    struct cairn_sink *sink;
    struct cairn_err err;
    uint64_t row = 0;
    char next[80];

    snprintf(next, sizeof(next), "%s.1", scratch->path);
    scratch_store(next, (const uint8_t *)"x", 1);
    assert_int_equal(cairn_sink_open(&options, &sink, &err), -CAIRN_EEXISTS);
    assert_non_null(strstr(err.text, next));
    assert_int_equal(access(scratch->path, F_OK), -1); /* nothing was begun */

    /* One that comes later ends the recording with an error, and is kept as well. */
    assert_int_equal(unlink(next), 0);
    assert_int_equal(cairn_sink_open(&options, &sink, &err), 0);
    scratch_store(next, (const uint8_t *)"x", 1);
    assert_int_equal(scratch_write(sink, 2, 0, &row, &err), -CAIRN_EEXISTS);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
}

static void test_a_set_says_which_of_its_files_are_missing(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink_options options = {.path = scratch->path, .rotate_bytes = 1};
    struct cairn_sink *sink;
    struct cairn_set *set;
    uint64_t row = 0;
    char other[80];

    assert_int_equal(cairn_sink_open(&options, &sink, NULL), 0);
    assert_int_equal(scratch_write(sink, 4, 0, &row, NULL), 0);
    assert_int_equal(cairn_sink_generation(sink), 4);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);

    /* Of the right name, and of another set, and no recording at all. */
    snprintf(other, sizeof(other), "%s.9", scratch->path);
    cairn_sink_close(open_sink(other, false, false), NULL);
    snprintf(other, sizeof(other), "%s.2", scratch->path);
    assert_int_equal(unlink(other), 0);
    snprintf(other, sizeof(other), "%s.03", scratch->path);
    scratch_store(other, (const uint8_t *)"x", 1);

    assert_int_equal(cairn_set_open(scratch->path, &set, NULL), 0);
    assert_int_equal(cairn_set_count(set), 3); /* none that holds only what began it */
    assert_int_equal(cairn_set_missing(set), 1);
    cairn_set_free(set);
}

static void test_every_file_of_a_set_is_its_owners(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_owner owner = {.uid = 65534, .gid = 65534, .groups = {65534}, .group_count = 1};
    struct cairn_sink_options options = {
        .path = scratch->path, .owner = &owner, .force = true, .rotate_bytes = 1};
    struct cairn_sink *sink;
    struct cairn_err err;
    uint64_t row = 0;

    if (geteuid() != 0) {
        printf("# skip: root alone acts for somebody else\n");
        skip();
    }
    /* Not where the owner may not write, although root may. */
    assert_int_equal(cairn_sink_open(&options, &sink, &err), -CAIRN_EPERM);
    assert_int_equal(chmod(scratch->folder, 0777), 0);
    assert_int_equal(cairn_sink_open(&options, &sink, &err), 0);
    assert_int_equal(scratch_write(sink, 3, 0, &row, &err), 0);
    assert_int_equal(cairn_sink_close(sink, &err), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct stat info;
        char path[80];

        snprintf(path, sizeof(path), i > 0 ? "%s.%u" : "%s", scratch->path, i);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_uid, 65534);
        assert_int_equal(info.st_gid, 65534);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
    assert_int_equal(geteuid(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_file_of_a_set_is_its_owners, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_existing_file_is_kept_unless_forced, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_that_cannot_be_written_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_size_limit_is_an_error_and_no_signal, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_full_device_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_disk_keeps_what_was_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reserved_space_is_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_kill_loses_no_chunk_that_was_flushed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_power_loss_in_every_combination_of_writes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_power_loss_of_single_sectors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_set_begins_only_where_it_can_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_set_says_which_of_its_files_are_missing, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "io.h"

#define LARGE_BYTES ((size_t)300000) /* more than a pipe holds and than one chunk */

static char folder[] = "/tmp/cairn-test-io-XXXXXX";
static int folder_fd = -1;

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    folder_fd = cairn_io_open(folder, O_RDONLY | O_DIRECTORY, 0);
    return folder_fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlinkat(folder_fd, "file", 0);
    cairn_io_close(&folder_fd);
    return rmdir(folder);
}

static void write_file(const void *data, size_t size_bytes)
{
    int fd = cairn_io_openat(folder_fd, "file", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(cairn_io_write(fd, data, size_bytes), 0);
    cairn_io_close(&fd);
    assert_int_equal(fd, -1);
    cairn_io_close(&fd);
}

static uint8_t *large_pattern(void)
{
    uint8_t *bytes = malloc(LARGE_BYTES);

    assert_non_null(bytes);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    return bytes;
}

static void test_open_says_why_not_and_closes_on_exec(void **state)
{
    int fd;

    (void)state;
    write_file("x", 1);
    fd = cairn_io_openat(folder_fd, "file", O_RDONLY, 0);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    cairn_io_close(&fd);
    assert_int_equal(cairn_io_openat(folder_fd, "nothing", O_RDONLY, 0), -ENOENT);
    assert_int_equal(cairn_io_openat(folder_fd, "file", O_WRONLY | O_CREAT | O_EXCL, 0600),
                     -EEXIST);
    assert_int_equal(cairn_io_open(folder, O_WRONLY, 0), -EISDIR);
}

static void test_reads_and_writes_at_an_offset(void **state)
{
    char bytes[8];
    int fd;

    (void)state;
    write_file("0123456789", 10);
    fd = cairn_io_openat(folder_fd, "file", O_RDWR, 0);
    assert_int_equal(cairn_io_pwrite(fd, "xy", 2, 4), 0);
    assert_int_equal(cairn_io_pread(fd, bytes, 4, 3), 4);
    assert_memory_equal(bytes, "3xy6", 4);
    assert_int_equal(cairn_io_pread(fd, bytes, 8, 7), 3); /* the end of the file */
    assert_int_equal(cairn_io_pread(fd, bytes, 8, 10), 0);
    assert_int_equal(cairn_io_pread(fd, bytes, 0, 0), 0);
    assert_int_equal(cairn_io_pread(fd, bytes, 8, (uint64_t)1 << 63), -EINVAL);
    assert_int_equal(cairn_io_pwrite(fd, bytes, 8, UINT64_MAX), -EINVAL);
    assert_int_equal(cairn_io_read(fd, bytes, SIZE_MAX), -EINVAL);
    assert_int_equal(cairn_io_pread_once(fd, bytes, 4), 4);
    assert_memory_equal(bytes, "0123", 4);
    assert_int_equal(cairn_io_pread_once(fd, bytes, 8), 8);
    assert_memory_equal(bytes, "0123xy67", 8);
    assert_int_equal(cairn_io_read(fd, bytes, 4), 4); /* its own position was not moved */
    assert_memory_equal(bytes, "0123", 4);
    cairn_io_close(&fd);
}

static void test_failures_are_negated_errnos(void **state)
{
    char bytes[4] = "abc";
    int full = cairn_io_open("/dev/full", O_WRONLY, 0);

    (void)state;
    assert_int_equal(cairn_io_read(-1, bytes, 4), -EBADF);
    assert_int_equal(cairn_io_pread(-1, bytes, 4, 0), -EBADF);
    assert_int_equal(cairn_io_pread_once(-1, bytes, 4), -EBADF);
    assert_int_equal(cairn_io_write(-1, bytes, 4), -EBADF);
    assert_int_equal(cairn_io_pwrite(-1, bytes, 4, 0), -EBADF);
    assert_int_equal(cairn_io_write(-1, NULL, 0), 0);
    assert_int_equal(cairn_io_write(full, bytes, 4), -ENOSPC);
    cairn_io_close(&full);
}

static void test_a_pipe_gives_and_takes_in_parts(void **state)
{
    uint8_t *pattern = large_pattern(), *got = malloc(LARGE_BYTES + 1);
    int ends[2], status;
    pid_t child;

    (void)state;
    assert_non_null(got);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        status = cairn_io_write(ends[1], pattern, LARGE_BYTES) == 0 ? 0 : 1;
        free(got);
        free(pattern);
        _exit(status);
    }
    cairn_io_close(&ends[1]);
    assert_int_equal(cairn_io_read(ends[0], got, LARGE_BYTES + 1), LARGE_BYTES);
    assert_memory_equal(got, pattern, LARGE_BYTES);
    cairn_io_close(&ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    free(got);
    free(pattern);
}

static int alarm_pipe;
static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    (void)number;
    /* The first two only interrupt. */
    if (++alarms == 3 && write(alarm_pipe, "abc", 3) != 3)
        abort();
}

static void test_an_interrupted_read_goes_on(void **state)
{
    const struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    const struct itimerval every = {{0, 5000}, {0, 5000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    struct sigaction before;
    char bytes[3];
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    alarm_pipe = ends[1];
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    assert_int_equal(cairn_io_read(ends[0], bytes, 3), 3);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_memory_equal(bytes, "abc", 3);
    cairn_io_close(&ends[0]);
    cairn_io_close(&ends[1]);
}

static void test_a_whole_file_is_appended(void **state)
{
    uint8_t *pattern = large_pattern();
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, LARGE_BYTES + 2);
    cairn_buf_add_str(&buf, "ab");
    write_file(pattern, LARGE_BYTES);
    assert_int_equal(cairn_io_read_file(folder_fd, "file", &buf), 0); /* to the byte */
    assert_int_equal(buf.size_bytes, LARGE_BYTES + 2);
    assert_memory_equal(buf.data, "ab", 2);
    assert_memory_equal(buf.data + 2, pattern, LARGE_BYTES);

    /* Not one byte more; what was there stays. */
    cairn_buf_clear(&buf);
    cairn_buf_add_str(&buf, "abc");
    assert_int_equal(cairn_io_read_file(folder_fd, "file", &buf), -EFBIG);
    assert_string_equal(cairn_buf_cstr(&buf), "abc");
    assert_int_equal(cairn_io_read_file(folder_fd, "nothing", &buf), -ENOENT);
    assert_int_equal(cairn_io_read_file(AT_FDCWD, folder, &buf), -EISDIR);
    assert_string_equal(cairn_buf_cstr(&buf), "abc");

    write_file("", 0);
    assert_int_equal(cairn_io_read_file(folder_fd, "file", &buf), 0);
    assert_string_equal(cairn_buf_cstr(&buf), "abc");
    cairn_buf_release(&buf);
    free(pattern);
}

static void test_files_of_proc_have_no_size_and_are_read(void **state)
{
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, 1 << 20);
    assert_int_equal(cairn_io_read_file(AT_FDCWD, "/proc/self/status", &buf), 0);
    assert_non_null(strstr(cairn_buf_cstr(&buf), "VmRSS:"));
    cairn_buf_release(&buf);
}

static void test_short_memory_is_said(void **state)
{
    uint8_t *pattern = large_pattern();

    (void)state;
    write_file(pattern, LARGE_BYTES);
    for (long n = 0;; n++) {
        struct cairn_buf buf;
        bool failed;
        int code;

        cairn_buf_init(&buf, LARGE_BYTES);
        cairn_alloc_fail_after(n);
        code = cairn_io_read_file(folder_fd, "file", &buf);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(code, failed ? -ENOMEM : 0);
        assert_int_equal(buf.size_bytes, failed ? 0 : LARGE_BYTES);
        /* A buffer that has failed takes nothing until it is cleared. */
        if (failed)
            assert_int_equal(cairn_io_read_file(folder_fd, "file", &buf), -ENOMEM);
        cairn_buf_release(&buf);
        if (!failed) {
            assert_true(n > 1); /* something was there to fail */
            break;
        }
    }
    free(pattern);
}

/* What may stay open leaves room for what is opened for a moment, however low the limit. */
static void test_descriptors_are_kept_only_while_there_are_enough(void **state)
{
    const unsigned percents[] = {50, 100};
    struct rlimit before, limit;
    int fds[200], first = dup(folder_fd);

    (void)state;
    cairn_io_close(&first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){200, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < 2; i++) {
        size_t kept = 0;

        while ((fds[kept] = cairn_io_keep(dup(folder_fd), percents[i])) >= 0)
            kept++;
        assert_int_equal(fds[kept], -EMFILE);
        assert_true(kept > 50 * i && kept < 2 * percents[i]);
        assert_true(fds[kept - 1] < (int)(2 * percents[i]) - 20);
        for (size_t n = 0; n < 20; n++) {
            fds[kept + n] = dup(folder_fd);
            assert_true(fds[kept + n] >= 0); /* these are what was spared */
        }
        for (size_t n = 0; n < kept + 20; n++)
            cairn_io_close(&fds[n]);
    }
    assert_int_equal(cairn_io_keep(-ENOENT, 100), -ENOENT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_says_why_not_and_closes_on_exec),
        cmocka_unit_test(test_reads_and_writes_at_an_offset),
        cmocka_unit_test(test_failures_are_negated_errnos),
        cmocka_unit_test(test_a_pipe_gives_and_takes_in_parts),
        cmocka_unit_test(test_an_interrupted_read_goes_on),
        cmocka_unit_test(test_a_whole_file_is_appended),
        cmocka_unit_test(test_files_of_proc_have_no_size_and_are_read),
        cmocka_unit_test(test_short_memory_is_said),
        cmocka_unit_test(test_descriptors_are_kept_only_while_there_are_enough),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "outlet.h"

#define LINES 200000 /* more than gathers before it is written */

static int produce(struct cairn_outlet *out)
{
    for (size_t i = 0; i < LINES; i++) {
        cairn_buf_printf(&out->buf, "line %zu\n", i);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return 0;
}

static void test_all_of_it_arrives(void **state)
{
    FILE *file = tmpfile();
    struct cairn_outlet out;
    char line[32];

    (void)state;
    assert_non_null(file);
    cairn_outlet_init(&out, fileno(file), "a file");
    assert_int_equal(cairn_outlet_finish(&out, produce(&out), NULL), 0);
    rewind(file);
    for (size_t i = 0; i < LINES; i++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "line %zu\n", i);
        assert_non_null(fgets(line, sizeof(line), file));
        assert_string_equal(line, expected);
    }
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
}

static void test_a_full_disk_is_one_sentence(void **state)
{
    int fd = open("/dev/full", O_WRONLY);
    struct cairn_outlet out;
    struct cairn_err err = {0};

    (void)state;
    assert_true(fd >= 0);
    cairn_outlet_init(&out, fd, "out.txt");
    assert_int_equal(cairn_outlet_finish(&out, produce(&out), &err), -CAIRN_EIO);
    assert_int_equal(err.sys, ENOSPC);
    assert_string_equal(err.text, "cannot write out.txt: No space left on device");
    close(fd);
}

static void test_a_reader_that_went_away_is_a_quiet_end(void **state)
{
    struct cairn_outlet out;
    struct cairn_err err = {0};
    int ends[2];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    cairn_outlet_init(&out, ends[1], "stdout");
    assert_true(produce(&out) < 0); /* and the producer learns that it may stop */
    assert_int_equal(cairn_outlet_finish(&out, -CAIRN_EIO, &err), 0);
    assert_int_equal(err.code, 0);
    close(ends[1]);
}

static void test_a_producers_failure_is_kept(void **state)
{
    struct cairn_outlet out;
    struct cairn_err err = {0};
    int fd = open("/dev/null", O_WRONLY);

    (void)state;
    assert_true(fd >= 0);
    cairn_outlet_init(&out, fd, "stdout");
    cairn_err_set(&err, -CAIRN_EUSAGE, 0, "test", "this first");
    assert_int_equal(cairn_outlet_finish(&out, -CAIRN_EUSAGE, &err), -CAIRN_EUSAGE);
    assert_string_equal(err.text, "this first");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_arrives),
        cmocka_unit_test(test_a_full_disk_is_one_sentence),
        cmocka_unit_test(test_a_reader_that_went_away_is_a_quiet_end),
        cmocka_unit_test(test_a_producers_failure_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

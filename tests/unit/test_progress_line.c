#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "progress_line.h"

#define MS UINT64_C(1000000)

static uint64_t hand_ns; /* of a clock that is turned by hand */

static uint64_t hand(void)
{
    return hand_ns;
}

/* What was written since the last call. */
static const char *screen(int fd)
{
    static char text[256];
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    assert_true(got >= 0);
    text[got] = '\0';
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return text;
}

static void test_long_work_is_told_and_leaves_nothing(void **state)
{
    int fd = memfd_create("screen", 0);
    struct cairn_progress_line line;
    (void)state;

    assert_true(fd >= 0);
    hand_ns = 5 * MS;
    cairn_progress_line_init(&line, fd, hand);
    hand_ns += 999 * MS;
    cairn_progress_tell(&line.progress, 0.1);
    assert_string_equal(screen(fd), "");
    hand_ns += 1 * MS;
    cairn_progress_tell(&line.progress, 0.2);
    assert_string_equal(screen(fd), "\r\x1b[Kcairn: reading, 20 %, about 4 s left");
    hand_ns += 199 * MS; /* nobody reads faster */
    cairn_progress_tell(&line.progress, 0.3);
    assert_string_equal(screen(fd), "");
    hand_ns += 801 * MS;
    cairn_progress_tell(&line.progress, 0.5);
    assert_string_equal(screen(fd), "\r\x1b[Kcairn: reading, 50 %, about 2 s left");
    hand_ns += 2000 * MS;
    cairn_progress_tell(&line.progress, 1);
    assert_string_equal(screen(fd), "\r\x1b[K");
    hand_ns += 2000 * MS;
    cairn_progress_tell(&line.progress, 0.5);
    cairn_progress_line_end(&line);
    assert_string_equal(screen(fd), "");
    close(fd);
}

/* What failed midway takes its line away, so that the error stands alone. */
static void test_the_end_takes_the_line_away_once(void **state)
{
    int fd = memfd_create("screen", 0);
    struct cairn_progress_line line;
    (void)state;

    assert_true(fd >= 0);
    cairn_progress_line_init(&line, fd, hand);
    cairn_progress_line_end(&line);
    assert_string_equal(screen(fd), "");
    cairn_progress_line_init(&line, fd, hand);
    hand_ns += 3000 * MS;
    cairn_progress_tell(&line.progress, 0);
    assert_string_equal(screen(fd), "\r\x1b[Kcairn: reading, 0 %, about 3 s left");
    cairn_progress_line_end(&line);
    cairn_progress_line_end(&line);
    assert_string_equal(screen(fd), "\r\x1b[K");
    close(fd);
}

static void test_nobody_is_told_where_nobody_looks(void **state)
{
    struct cairn_progress_line line;
    (void)state;

    cairn_progress_tell(NULL, 0.5);
    cairn_progress_line_init(&line, -1, hand);
    hand_ns += 3000 * MS;
    cairn_progress_tell(&line.progress, 0.5);
    assert_false(line.is_shown);
    cairn_progress_line_end(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_work_is_told_and_leaves_nothing),
        cmocka_unit_test(test_the_end_takes_the_line_away_once),
        cmocka_unit_test(test_nobody_is_told_where_nobody_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

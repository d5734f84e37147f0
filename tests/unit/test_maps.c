#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "maps.h"

/* The text in a block of exactly its size, so that a read past its end is seen. */
static struct cairn_span exact(const char *text)
{
    size_t size_bytes = strlen(text);

    return (struct cairn_span){memcpy(malloc(size_bytes + !size_bytes), text, size_bytes),
                               size_bytes};
}

static int first_line(const char *text, struct cairn_map_range *ret)
{
    struct cairn_span span = exact(text);
    struct cairn_cursor cur;
    int code;

    cairn_cursor_init(&cur, span);
    code = cairn_maps_next(&cur, ret);
    ret->path.data = NULL;
    free((void *)span.data);
    return code;
}

static void test_a_line_is_read(void **state)
{
    static const char text[] =
        "55d0c8a00000-55d0c8a01000 r-xp 0001f000 fd:01 1234                       /usr/bin/a b\n"
        "7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0 [stack]\n"
        "7f0000000000-7f0000001000 r--p 00000000 00:1b 77 /lib/x.so (deleted)";
    struct cairn_span span = exact(text);
    struct cairn_cursor cur;
    struct cairn_map_range range;

    (void)state;
    cairn_cursor_init(&cur, span);
    assert_int_equal(cairn_maps_next(&cur, &range), 0);
    assert_true(range.start == 0x55d0c8a00000 && range.end == 0x55d0c8a01000);
    assert_true(range.readable && !range.writable && range.executable && !range.deleted);
    assert_int_equal(range.offset, 0x1f000);
    assert_int_equal(range.major, 0xfd);
    assert_int_equal(range.inode, 1234);
    assert_int_equal(range.path.size_bytes, strlen("/usr/bin/a b"));
    assert_int_equal(cairn_maps_next(&cur, &range), 0);
    assert_int_equal(range.inode, 0);
    assert_memory_equal(range.path.data, "[stack]", 7);
    assert_int_equal(cairn_maps_next(&cur, &range), 0);
    assert_true(range.deleted);
    assert_int_equal(range.path.size_bytes, strlen("/lib/x.so"));
    assert_int_equal(cairn_maps_next(&cur, &range), -CAIRN_EEND);
    free((void *)span.data);
}

static void test_what_is_no_line_is_refused(void **state)
{
    static const char *const cases[] = {
        "\n",
        "x",
        "1000",
        "1000-",
        "1000-2000",
        "1000-2000 r-xp",
        "2000-1000 r-xp 0 0:0 0",
        "1000-1000 r-xp 0 0:0 0",
        "1000-2000 r-xp 0 0:0",
        "1000-2000 r-xp 0 0:0 x",
        "11111111111111111-2 r-xp 0 0:0 0", /* above 64 bits */
    };
    struct cairn_map_range range = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(first_line(cases[i], &range), -CAIRN_EDAMAGED);
    assert_int_equal(first_line("", &range), -CAIRN_EEND);
    assert_int_equal(first_line("1000-2000 r-xp 0 0:0 0", &range), 0);
}

/* One line that is none costs itself alone. */
static void test_the_walk_goes_on_behind_a_bad_line(void **state)
{
    struct cairn_span span = exact("nonsense\n1000-2000 r-xp 0 0:0 0\n");
    struct cairn_cursor cur;
    struct cairn_map_range range;

    (void)state;
    cairn_cursor_init(&cur, span);
    assert_int_equal(cairn_maps_next(&cur, &range), -CAIRN_EDAMAGED);
    assert_int_equal(cairn_maps_next(&cur, &range), 0);
    assert_int_equal(range.start, 0x1000);
    free((void *)span.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_read),
        cmocka_unit_test(test_what_is_no_line_is_refused),
        cmocka_unit_test(test_the_walk_goes_on_behind_a_bad_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

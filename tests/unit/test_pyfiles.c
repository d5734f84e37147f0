#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc.h"
#include "pyfiles.h"

static const struct cairn_map_range libpython = {
    .start = 0x1000, .end = 0x3000, .offset = 0x1000, .major = 8, .minor = 1, .inode = 77};

static void test_a_file_is_known_wherever_it_is_mapped(void **state)
{
    const struct cairn_pyfile file = {.base = 1, .runtime = 2, .hexversion = 3, .initialize = 4};
    struct cairn_map_range elsewhere = libpython;
    struct cairn_pyfile found;
    struct cairn_pyfiles files;

    (void)state;
    elsewhere.start += 0x10000;
    elsewhere.end += 0x10000;
    assert_int_equal(cairn_pyfiles_init(&files), 0);
    assert_false(cairn_pyfiles_get(&files, &libpython, &found));
    cairn_pyfiles_put(&files, &libpython, &file);
    assert_true(cairn_pyfiles_get(&files, &elsewhere, &found));
    assert_memory_equal(&found, &file, sizeof(file));
    cairn_pyfiles_release(&files);
}

static void test_another_file_or_part_of_it_is_not_taken_for_it(void **state)
{
    const struct cairn_pyfile file = {.base = 1, .runtime = 2};
    struct cairn_pyfile found = {.base = 9};
    struct cairn_pyfiles files;

    (void)state;
    assert_int_equal(cairn_pyfiles_init(&files), 0);
    cairn_pyfiles_put(&files, &libpython, &file);
    for (int i = 0; i < 5; i++) {
        struct cairn_map_range other = libpython;

        other.major += i == 0;
        other.minor += i == 1;
        other.inode += i == 2;
        other.offset += i == 3 ? 0x1000 : 0;
        other.end += i == 4 ? 0x1000 : 0;
        assert_false(cairn_pyfiles_get(&files, &other, &found));
    }
    assert_int_equal(found.base, 9);
    /* What was asked for in between and never put stays unknown. */
    for (uint64_t inode = 100; inode < 110; inode++) {
        struct cairn_map_range other = libpython;

        other.inode = inode;
        assert_false(cairn_pyfiles_get(&files, &other, &found));
        if (inode == 109)
            cairn_pyfiles_put(&files, &other, &file);
        assert_int_equal(cairn_pyfiles_get(&files, &other, &found), inode == 109);
    }
    cairn_pyfiles_release(&files);
}

static void test_without_memory_nothing_is_known(void **state)
{
    const struct cairn_pyfile file = {.base = 1, .runtime = 2};
    struct cairn_pyfile found;
    struct cairn_pyfiles files;
    bool failed = true;

    (void)state;
    for (int n = 0; failed; n++) {
        cairn_alloc_fail_after(n);
        if (cairn_pyfiles_init(&files) == 0) {
            cairn_pyfiles_put(&files, &libpython, &file);
            failed = cairn_alloc_has_failed();
            cairn_alloc_fail_after(-1);
            assert_true(failed || cairn_pyfiles_get(&files, &libpython, &found));
        }
        cairn_alloc_fail_after(-1);
        cairn_pyfiles_release(&files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_known_wherever_it_is_mapped),
        cmocka_unit_test(test_another_file_or_part_of_it_is_not_taken_for_it),
        cmocka_unit_test(test_without_memory_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"

static void test_every_code_has_its_sentence_and_status(void **state)
{
    (void)state;
    for (int code = 1; code < CAIRN_ERROR_COUNT; code++) {
        assert_true(strlen(cairn_err_sentence(code)) > 5);
        assert_ptr_equal(cairn_err_sentence(-code), cairn_err_sentence(code));
        assert_in_range(cairn_err_status(code), 121, 127);
        assert_int_equal(cairn_err_status(-code), cairn_err_status(code));
    }
    assert_int_equal(cairn_err_status(0), 0);
    assert_int_equal(cairn_err_status(-CAIRN_EPERM), 121);
    assert_int_equal(cairn_err_status(-CAIRN_EUSAGE), 122);
    assert_int_equal(cairn_err_status(-CAIRN_EDAMAGED), 123);
    assert_int_equal(cairn_err_status(-CAIRN_EUNSUPPORTED), 124);
    assert_int_equal(cairn_err_status(-CAIRN_ENOTEXEC), 126);
    assert_int_equal(cairn_err_status(-CAIRN_ENOTFOUND), 127);
}

static void test_an_unknown_code_is_ours_to_answer_for(void **state)
{
    static const int codes[] = {CAIRN_ERROR_COUNT, -CAIRN_ERROR_COUNT, INT_MAX, INT_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        assert_int_equal(cairn_err_status(codes[i]), 125);
        assert_string_equal(cairn_err_sentence(codes[i]), "an unknown failure");
    }
}

static void test_set_says_what_failed_and_why(void **state)
{
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(cairn_err_set(&err, -CAIRN_EIO, ENOSPC, "sink", "cannot write %s", "a.cairn"),
                     -CAIRN_EIO);
    assert_int_equal(err.code, -CAIRN_EIO);
    assert_int_equal(err.sys, ENOSPC);
    assert_string_equal(err.where, "sink");
    assert_string_equal(err.text, "cannot write a.cairn: No space left on device");

    cairn_err_add(&err, "The disk that holds %s is full.", "/home");
    cairn_err_add(&err, "Try -o elsewhere.");
    assert_string_equal(err.text, "cannot write a.cairn: No space left on device\n"
                                  "The disk that holds /home is full.\nTry -o elsewhere.");

    /* The next failure replaces the last, and may quote it. */
    cairn_err_set(&err, -CAIRN_EDAMAGED, 0, "reader", "again: %.20s", err.text);
    assert_string_equal(err.text, "again: cannot write a.cairn");
    assert_int_equal(err.sys, 0);
}

static void test_nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(cairn_err_set(NULL, -CAIRN_ENOMEM, 0, "x", "%d", 1), -CAIRN_ENOMEM);
    cairn_err_add(NULL, "%d", 1);
}

static void test_a_full_text_is_cut_and_advice_is_not(void **state)
{
    struct cairn_err err;
    char wide[sizeof(err.text) + 100], before[sizeof(err.text)];
    const int some = sizeof(err.text) - 12;

    (void)state;
    memset(wide, 'w', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    cairn_err_set(&err, -CAIRN_EIO, EIO, "x", "%s", wide);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    memcpy(before, err.text, sizeof(before));
    cairn_err_add(&err, "no room");
    assert_string_equal(err.text, before);

    /* One that fits to the byte is taken, one more byte is not. */
    cairn_err_set(&err, -CAIRN_EIO, 0, "x", "%.*s", some, wide);
    cairn_err_add(&err, "%.*s", 11, wide);
    assert_int_equal(strlen(err.text), some);
    cairn_err_add(&err, "%.*s", 10, wide);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void test_errno_maps_to_the_nearest_code(void **state)
{
    static const struct {
        int sys, code;
    } cases[] = {
        {ENOMEM, -CAIRN_ENOMEM},    {EPERM, -CAIRN_EPERM},       {EACCES, -CAIRN_EPERM},
        {ENOENT, -CAIRN_ENOTFOUND}, {ESRCH, -CAIRN_EGONE},       {EEXIST, -CAIRN_EEXISTS},
        {EBADF, -CAIRN_EIO},        {-ENOENT, -CAIRN_ENOTFOUND}, {0, -CAIRN_EIO},
        {INT_MIN, -CAIRN_EIO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(cairn_err_from_errno(cases[i].sys), cases[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_has_its_sentence_and_status),
        cmocka_unit_test(test_an_unknown_code_is_ours_to_answer_for),
        cmocka_unit_test(test_set_says_what_failed_and_why),
        cmocka_unit_test(test_nobody_has_to_listen),
        cmocka_unit_test(test_a_full_text_is_cut_and_advice_is_not),
        cmocka_unit_test(test_errno_maps_to_the_nearest_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "escape.h"
#include "redact.h"

typedef void redact_fn(const struct cairn_redact *redact, struct cairn_span text,
                       struct cairn_buf *out);

static void check(redact_fn *redact, const struct cairn_redact *how, const char *text,
                  const char *wanted)
{
    struct cairn_buf out;

    cairn_buf_init(&out, 4096);
    redact(how, cairn_span_of(text), &out);
    assert_string_equal(cairn_buf_cstr(&out), wanted);
    cairn_buf_release(&out);
}

static const struct cairn_redact shared = {.on = true, .home = "/srv/ada", .user = "ada"};

static void test_who_asks_is_left_out(void **state)
{
    (void)state;
    check(cairn_redact_text, &shared, "read /srv/ada/notes.txt", "read ~/notes.txt");
    check(cairn_redact_text, &shared, "/srv/ada", "~");
    check(cairn_redact_text, &shared, "/srv/adam/x", "/srv/adam/x");
    check(cairn_redact_text, &shared, "job of ada: 1", "job of user: 1");
    check(cairn_redact_text, &shared, "ada", "user");
}

static void test_a_name_within_a_word_stays(void **state)
{
    (void)state;
    check(cairn_redact_text, &shared, "adapt canada ada_x 1ada", "adapt canada ada_x 1ada");
}

static void test_homes_of_others_are_left_out(void **state)
{
    (void)state;
    check(cairn_redact_text, &shared, "/home/bob/x /Users/Eve/y", "~/x ~/y");
    check(cairn_redact_text, &shared, "at /home/bob", "at ~");
}

static void test_root_is_nobody(void **state)
{
    const struct cairn_redact root = {.on = true, .home = "/root", .user = "root"};

    (void)state;
    check(cairn_redact_text, &root, "root of /root/x", "root of ~/x");
}

static void test_a_path_keeps_what_says_which_file_it_is(void **state)
{
    (void)state;
    check(cairn_redact_path, &shared, "/srv/ada/secret/work.py", "work.py");
    check(cairn_redact_path, &shared, "/opt/v/lib/python3.11/json/decoder.py", "json/decoder.py");
    check(cairn_redact_path, &shared, "/v/lib/python3.11/site-packages/numpy/core.py",
          "numpy/core.py");
    check(cairn_redact_path, &shared, "<frozen importlib._bootstrap>",
          "<frozen importlib._bootstrap>");
    check(cairn_redact_path, &shared, "", "");
}

static void test_switched_off_it_copies(void **state)
{
    const struct cairn_redact off = {.home = "/srv/ada", .user = "ada"};

    (void)state;
    check(cairn_redact_text, &off, "/srv/ada of ada", "/srv/ada of ada");
    check(cairn_redact_path, &off, "/srv/ada/secret/work.py", "/srv/ada/secret/work.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_asks_is_left_out),
        cmocka_unit_test(test_a_name_within_a_word_stays),
        cmocka_unit_test(test_homes_of_others_are_left_out),
        cmocka_unit_test(test_root_is_nobody),
        cmocka_unit_test(test_a_path_keeps_what_says_which_file_it_is),
        cmocka_unit_test(test_switched_off_it_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

static void test_a_long_name_goes_out_of_words_too(void **state)
{
    const struct cairn_redact alice = {.on = true, .user = "alicewonder"};
    const struct cairn_redact root = {.on = true, .user = "root"};

    (void)state;
    check(cairn_redact_text, &alice, "thread-alicewonder", "thread-user");
    check(cairn_redact_path, &alice, "/x/alicewonder_tool.py", "user_tool.py");
    check(cairn_redact_text, &alice, "xalicewonders Alicewonder", "xusers Alicewonder");
    check(cairn_redact_text, &root, "rooted", "rooted");
}

static void test_homes_of_windows_are_left_out(void **state)
{
    (void)state;
    check(cairn_redact_text, &shared, "read C:\\Users\\dave\\x.txt", "read ~\\x.txt");
    check(cairn_redact_text, &shared, "read c:/users/dave/x.txt", "read ~/x.txt");
    check(cairn_redact_text, &shared, "'C:\\\\Users\\\\dave\\\\x'", "'~\\\\x'");
    check(cairn_redact_text, &shared, "at D:\\Users\\dave", "at ~");
    check(cairn_redact_text, &shared, "C:\\Users\\John Smith\\x, y", "~\\x, y");
    check(cairn_redact_text, &shared, "C:\\Users\\dave to D:\\x", "~ to D:\\x");
    check(cairn_redact_text, &shared, "C:\\Documents and Settings\\dave\\x", "~\\x");
    check(cairn_redact_text, &shared, "\\\\srv\\Users\\dave\\x", "\\\\srv~\\x");
    check(cairn_redact_text, &shared, "GET /users/list", "GET /users/list");
    check(cairn_redact_text, &shared, "C:\\Users", "C:\\Users");
    check(cairn_redact_text, &shared, "C:\\Users\\", "C:\\Users\\");
}

static void test_homes_by_a_tilde_are_left_out(void **state)
{
    (void)state;
    check(cairn_redact_text, &shared, "read ~bobby/x", "read ~/x");
    check(cairn_redact_text, &shared, "~bobby", "~");
    check(cairn_redact_text, &shared, "in='~b.o-b_2'", "in='~'");
    check(cairn_redact_text, &shared, "Foo::~Foo() ~/x ~ a~b", "Foo::~Foo() ~/x ~ a~b");
}

static void test_of_a_command_line_in_a_name_the_program_is_kept(void **state)
{
    (void)state;
    check(cairn_redact_process, &shared, "python /x/m.py --token abc", "m.py");
    check(cairn_redact_process, &shared, "Process 12: python ~/x/m.py --token abc",
          "Process 12: m.py");
    check(cairn_redact_process, &shared, "Process 12", "Process 12");
    check(cairn_redact_process, &shared, "C:\\q\\tool.exe --token abc", "tool.exe");
    check(cairn_redact_process, &shared, "python3", "python3");
    check(cairn_redact_process, &shared, "", "");
    /* As py-spy names the frame below those of a process. */
    check(cairn_redact_text, &shared, "process 12:\"python /x/m.py --token abc\"",
          "process 12:m.py");
    check(cairn_redact_text, &shared, "process the rest", "process the rest");
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

static void test_a_path_of_windows_keeps_the_same(void **state)
{
    (void)state;
    check(cairn_redact_path, &shared, "C:\\Users\\dave\\proj\\a.py", "a.py");
    check(cairn_redact_path, &shared, "c:/work/proj/a.py", "a.py");
    check(cairn_redact_path, &shared, "\\\\srv\\bobby\\x.py", "x.py");
    check(cairn_redact_path, &shared, "\\\\?\\C:\\bobby\\x.py", "x.py");
    check(cairn_redact_path, &shared, "proj\\secret\\a.py", "a.py");
    check(cairn_redact_path, &shared, "C:\\v\\Lib\\site-packages\\numpy\\core.py",
          "numpy\\core.py");
    check(cairn_redact_path, &shared, "c:\\v\\lib\\Site-Packages/numpy/core.py", "numpy/core.py");
    check(cairn_redact_path, &shared, "C:\\Python311\\Lib\\json\\decoder.py", "json\\decoder.py");
    check(cairn_redact_path, &shared, "C:\\Users\\dave\\anaconda3\\lib\\json\\decoder.py",
          "json\\decoder.py");
    check(cairn_redact_path, &shared, "C:\\secret\\Lib\\plans\\a.py", "a.py");
    check(cairn_redact_path, &shared, "C:\\python-plans\\Lib\\secret\\a.py", "a.py");
    check(cairn_redact_path, &shared, "/opt/a\\b.py", "a\\b.py");
}

static void test_switched_off_it_copies(void **state)
{
    const struct cairn_redact off = {.home = "/srv/ada", .user = "ada"};

    (void)state;
    check(cairn_redact_text, &off, "/srv/ada of ada", "/srv/ada of ada");
    check(cairn_redact_path, &off, "/srv/ada/secret/work.py", "/srv/ada/secret/work.py");
    check(cairn_redact_process, &off, "python /x/m.py --token", "python /x/m.py --token");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_asks_is_left_out),
        cmocka_unit_test(test_a_name_within_a_word_stays),
        cmocka_unit_test(test_a_long_name_goes_out_of_words_too),
        cmocka_unit_test(test_homes_of_windows_are_left_out),
        cmocka_unit_test(test_homes_by_a_tilde_are_left_out),
        cmocka_unit_test(test_of_a_command_line_in_a_name_the_program_is_kept),
        cmocka_unit_test(test_homes_of_others_are_left_out),
        cmocka_unit_test(test_root_is_nobody),
        cmocka_unit_test(test_a_path_keeps_what_says_which_file_it_is),
        cmocka_unit_test(test_a_path_of_windows_keeps_the_same),
        cmocka_unit_test(test_switched_off_it_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program.h"

/* A copy with nothing behind it: what is read past its end shows under valgrind and ASan. */
static struct cairn_span exact(const char *text)
{
    size_t size_bytes = strlen(text);

    return (struct cairn_span){memcpy(malloc(size_bytes ? size_bytes : 1), text, size_bytes),
                               size_bytes};
}

static void assert_part(struct cairn_span found, struct cairn_span whole, const char *want,
                        const char *text)
{
    assert_true(!found.size_bytes ||
                (found.data >= whole.data &&
                 found.data + found.size_bytes <= whole.data + whole.size_bytes));
    if (found.size_bytes != strlen(want) ||
        (found.size_bytes && memcmp(found.data, want, found.size_bytes) != 0))
        fail_msg("\"%s\" gives \"%.*s\"", text, (int)found.size_bytes, (const char *)found.data);
}

static void test_a_program_is_called_what_people_call_it(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {" ", ""},
        {"python3", "python3"},
        {"/usr/bin/python3.12 shop.py --fast", "shop.py"},
        {"python3 /home/you/shop.py python.py", "shop.py"},
        {"shop.py --fast", "shop.py"},
        {"python3 -m http.server 8000", "http.server"},
        {"python3 -X dev -W error -m pytest", "pytest"},
        {"python3 -u -X importtime app", "app"},
        {"-m http.server", "http.server"},
        {"python3 -m", "python3"},
        {"python3 -X", "python3"},
        {"python3 -c import\xc2\xa0x", "-c"},
        {"/usr/bin/python3 /usr/local/bin/gunicorn -w 4 app:app", "gunicorn"},
        {"/bin/sh -c exit", "sh"},
        {"sh -c /usr/bin/python3 x.py", "x.py"},
        {"grep foo.py bar.py", "grep"},
        {"make/", "make/"},
        {"python_tool.py in.py", "python_tool.py"},
        {"python3 'my shop.py' --fast", "my shop.py"},
        {"'/home/you/my shop.py' in.py", "my shop.py"},
        {"'/opt/my tools/python3' -m 'http.server'", "http.server"},
        {"python3 'my shop' x.py", "my shop"},
        {"python3 -W 'a b' 'it'\\''s.py' x.py", "it'\\''s.py"},
        {"'/opt/my tools/run it' x.py", "run it"},
        {"sh -c 'cd a; python3 x.py'", "x.py"},
        {"sh -c 'python3 -u'", "sh"},
        {"sh -c 'cd a; python3 '\\''my shop.py'\\'' x.py; true'", "my shop.py"},
        {"sh -c 'python3 '\\''my shop.py", "my shop.py"},
        {"sh -c '\\'''\\'''\\'''", "sh"},
        {"env A='1 2' 'B=3 4' python3 'my shop.py'", "my shop.py"},
        {"python3 'my shop.py", "my shop.py"},
        {"python3 '", "python3"},
        {"'", ""},
        {"'' ''", ""},
        {"python3 -c 'import a' x.py", "-c"},
        {"gunicorn: master [it's]", "gunicorn:"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_span command = exact(cases[i][0]);

        assert_part(cairn_program_of(command), command, cases[i][1], cases[i][0]);
        free((void *)(uintptr_t)command.data);
    }
}

static void test_the_code_behind_c_is_found(void **state)
{
    static const char *const cases[][2] = {
        {"python3 -c from a import b; b(1) --flag", " from a import b; b(1) --flag"},
        {"python3 -c 'from a import b; b(1)' --flag", " 'from a import b; b(1)' --flag"},
        {"python3 -I -c", ""},
        {"sh -c true", ""},
        {"python3 app.py -c conf", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_span command = exact(cases[i][0]);

        assert_part(cairn_program_code(command), command, cases[i][1], cases[i][0]);
        free((void *)(uintptr_t)command.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_is_called_what_people_call_it),
        cmocka_unit_test(test_the_code_behind_c_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

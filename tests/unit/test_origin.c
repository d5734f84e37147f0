#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "origin.h"

static const struct {
    const char *file, *module;
    enum cairn_origin origin;
} cases[] = {
    {"/home/you/app.py", "app", CAIRN_ORIGIN_USER},
    {"app.py", "app", CAIRN_ORIGIN_USER},
    {"src/pkg/__init__.py", "pkg", CAIRN_ORIGIN_USER},
    {"__init__.py", "__init__", CAIRN_ORIGIN_USER},
    {"/usr/bin/black", "black", CAIRN_ORIGIN_USER},
    {"/home/you/lib/python3.11.py", "python3.11", CAIRN_ORIGIN_USER},
    {"/home/you/lib/pythonic/x.py", "x", CAIRN_ORIGIN_USER},
    {"/home/you/mylib/python3.11/x.py", "x", CAIRN_ORIGIN_USER}, /* no folder called lib */
    {"<string>", "<string>", CAIRN_ORIGIN_USER},
    {"<ipython-input-1>", "<ipython-input-1>", CAIRN_ORIGIN_USER},
    {"/usr/lib/python3.11/json/__init__.py", "json", CAIRN_ORIGIN_STDLIB},
    {"/usr/lib/python3.11/json/decoder.py", "json.decoder", CAIRN_ORIGIN_STDLIB},
    {"/opt/x/lib64/python3.9/os.py", "os", CAIRN_ORIGIN_STDLIB},
    {"lib/python3.8/os.py", "os", CAIRN_ORIGIN_STDLIB},
    {"/usr/lib/python3.13t/os.py", "os", CAIRN_ORIGIN_STDLIB},
    {"/usr/lib/python311.zip/os.py", "os", CAIRN_ORIGIN_STDLIB},
    {"<frozen os>", "os", CAIRN_ORIGIN_STDLIB},
    {"<frozen importlib._bootstrap>", "importlib._bootstrap", CAIRN_ORIGIN_IMPORT},
    {"<frozen zipimport>", "zipimport", CAIRN_ORIGIN_IMPORT},
    {"/usr/lib/python3.12/importlib/__init__.py", "importlib", CAIRN_ORIGIN_IMPORT},
    {"/usr/lib/python3.12/importlib/metadata/__init__.py", "importlib.metadata",
     CAIRN_ORIGIN_STDLIB},
    {"/v/lib/python3.12/site-packages/numpy/core/_methods.py", "numpy.core._methods",
     CAIRN_ORIGIN_LIBRARY},
    {"/v/lib/python3.12/site-packages/six.py", "six", CAIRN_ORIGIN_LIBRARY},
    {"/usr/lib/python3/dist-packages/apt/cache.py", "apt.cache", CAIRN_ORIGIN_LIBRARY},
    {"<__array_function__ internals>", "<__array_function__ internals>", CAIRN_ORIGIN_LIBRARY},
    {"", "", CAIRN_ORIGIN_NONE},
};

static void test_paths_tell_origin_and_module(void **state)
{
    struct cairn_buf name;
    (void)state;

    cairn_buf_init(&name, 1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* Exactly as long as it is: valgrind and ASan see a read past its end. */
        size_t size_bytes = strlen(cases[i].file);
        uint8_t *exact = memcpy(malloc(size_bytes ? size_bytes : 1), cases[i].file, size_bytes);
        struct cairn_span file = {exact, size_bytes};

        cairn_buf_clear(&name);
        assert_int_equal(cairn_module_of(&name, file), 0);
        assert_string_equal(cairn_buf_cstr(&name), cases[i].module);
        if (cairn_origin_of(file) != cases[i].origin)
            fail_msg("%s is of origin %d", cases[i].file, cairn_origin_of(file));
        free(exact);
    }
    cairn_buf_release(&name);
}

/* Every beginning of every path is answered. */
static void test_cut_paths(void **state)
{
    struct cairn_buf name;
    (void)state;

    cairn_buf_init(&name, 1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t size_bytes = 0; size_bytes <= strlen(cases[i].file); size_bytes++) {
            uint8_t *exact = memcpy(malloc(size_bytes ? size_bytes : 1), cases[i].file, size_bytes);
            struct cairn_span file = {exact, size_bytes};

            cairn_buf_clear(&name);
            assert_int_equal(cairn_module_of(&name, file), 0);
            assert_true(name.size_bytes <= size_bytes);
            assert_true(cairn_origin_of(file) <= CAIRN_ORIGIN_NONE);
            assert_true(cairn_file_of(file).size_bytes <= size_bytes);
            free(exact);
        }
    cairn_buf_release(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_tell_origin_and_module),
        cmocka_unit_test(test_cut_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

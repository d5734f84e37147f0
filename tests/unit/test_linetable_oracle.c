/* Holds our reading of line tables against CPython's own, on every interpreter found. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "linetable.h"

#define ORACLE "tests/unit/linetable_oracle.py"
#define LIST "build/interp/list" /* interpreters unpacked by tools/interpreters.sh */
#define TABLE_MAX_BYTES (1u << 22)

static bool read_all(FILE *from, void *data, size_t size_bytes)
{
    return size_bytes == 0 || fread(data, size_bytes, 1, from) == 1;
}

static uint32_t read_u32(FILE *from)
{
    uint32_t value = 0;

    assert_true(read_all(from, &value, sizeof(value)));
    return value;
}

/* The place of one instruction as CPython says, against the table's entry that covers it. */
static void assert_place(const uint32_t place[5], const struct cairn_line_entry *entry)
{
    if (entry->line != place[1] ||
        entry->end_line != (place[2] == UINT32_MAX ? place[1] : place[2]))
        fail_msg("offset %u: lines %u-%u, CPython says %u-%u", place[0], entry->line,
                 entry->end_line, place[1], place[2]);
    if (entry->column != place[3] || entry->end_column != place[4])
        fail_msg("offset %u: columns %u-%u, CPython says %u-%u", place[0], entry->column,
                 entry->end_column, place[3], place[4]);
}

/* One code object; false at the end. */
static bool compare_code(FILE *from, uint64_t *instructions)
{
    struct cairn_line_entry entry = {0};
    struct cairn_linetable table;
    struct cairn_span bytes;
    uint32_t first_line, count;
    uint8_t kind, *copy;

    if (fread(&kind, 1, 1, from) != 1)
        return false;
    first_line = read_u32(from);
    bytes.size_bytes = read_u32(from);
    assert_true(bytes.size_bytes <= TABLE_MAX_BYTES);
    copy = malloc(bytes.size_bytes + 1);
    assert_true(read_all(from, copy, bytes.size_bytes));
    bytes.data = copy;

    cairn_linetable_init(&table, kind, bytes, first_line);
    count = read_u32(from);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place[5];

        assert_true(read_all(from, place, sizeof(place)));
        while (entry.end_bytes <= place[0])
            assert_int_equal(cairn_linetable_next(&table, &entry), 0);
        assert_place(place, &entry);
    }
    *instructions += count;
    free(copy);
    return true;
}

static void compare_with(const char *python)
{
    uint64_t codes = 0, instructions = 0;
    char command[1024];
    FILE *oracle;

    assert_true(snprintf(command, sizeof(command), "%s - 50 < " ORACLE, python) <
                (int)sizeof(command));
    oracle = popen(command, "r");
    assert_non_null(oracle);
    while (compare_code(oracle, &instructions))
        codes++;
    assert_int_equal(pclose(oracle), 0);
    print_message("# %s: %lu code objects, %lu instructions\n", python, (unsigned long)codes,
                  (unsigned long)instructions);
    assert_true(codes > 500);
}

/* CPython 3.8 to 3.15 that this machine runs by itself. */
static size_t compare_installed(void)
{
    static const char *const patterns[] = {"/usr/bin/python3.[0-9]*",
                                           "/usr/local/bin/python3.[0-9]*",
                                           "%s/.pyenv/versions/3.*/bin/python3"};
    size_t compared = 0;

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        char pattern[512];
        glob_t found;

        snprintf(pattern, sizeof(pattern), patterns[i], getenv("HOME") ? getenv("HOME") : "");
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++) {
            const char *path = found.gl_pathv[k];

            if (strchr(strrchr(path, '/'), '-') || strstr(path, "/3.6.") || strstr(path, "/3.7."))
                continue; /* python3.11-config; versions Cairn does not read */
            compare_with(path);
            compared++;
        }
        globfree(&found);
    }
    return compared;
}

static void test_installed_interpreters_agree(void **state)
{
    (void)state;
    assert_true(compare_installed() > 0);
}

static void test_unpacked_interpreters_agree(void **state)
{
    char version[64], root[256], name[64], command[512];
    FILE *list = fopen(LIST, "r");
    size_t compared = 0;
    (void)state;

    if (!list || geteuid() != 0) {
        print_message("# skip: no " LIST ", or not root: chroot(8) needs both\n");
        skip();
    }
    while (fscanf(list, "%63s %255s %63s", version, root, name) == 3) {
        snprintf(command, sizeof(command), "chroot %s %s", root, name);
        compare_with(command);
        compared++;
    }
    fclose(list);
    if (!compared) {
        print_message("# skip: " LIST " names no interpreter\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_installed_interpreters_agree),
        cmocka_unit_test(test_unpacked_interpreters_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

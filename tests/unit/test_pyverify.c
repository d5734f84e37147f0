/* A table that is off by a member somewhere: refused, or nothing wrong comes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pages.h"
#include "pylayout.h"
#include "pyread.h"

#define FILE_NAME "pages.py"

static const struct {
    const char *version;
    int minor;
} cases[] = {{"3.8", 8}, {"3.9", 9}, {"3.10", 10}};

#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static const struct {
    const char *name;
    uint32_t first_line;
} stack[] = {{"<module>", 1}, {"main", 42},   {"outer_a", 25},
             {"items", 20},   {"leaf_a", 15}, {"halt", 11}};

#define STACK_COUNT (sizeof(stack) / sizeof(stack[0]))

static const struct field {
    const char *name;
    size_t place;
    uint32_t width;
} fields[] = {
#define X(group, field, width) {#field, offsetof(struct cairn_pylayout, field), width},
#include "pylayout.def"
#undef X
};

static bool ends_in(struct cairn_span text, const char *end)
{
    size_t size = strlen(end);

    return text.size_bytes >= size && memcmp(text.data + text.size_bytes - size, end, size) == 0;
}

/* `offsets`: where the frames stand in their code; filled when it is not known yet. */
static bool is_right(const struct cairn_pyframe *frame, size_t index, int32_t *offsets)
{
    const struct cairn_pycode *code = frame->code;

    if (!offsets[index])
        offsets[index] = frame->offset;

    if (!code)
        return true; /* [unknown] claims nothing */
    return code->name.size_bytes == strlen(stack[index].name) &&
           ends_in(code->name, stack[index].name) && ends_in(code->file, FILE_NAME) &&
           code->first_line == stack[index].first_line && frame->offset == offsets[index];
}

/* What the reader makes of the first moment by this layout. True: it was read. */
static bool read_by(struct pages *pages, const struct cairn_pytable *table, int32_t *offsets,
                    const char *what)
{
    struct cairn_remote remote;
    struct cairn_pyread *read;
    struct cairn_err err = {0};
    bool whole = false;
    size_t count;

    pages_remote(pages, &remote);
    if (cairn_pyread_open_table(&remote, pages->runtime, pages->hexversion, table, &read, &err) < 0)
        return false;
    for (int tick = 0; tick < 3 && cairn_pyread_tick(read, &err) == 0; tick++) {
        struct cairn_pythread *const *threads = cairn_pyread_threads(read, &count);

        for (size_t i = 0; i < count; i++) {
            whole = threads[i]->status == CAIRN_PYSTACK_OK && threads[i]->depth == STACK_COUNT;
            if (threads[i]->depth > STACK_COUNT)
                fail_msg("%s: %u frames", what, threads[i]->depth);
            for (uint32_t frame = 0; frame < threads[i]->depth; frame++) {
                if (!is_right(&threads[i]->frames[frame], frame, offsets))
                    fail_msg("%s: frame %u is wrong", what, frame);
            }
        }
    }
    cairn_pyread_free(read);
    return whole;
}

static void test_a_member_out_of_place_is_no_stack(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        const struct cairn_pytable *right = cairn_pytable_find(cases[i].minor);
        struct pages pages;
        int32_t offsets[STACK_COUNT] = {0};
        size_t refused = 0;
        char path[64];

        snprintf(path, sizeof(path), "tests/corpus/pywalk/%s.pages", cases[i].version);
        pages_init(&pages);
        assert_int_equal(pages_load(&pages, path), 0);
        assert_true(read_by(&pages, right, offsets, "as it is"));
        for (size_t field = 0; field < sizeof(fields) / sizeof(fields[0]); field++) {
            for (int by = -8; by <= 8; by += 16) {
                struct cairn_pylayout layout = *right->layout;
                struct cairn_pytable table = *right;
                uint32_t value;
                char what[80];

                memcpy(&value, (const uint8_t *)&layout + fields[field].place, sizeof(value));
                if (!fields[field].width || value == CAIRN_PYLAYOUT_NONE)
                    continue;
                value += (uint32_t)by;
                memcpy((uint8_t *)&layout + fields[field].place, &value, sizeof(value));
                table.layout = &layout;
                snprintf(what, sizeof(what), "%s: %s%+d", cases[i].version, fields[field].name, by);
                refused += !read_by(&pages, &table, offsets, what);
            }
        }
        /* The others are of threads' names, or were seen to be the same. */
        assert_true(refused >= 40);
        print_message("# %s: %zu shifted tables refused\n", cases[i].version, refused);
        pages_release(&pages);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_out_of_place_is_no_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

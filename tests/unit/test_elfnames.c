/* Names for places in an ELF file, on this very program and on pieces of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "buf.h"
#include "elfnames.h"
#include "elfspan.h"
#include "err.h"
#include "io.h"

#define ALL SIZE_MAX

int test_elfnames_marker(int number);

__attribute__((visibility("default"), noinline)) int test_elfnames_marker(int number)
{
    return number * 3 + 1;
}

static struct cairn_buf self;

static int read_self(void **state)
{
    (void)state;
    cairn_buf_init(&self, (size_t)64 << 20);
    return cairn_io_read_file(AT_FDCWD, "/proc/self/exe", &self);
}

static int free_self(void **state)
{
    (void)state;
    cairn_buf_release(&self);
    return 0;
}

static void open_span(struct cairn_span *span, size_t max_count, struct cairn_elfnames *ret_names)
{
    *ret_names = (struct cairn_elfnames){.file = {.read = elfspan_read, .ctx = span},
                                         .max_count = max_count};
    assert_int_equal(cairn_elfnames_open(ret_names), 0);
}

/* Where in the file the marker stands, and how long it is. */
static uint64_t marker(struct cairn_elfnames *names, uint64_t *ret_size_bytes)
{
    struct cairn_elfsymbol symbol = {"test_elfnames_marker", 0, 0};
    uint64_t offset;

    assert_int_equal(cairn_elffile_symbols(&names->file, &symbol, 1), 0);
    assert_int_equal(cairn_elffile_offset_of(&names->file, symbol.address, &offset), 0);
    *ret_size_bytes = symbol.size_bytes;
    return offset;
}

static bool is_marker(struct cairn_elfnames *names, uint64_t offset)
{
    char name[CAIRN_ELFNAME_MAX_BYTES];

    return cairn_elfnames_find(names, offset, name) && strcmp(name, "test_elfnames_marker") == 0;
}

static void test_a_function_has_its_name_up_to_its_end(void **state)
{
    struct cairn_span span = cairn_buf_span(&self);
    struct cairn_elfnames names;
    uint64_t offset, size_bytes;

    (void)state;
    open_span(&span, ALL, &names);
    offset = marker(&names, &size_bytes);
    assert_true(size_bytes > 1);
    assert_true(is_marker(&names, offset) && is_marker(&names, offset + size_bytes - 1));
    assert_false(is_marker(&names, offset - 1) || is_marker(&names, offset + size_bytes));
    assert_int_equal(test_elfnames_marker(2), 7);
    cairn_elfnames_release(&names);
}

static void test_what_is_no_code_has_none(void **state)
{
    struct cairn_span span = cairn_buf_span(&self);
    struct cairn_elfnames names;
    char name[CAIRN_ELFNAME_MAX_BYTES];

    (void)state;
    open_span(&span, ALL, &names);
    assert_false(cairn_elfnames_find(&names, 0, name));
    assert_false(cairn_elfnames_find(&names, span.size_bytes, name));
    assert_false(cairn_elfnames_find(&names, UINT64_MAX, name));
    cairn_elfnames_release(&names);
}

/* More symbols than may be held, or a file that ends among them: some names, or none. */
static void test_a_part_is_no_trouble(void **state)
{
    struct cairn_span whole = cairn_buf_span(&self);
    struct cairn_elfnames names;

    (void)state;
    open_span(&whole, 10, &names);
    assert_true(names.functions.count <= 10);
    cairn_elfnames_release(&names);
    for (size_t size_bytes = 0; size_bytes < whole.size_bytes; size_bytes += 1997) {
        uint8_t *exact = memcpy(malloc(size_bytes + 1), whole.data, size_bytes);
        struct cairn_span span = {exact, size_bytes};
        char name[CAIRN_ELFNAME_MAX_BYTES];

        open_span(&span, ALL, &names);
        (void)cairn_elfnames_find(&names, size_bytes / 2, name);
        cairn_elfnames_release(&names);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_has_its_name_up_to_its_end),
        cmocka_unit_test(test_what_is_no_code_has_none),
        cmocka_unit_test(test_a_part_is_no_trouble),
    };

    return cmocka_run_group_tests(tests, read_self, free_self);
}

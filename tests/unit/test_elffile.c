/* The reader of ELF files, on this very program and on damaged copies of its head. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "buf.h"
#include "elffile.h"
#include "elfspan.h"
#include "err.h"
#include "io.h"

__attribute__((visibility("default"))) int test_elffile_marker = 42;

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

static void test_symbols_and_sections_are_found(void **state)
{
    struct cairn_span span = cairn_buf_span(&self);
    struct cairn_elffile file = {.read = elfspan_read, .ctx = &span};
    struct cairn_elfsymbol symbols[] = {{"test_elffile_marker", 0, 0}, {"no_such_symbol", 0, 0}};
    uint64_t address, offset, size_bytes, back;
    int value;

    (void)state;
    assert_int_equal(cairn_elffile_open(&file), 0);
    assert_int_equal(cairn_elffile_section(&file, ".data", &address, &offset, &size_bytes), 0);
    assert_int_equal(cairn_elffile_symbols(&file, symbols, 2), 0);
    assert_true(symbols[0].address >= address && symbols[0].address < address + size_bytes);
    assert_true(symbols[0].size_bytes >= sizeof(int)); /* a sanitizer makes it larger */
    assert_int_equal(symbols[1].address, 0);
    assert_int_equal(cairn_elffile_offset_of(&file, symbols[0].address, &back), 0);
    assert_int_equal(back, offset + (symbols[0].address - address));
    memcpy(&value, self.data + back, sizeof(value));
    assert_int_equal(value, 42);
    assert_int_equal(cairn_elffile_section(&file, ".nothing", &address, &offset, &size_bytes),
                     -CAIRN_ENOTFOUND);
    assert_int_equal(cairn_elffile_page_address(&file, 0, 4096, &address), 0);
    assert_int_equal(cairn_elffile_page_address(&file, 1 << 30, 4096, &address), -CAIRN_ENOTFOUND);
}

static void test_foreign_files_are_refused(void **state)
{
    static const size_t places[] = {0, 1, EI_CLASS, EI_DATA, offsetof(Elf64_Ehdr, e_phentsize)};

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        uint8_t head[sizeof(Elf64_Ehdr)];
        struct cairn_span span = {head, sizeof(head)};
        struct cairn_elffile file = {.read = elfspan_read, .ctx = &span};

        memcpy(head, self.data, sizeof(head));
        head[places[i]] ^= 0x55;
        assert_int_equal(cairn_elffile_open(&file), -CAIRN_EFOREIGN);
        span.size_bytes = 10;
        assert_int_equal(cairn_elffile_open(&file), -CAIRN_EFOREIGN);
    }
}

/* Cut anywhere, the file gives an answer. */
static void test_a_cut_file_is_no_trouble(void **state)
{
    (void)state;
    for (size_t size_bytes = 0; size_bytes < self.size_bytes; size_bytes += 997) {
        uint8_t *exact = memcpy(malloc(size_bytes + 1), self.data, size_bytes);
        struct cairn_span span = {exact, size_bytes};
        struct cairn_elffile file = {.read = elfspan_read, .ctx = &span};
        struct cairn_elfsymbol symbol = {"test_elffile_marker", 0, 0};
        uint64_t address, offset, bytes;

        if (cairn_elffile_open(&file) == 0) {
            assert_true(cairn_elffile_symbols(&file, &symbol, 1) < 0 || !symbol.address);
            assert_true(cairn_elffile_section(&file, ".data", &address, &offset, &bytes) < 0);
        }
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols_and_sections_are_found),
        cmocka_unit_test(test_foreign_files_are_refused),
        cmocka_unit_test(test_a_cut_file_is_no_trouble),
    };

    return cmocka_run_group_tests(tests, read_self, free_self);
}

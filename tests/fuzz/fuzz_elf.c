/* Any bytes as an ELF file. */
#include <stdint.h>
#include <string.h>

#include "cursor.h"
#include "elffile.h"
#include "elfspan.h"
#include "err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct cairn_span span = {data, size_bytes};
    struct cairn_elffile file = {.read = elfspan_read, .ctx = &span};
    struct cairn_elfsymbol symbols[] = {{"_PyRuntime", 0, 0}, {"Py_Version", 0, 0}};
    uint64_t address, offset, bytes;

    if (cairn_elffile_open(&file) < 0)
        return 0;
    (void)cairn_elffile_symbols(&file, symbols, 2);
    (void)cairn_elffile_page_address(&file, 0, 4096, &address);
    if (cairn_elffile_section(&file, ".PyRuntime", &address, &offset, &bytes) == 0)
        (void)cairn_elffile_offset_of(&file, address, &offset);
    return 0;
}

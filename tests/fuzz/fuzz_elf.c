/* Any bytes as an ELF file. */
#include <stdint.h>
#include <string.h>

#include "cursor.h"
#include "elffile.h"
#include "err.h"

static int read_span(void *ctx, uint64_t offset, void *data, size_t size_bytes)
{
    const struct cairn_span *span = ctx;

    if (offset > span->size_bytes || size_bytes > span->size_bytes - offset)
        return -CAIRN_ESHORT;
    memcpy(data, span->data + offset, size_bytes);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct cairn_span span = {data, size_bytes};
    struct cairn_elffile file = {.read = read_span, .ctx = &span};
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

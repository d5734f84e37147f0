/* Any bytes as an ELF file whose functions are wanted: at every offset there is a name that ends,
 * or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "elfnames.h"
#include "elfspan.h"
#include "err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct cairn_span span = {data, size_bytes};
    struct cairn_elfnames names = {.file = {.read = elfspan_read, .ctx = &span}, .max_count = 4096};
    char name[CAIRN_ELFNAME_MAX_BYTES];

    if (cairn_elfnames_open(&names) < 0)
        abort();
    for (uint64_t offset = 0; offset <= size_bytes && offset < 16384; offset += 7)
        if (cairn_elfnames_find(&names, offset, name) &&
            (name[0] == 0 || memchr(name, 0, sizeof(name)) == NULL))
            abort();
    (void)cairn_elfnames_find(&names, UINT64_MAX, name);
    cairn_elfnames_release(&names);
    return 0;
}

/* Line tables of every kind: {kind, first line (4 bytes), table}. What comes out must be ascending,
 * without gaps, and end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_linetable table;
    struct cairn_line_entry entry, found;
    struct cairn_span bytes;
    uint32_t first_line, end_bytes = 0;
    int code;

    if (size < 5)
        return 0;
    memcpy(&first_line, data + 1, sizeof(first_line));
    bytes = (struct cairn_span){data + 5, size - 5};
    cairn_linetable_init(&table, data[0], bytes, first_line);
    while ((code = cairn_linetable_next(&table, &entry)) == 0) {
        if (entry.start_bytes != end_bytes || entry.end_bytes <= entry.start_bytes)
            abort();
        end_bytes = entry.end_bytes;
    }
    if (code != -CAIRN_EEND && code != -CAIRN_EDAMAGED)
        abort();
    /* Looking one instruction up finds the entry that the walk met. */
    if (end_bytes && (cairn_linetable_find(data[0], bytes, first_line, end_bytes - 1, &found) < 0 ||
                      found.end_bytes != end_bytes))
        abort();
    return 0;
}

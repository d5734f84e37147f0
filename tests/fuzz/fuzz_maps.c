/* Any bytes as /proc/PID/maps: each line is read or refused, and all of the input is gone through.
 */
#include <stdint.h>
#include <stdlib.h>

#include "err.h"
#include "maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct cairn_map_range range;
    struct cairn_cursor cur;
    int code;

    cairn_cursor_init(&cur, (struct cairn_span){data, size_bytes});
    while ((code = cairn_maps_next(&cur, &range)) != -CAIRN_EEND) {
        if (code == 0 && (range.start >= range.end || range.path.data < data ||
                          range.path.data + range.path.size_bytes > data + size_bytes))
            abort();
    }
    if (cur.next != cur.end)
        abort();
    return 0;
}

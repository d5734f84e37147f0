#include "pyversion.h"

#include <stdio.h>
#include <string.h>

#include "pylayout.h"

#define CONSTANTS_MAX_BYTES (64u << 20)
#define TEXT_BYTES 16
#define LAST_UNTOLD 12

/* The version that the bytes in front of a NUL end in; 0: none, or none that does not tell it. */
static uint32_t version_at_end(const uint8_t *text, size_t size_bytes)
{
    size_t start = size_bytes;
    unsigned major, minor, micro;
    char version[TEXT_BYTES] = "", behind;

    while (start > 0 && size_bytes - start < 8 &&
           ((text[start - 1] >= '0' && text[start - 1] <= '9') || text[start - 1] == '.'))
        start--;
    memcpy(version, text + start, size_bytes - start);
    if (sscanf(version, "%u.%2u.%2u%c", &major, &minor, &micro, &behind) != 3 ||
        !((major == 2 && minor == 7) || (major == 3 && minor <= LAST_UNTOLD)))
        return 0;
    return major << 24 | minor << 16 | micro << 8 | 0xf0;
}

static bool is_known(uint32_t version)
{
    const struct cairn_pytable *table =
        version >> 24 == 3 ? cairn_pytable_find(version >> 16 & 0xff) : NULL;

    return table && !table->told;
}

/* Keeps it unless there is one of its minor; the count after. */
static size_t keep(uint32_t versions[CAIRN_PYVERSIONS_MAX], size_t count, uint32_t version)
{
    for (size_t i = 0; i < count; i++)
        if (versions[i] >> 16 == version >> 16)
            return count;
    if (count < CAIRN_PYVERSIONS_MAX)
        versions[count++] = version;
    return count;
}

void cairn_pyversions_find(struct cairn_elffile *file, uint32_t ret_versions[CAIRN_PYVERSIONS_MAX])
{
    uint64_t address, offset, size_bytes;
    uint8_t block[4096];
    uint32_t other = 0;
    size_t count = 0;

    memset(ret_versions, 0, CAIRN_PYVERSIONS_MAX * sizeof(*ret_versions));
    if (cairn_elffile_section(file, ".rodata", &address, &offset, &size_bytes) < 0 ||
        size_bytes > CONSTANTS_MAX_BYTES)
        return;
    for (uint64_t at = 0; at + sizeof(block) <= size_bytes; at += sizeof(block) - TEXT_BYTES) {
        if (file->read(file->ctx, offset + at, block, sizeof(block)) < 0)
            break;
        for (size_t i = 8; i < sizeof(block); i++) {
            uint32_t version = !block[i] && block[i - 1] ? version_at_end(block, i) : 0;

            if (is_known(version))
                count = keep(ret_versions, count, version);
            else if (!other)
                other = version;
        }
    }
    if (!count)
        ret_versions[0] = other;
}

#include "pynotes.h"

#include "err.h"

#define SURE_MIN 2 /* so many more sightings than of anything else */
#define SURE_MAX 8

int cairn_pynotes_add(struct cairn_map *map, uint64_t key_a, uint64_t key_b, uint32_t value)
{
    uint64_t known = 0, lead;
    int code;

    (void)cairn_map_get(map, key_a, key_b, &known);
    lead = known >> 32;
    if (lead == SURE_MAX && (uint32_t)known == value)
        return 0;
    if (lead && (uint32_t)known != value)
        known -= UINT64_C(1) << 32;
    else
        known = (lead + 1) << 32 | value;
    code = cairn_map_put(map, key_a, key_b, known);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

bool cairn_pynotes_known(const struct cairn_map *map, uint64_t key_a, uint64_t key_b,
                         uint32_t *ret_value)
{
    uint64_t known;

    if (!cairn_map_get(map, key_a, key_b, &known) || known >> 32 < SURE_MIN)
        return false;
    *ret_value = (uint32_t)known;
    return true;
}

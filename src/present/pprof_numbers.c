#include "pprof_numbers.h"

#include <stdlib.h>

#include "alloc.h"

#define NUMBERS_MAX ((size_t)1 << 28)

/* Lines of one function are locations of it. */
static int number_function(const struct cairn_pprof *pprof, struct cairn_pprof_numbers *numbers,
                           struct cairn_intern *keys, uint32_t frame, uint32_t location)
{
    struct cairn_pprof_frame function = pprof->frames.items[frame];
    uint32_t id;

    function.line = 0;
    CAIRN_TRY(cairn_intern_add(
        keys, (struct cairn_span){(const uint8_t *)&function, sizeof(function)}, &id));
    if (id > numbers->functions.count) {
        CAIRN_TRY(cairn_vec_reserve(&numbers->functions, id, NUMBERS_MAX));
        numbers->functions.items[numbers->functions.count++] = frame;
    }
    numbers->function_of[location] = id;
    return 0;
}

static int number_all(const struct cairn_pprof *pprof, struct cairn_pprof_numbers *numbers,
                      struct cairn_intern *keys)
{
    for (size_t i = 0; i < pprof->samples.count; i++) {
        const struct cairn_pprof_sample *sample = &pprof->samples.items[i];

        if (!cairn_pprof_is_sample(sample))
            continue;
        for (uint32_t k = 0; k < sample->depth; k++) {
            uint32_t frame = pprof->stacks.items[sample->first + k];

            if (numbers->location_of[frame] != 0)
                continue;
            CAIRN_TRY(
                number_function(pprof, numbers, keys, frame, (uint32_t)numbers->locations.count));
            CAIRN_TRY(
                cairn_vec_reserve(&numbers->locations, numbers->locations.count + 1, NUMBERS_MAX));
            numbers->locations.items[numbers->locations.count++] = frame;
            numbers->location_of[frame] = (uint32_t)numbers->locations.count;
        }
    }
    return 0;
}

bool cairn_pprof_is_sample(const struct cairn_pprof_sample *sample)
{
    for (size_t i = 0; i < CAIRN_PPROF_COLUMNS; i++)
        if (sample->values[i] != 0)
            return true;
    return false;
}

int cairn_pprof_numbers_make(const struct cairn_pprof *pprof,
                             struct cairn_pprof_numbers *ret_numbers)
{
    struct cairn_intern keys;
    int code;

    *ret_numbers = (struct cairn_pprof_numbers){
        .location_of = cairn_calloc(pprof->frames.count + 1, sizeof(*ret_numbers->location_of)),
        .function_of = cairn_calloc(pprof->frames.count + 1, sizeof(*ret_numbers->function_of))};
    if (!ret_numbers->location_of || !ret_numbers->function_of)
        return -CAIRN_ENOMEM;
    code = cairn_intern_init(&keys, NUMBERS_MAX * sizeof(struct cairn_pprof_frame));
    if (code == 0)
        code = number_all(pprof, ret_numbers, &keys);
    cairn_intern_release(&keys);
    return code;
}

void cairn_pprof_numbers_release(struct cairn_pprof_numbers *numbers)
{
    free(numbers->location_of);
    free(numbers->function_of);
    cairn_vec_release(&numbers->locations);
    cairn_vec_release(&numbers->functions);
}

#include "nearest.h"

#include <limits.h>
#include <string.h>

#include "text.h"

void cairn_nearest_init(struct cairn_nearest *nearest, const char *word)
{
    nearest->word = word;
    nearest->best[0] = '\0';
    nearest->distance = UINT_MAX;
}

void cairn_nearest_try(struct cairn_nearest *nearest, const char *candidate)
{
    size_t word_bytes = strlen(nearest->word), size_bytes = strlen(candidate);
    unsigned distance;

    if (size_bytes >= sizeof(nearest->best))
        return;
    /* A word that was not typed to its end is nearer than any slip. */
    if (word_bytes >= 3 && strncmp(candidate, nearest->word, word_bytes) == 0)
        distance = 0;
    else
        distance = cairn_text_distance(nearest->word, candidate);
    if (distance < nearest->distance) {
        memcpy(nearest->best, candidate, size_bytes + 1);
        nearest->distance = distance;
    }
}

const char *cairn_nearest_best(const struct cairn_nearest *nearest)
{
    size_t word_bytes = strlen(nearest->word);
    unsigned limit = word_bytes < 3 ? 1 : word_bytes < 9 ? 2 : 3;

    return nearest->distance <= limit ? nearest->best : NULL;
}

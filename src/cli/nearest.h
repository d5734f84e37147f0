/* nearest.h: "did you mean": the candidate that is spelled most like a word.
 *
 * Candidates are copied, so they may be gone after the call. No allocation, nothing to release.
 */
#ifndef CAIRN_NEAREST_H
#define CAIRN_NEAREST_H

struct cairn_nearest {
    const char *word; /* borrowed */
    char best[256];
    unsigned distance;
};

void cairn_nearest_init(struct cairn_nearest *nearest, const char *word);
void cairn_nearest_try(struct cairn_nearest *nearest, const char *candidate);

/* The best candidate, or NULL when none is near enough to be meant. */
const char *cairn_nearest_best(const struct cairn_nearest *nearest);

#endif

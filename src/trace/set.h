/* set.h: a recording as one thing: a file, or PATH, PATH.1, PATH.2 … that a rotation left.
 *
 * Which files belong together is said by their first chunks (SET), not by their names: a file of
 * the right name and another set is left alone. One whose first chunk is lost is believed by its
 * name. What cannot be read at all is counted, not fatal.
 * Owner: the set owns its readers. Threads: one per set.
 */
#ifndef CAIRN_SET_H
#define CAIRN_SET_H

#include "reader.h"

struct cairn_set; /* opaque */

/* As cairn_reader_open(), whose answer for PATH itself is the answer here; for the files behind
 * it only -CAIRN_ETOONEW, -CAIRN_ENOMEM and failures to read are. */
int cairn_set_open(const char *path, struct cairn_set **ret_set, struct cairn_err *err);
void cairn_set_free(struct cairn_set *set); /* NULL ok */

/* In the order they were written; at least 1. Borrowed. */
size_t cairn_set_count(const struct cairn_set *set);
struct cairn_reader *cairn_set_reader(struct cairn_set *set, size_t index);

/* Its number in the set: 0 for PATH, n for PATH.n. */
uint64_t cairn_set_sequence(const struct cairn_set *set, size_t index);

/* Files of the set that are not there or not readable, as far as the others tell. */
uint64_t cairn_set_missing(const struct cairn_set *set);

#endif

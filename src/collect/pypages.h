/* pypages.h: a target's memory as it was at about one moment, and once more a moment later.
 *
 * For what is scattered over many small objects that lie side by side in few pages. The pages that
 * the rounds before looked at are read together when a round begins, others when they are asked
 * for; then all of them are read again: what did not change stood there when the last one was read.
 * Owner: whoever holds the struct. Threads: one at a time.
 */
#ifndef CAIRN_PYPAGES_H
#define CAIRN_PYPAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "remote.h"
#include "vec.h"

#define CAIRN_PYPAGE_BYTES 4096u
#define CAIRN_PYPAGES_MAX 8192 /* what lies beyond them cannot be looked at in this round */

struct cairn_pypage {
    uint64_t address;
    uint64_t round;        /* in which it was last looked at */
    bool ok, again, later; /* it could be read: first, again, and once more */
};

struct cairn_pypages {
    struct cairn_map index; /* address of a page to its place */
    CAIRN_VEC(struct cairn_pypage) pages;
    CAIRN_VEC(struct cairn_remote_part) parts;
    CAIRN_VEC(bool) ok;
    uint8_t *first, *second, *third; /* the copies of page i lie at i * CAIRN_PYPAGE_BYTES */
    size_t first_cap, second_cap, third_cap;
    size_t again, later; /* so many were read again, and once more */
    uint64_t round;
};

void cairn_pypages_init(struct cairn_pypages *pages);
void cairn_pypages_release(struct cairn_pypages *pages);

/* Forgets all pages. */
void cairn_pypages_clear(struct cairn_pypages *pages);

/* Says that the next round will look there. 0, or -CAIRN_ENOMEM. */
int cairn_pypages_want(struct cairn_pypages *pages, uint64_t address);

/* Begins a round. `at_once`: what is known is read again at once, which is soon enough where no
 * page has to be added. 0, -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pypages_begin(struct cairn_pypages *pages, struct cairn_remote *remote, bool at_once);

/* Copies what stood there when the round began, or now where nobody knew of that page.
 * -CAIRN_EUNREADABLE: it cannot be read, or there are too many pages. Others as above. */
int cairn_pypages_get(struct cairn_pypages *pages, struct cairn_remote *remote, uint64_t address,
                      void *data, size_t size_bytes);

/* What stood in the pages when the round began, or, without a remote, when they were read again. */
struct cairn_pyview {
    struct cairn_pypages *pages;
    struct cairn_remote *remote;
};

/* As for get; what was not looked at before is -CAIRN_EUNREADABLE where it is looked at again. */
int cairn_pyview_get(const struct cairn_pyview *view, uint64_t address, void *data,
                     size_t size_bytes);

/* The same for who reads from a remote; `view` is borrowed. */
void cairn_pyview_remote(struct cairn_pyview *view, struct cairn_remote *ret_remote);

/* Reads again what was looked at in this round. As for begin. */
int cairn_pypages_again(struct cairn_pypages *pages, struct cairn_remote *remote);

/* Reads all pages once more: behind a begin at once, before anything is looked at. As for begin. */
int cairn_pypages_once_more(struct cairn_pypages *pages, struct cairn_remote *remote);

/* What was read again now counts as what stood there first, and what was read once more as what was
 * read again: what changed between the first two may have stood still since. False: there are no
 * three readings. */
bool cairn_pypages_shift(struct cairn_pypages *pages);

#endif

/* pypages.h: a target's memory as it was at about one moment, and once more a moment later.
 *
 * For what is scattered over many small objects that lie side by side in few pages. The pages that
 * the rounds before looked at are read together when a round begins, others when they are asked
 * for; then all of them are read again: what did not change stood there when the last one was read.
 * What the target has just written takes its time, up to microseconds for a page of the machine: so
 * a page is no more than some objects, and where it is to be of one short moment, one or two.
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

#define CAIRN_PYPAGE_BYTES 512u
#define CAIRN_PYPAGE_SMALL_BYTES 256u
#define CAIRN_PYPAGES_MAX 65536 /* what lies beyond them cannot be looked at in this round */

struct cairn_pypage {
    uint64_t address;
    uint64_t round; /* in which it was last looked at */
    size_t part;    /* of the read that is planned: it lies in that one */
    bool ok, again; /* it could be read: first, and again */
};

struct cairn_pypages {
    struct cairn_map index; /* address of a page to its place */
    CAIRN_VEC(struct cairn_pypage) pages;
    CAIRN_VEC(struct cairn_remote_part) parts;
    CAIRN_VEC(bool) ok;
    size_t page_bytes;
    size_t last;             /* the page that was looked at last */
    uint8_t *first, *second; /* the copies of page i lie at i * page_bytes */
    size_t first_cap, second_cap;
    size_t again; /* so many were read again */
    uint64_t round;
};

/* `page_bytes`: one of the two above. */
void cairn_pypages_init(struct cairn_pypages *pages, size_t page_bytes);
void cairn_pypages_release(struct cairn_pypages *pages);

/* Forgets all pages. */
void cairn_pypages_clear(struct cairn_pypages *pages);

/* Says that the next round will look there. 0, or -CAIRN_ENOMEM. */
int cairn_pypages_want(struct cairn_pypages *pages, uint64_t address, size_t size_bytes);

/* Begins a round. `at_once`: what is known is read again in the same call, which is soon enough
 * where no page has to be added. 0, -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
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

#endif

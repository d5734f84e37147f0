/* guests.h: files of other tools in the place of recordings: each is read into a recording in
 * memory, which is named instead. Told apart by what is in them, never by their names.
 * Owner: the guests own the memory until cairn_guests_release(); the words are borrowed. */
#ifndef CAIRN_GUESTS_H
#define CAIRN_GUESTS_H

#include "command.h"
#include "vec.h"

struct cairn_guest_path {
    const char *path; /* what to open */
    char name[32];    /* where it is a guest: "/proc/self/fd/7" */
    int fd;           /* or -1 */
};

struct cairn_guests {
    CAIRN_VEC(struct cairn_guest_path) items;
    CAIRN_VEC(const char *) paths; /* of all of them */
};

/* One path for each of `count`; `reading` says how. What cannot be opened is left as it is named:
 * who reads recordings says why. Release in any case. */
int cairn_guests_open(const char *const *paths, size_t count, const struct cairn_reading *reading,
                      struct cairn_guests *ret_guests, struct cairn_err *err);
void cairn_guests_release(struct cairn_guests *guests);

#endif

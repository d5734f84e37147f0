/* roles.h: what each process of a tree is there for: the program, its workers, its helpers.
 *
 * Processes below one parent that do the same are one role and are numbered in order of birth:
 * "trainer", "worker 0" to "worker 7", "resource_tracker". Told from the command line, from whether
 * the process is a copy of its parent, and from the functions its stacks begin in; so a process has
 * the same role in every report of a recording, whatever is left out of that.
 * Owner: the roles own their arrays and names. Threads: after making, any number may read.
 */
#ifndef CAIRN_ROLES_H
#define CAIRN_ROLES_H

#include "arena.h"
#include "buf.h"
#include "model.h"

struct cairn_role {
    struct cairn_span kind; /* "worker"; NUL-terminated behind its last byte, as `name` */
    struct cairn_span name; /* the same, or "gunicorn worker" where there are several such roles */
    uint32_t parent;        /* role of the parents; UINT32_MAX: none was seen */
    uint32_t count;         /* of processes, numbered from 0 */
};

struct cairn_roles {
    struct cairn_role *items; /* parents before their children, else in order of birth */
    size_t count;
    uint32_t *of, *numbers; /* of each process of the model */
    struct cairn_arena arena;
};

/* 0 or -CAIRN_ENOMEM. cairn_roles_release() them; all zero is released. */
int cairn_roles_make(const struct cairn_model *model, struct cairn_roles *ret_roles);
void cairn_roles_release(struct cairn_roles *roles);

/* Appends "trainer" or, of several, "worker 3". */
void cairn_roles_label(const struct cairn_roles *roles, uint32_t process, struct cairn_buf *out);

/* Whether a shell pattern means the process: its role, or it alone ("worker", "worker 3"). */
bool cairn_roles_match(const struct cairn_roles *roles, uint32_t process, const char *pattern);

#endif

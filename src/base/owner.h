/* owner.h: for whom root works: the user who called Cairn through sudo.
 *
 * Root may write anywhere, the user's folders hold whatever the user put there: so what is made for
 * the user is made as the user, and the kernel judges every path by the user's rights. Nothing is
 * handed over with chown afterwards.
 * Threads: credentials are the process': call from its only thread.
 */
#ifndef CAIRN_OWNER_H
#define CAIRN_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CAIRN_OWNER_GROUPS_MAX 128

struct cairn_owner {
    uid_t uid;
    gid_t gid;
    gid_t groups[CAIRN_OWNER_GROUPS_MAX]; /* supplementary; a user in more gets the first ones */
    size_t group_count;
    char name[64], home[256], shell[256]; /* name "#UID", home "/" where no account is known */
};

/* What it was before cairn_owner_enter(). */
struct cairn_owner_saved {
    bool entered;
    gid_t groups[CAIRN_OWNER_GROUPS_MAX];
    int group_count;
};

/* Under sudo (SUDO_UID and SUDO_GID are set, and we are root) fills `ret_owner`; true. False when
 * nobody else is behind us, also for a SUDO_UID that is no number. */
bool cairn_owner_find(struct cairn_owner *ret_owner);

/* Takes the owner's effective rights for making or removing files; `owner` NULL: does nothing.
 * 0; -CAIRN_EPERM, and nothing has changed. */
int cairn_owner_enter(const struct cairn_owner *owner, struct cairn_owner_saved *ret_saved);

/* Takes root's rights back. errno is left as it was. */
void cairn_owner_leave(struct cairn_owner_saved *saved);

/* Becomes the owner for good. 0, or -errno; async-signal-safe, for between fork and exec. */
int cairn_owner_become(const struct cairn_owner *owner);

/* The environment that a program of the owner gets: `env` with HOME, USER, LOGNAME, SHELL and MAIL
 * of the owner, and without what sudo has left there about itself. The array and what it holds are
 * one block, free() it; strings that stay are borrowed from `env`. NULL when memory is short. */
char **cairn_owner_environment(const struct cairn_owner *owner, char *const *env);

#endif

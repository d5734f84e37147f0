#include "owner.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "err.h"
#include "text.h"

#define OWN_BYTES 1024 /* for the five variables of the owner, whose values are bounded */

/* What sudo adds, and what it or we set to the owner's. */
static const char *const dropped[] = {
    "SUDO_UID=", "SUDO_GID=", "SUDO_USER=", "SUDO_COMMAND=", "SUDO_HOME=",
    "HOME=",     "USER=",     "LOGNAME=",   "SHELL=",        "MAIL="};

static bool read_id(const char *name, uint64_t *ret_id)
{
    const char *text = getenv(name);

    /* -1 means "leave it as it is" to the kernel. */
    return text != NULL && cairn_text_parse_u64(text, ret_id) == 0 && *ret_id < UINT32_MAX;
}

static void find_account(struct cairn_owner *owner)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    int count = CAIRN_OWNER_GROUPS_MAX;

    owner->groups[0] = owner->gid;
    owner->group_count = 1;
    snprintf(owner->name, sizeof(owner->name), "#%lu", (unsigned long)owner->uid);
    snprintf(owner->home, sizeof(owner->home), "/");
    snprintf(owner->shell, sizeof(owner->shell), "/bin/sh");
    if (getpwuid_r(owner->uid, &entry, text, sizeof(text), &found) != 0 || found == NULL)
        return;
    snprintf(owner->name, sizeof(owner->name), "%s", entry.pw_name);
    snprintf(owner->home, sizeof(owner->home), "%s", entry.pw_dir);
    snprintf(owner->shell, sizeof(owner->shell), "%s", entry.pw_shell);
    /* Of too many it gives the first ones and says -1. */
    if (getgrouplist(entry.pw_name, owner->gid, owner->groups, &count) < 0)
        count = CAIRN_OWNER_GROUPS_MAX;
    owner->group_count = (size_t)count;
}

bool cairn_owner_find(struct cairn_owner *ret_owner)
{
    uint64_t uid, gid;

    if (geteuid() != 0 || !read_id("SUDO_UID", &uid) || !read_id("SUDO_GID", &gid) || uid == 0)
        return false;
    memset(ret_owner, 0, sizeof(*ret_owner));
    ret_owner->uid = (uid_t)uid;
    ret_owner->gid = (gid_t)gid;
    find_account(ret_owner);
    return true;
}

int cairn_owner_enter(const struct cairn_owner *owner, struct cairn_owner_saved *ret_saved)
{
    ret_saved->entered = false;
    if (owner == NULL)
        return 0;
    ret_saved->group_count = getgroups(CAIRN_OWNER_GROUPS_MAX, ret_saved->groups);
    if (ret_saved->group_count < 0)
        return -CAIRN_EPERM;
    ret_saved->entered = true;
    if (setgroups(owner->group_count, owner->groups) == 0 && setegid(owner->gid) == 0 &&
        seteuid(owner->uid) == 0)
        return 0;
    cairn_owner_leave(ret_saved);
    return -CAIRN_EPERM;
}

void cairn_owner_leave(struct cairn_owner_saved *saved)
{
    int sys = errno;

    /* Our real user is root still, so none of these is refused; were one, we had fewer rights. */
    if (saved->entered && seteuid(0) == 0 && setegid(0) == 0)
        (void)!setgroups((size_t)saved->group_count, saved->groups);
    saved->entered = false;
    errno = sys;
}

int cairn_owner_become(const struct cairn_owner *owner)
{
    if (setgroups(owner->group_count, owner->groups) < 0 ||
        setresgid(owner->gid, owner->gid, owner->gid) < 0 ||
        setresuid(owner->uid, owner->uid, owner->uid) < 0)
        return -errno;
    return 0;
}

static bool is_dropped(const char *entry)
{
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
        if (strncmp(entry, dropped[i], strlen(dropped[i])) == 0)
            return true;
    return false;
}

char **cairn_owner_environment(const struct cairn_owner *owner, char *const *env)
{
    const struct {
        const char *name, *value;
    } own[] = {{"HOME", owner->home},
               {"USER", owner->name},
               {"LOGNAME", owner->name},
               {"SHELL", owner->shell},
               {"MAIL=/var/mail", owner->name}};
    const size_t own_count = sizeof(own) / sizeof(own[0]);
    size_t count = 0, used = 0, text_bytes = OWN_BYTES;
    char **result, *text;

    while (env[count] != NULL)
        count++;
    result = cairn_malloc((count + own_count + 1) * sizeof(*result) + text_bytes);
    if (result == NULL)
        return NULL;
    text = (char *)(result + count + own_count + 1);
    for (size_t i = 0; i < count; i++)
        if (!is_dropped(env[i]))
            result[used++] = env[i];
    for (size_t i = 0; i < own_count; i++) {
        const char *between = strchr(own[i].name, '=') != NULL ? "/" : "=";
        int length = snprintf(text, text_bytes, "%s%s%s", own[i].name, between, own[i].value);

        result[used++] = text;
        text += length + 1;
        text_bytes -= (size_t)length + 1;
    }
    result[used] = NULL;
    return result;
}

#include "asker.h"

#include <stdlib.h>
#include <unistd.h>

void cairn_asker_redaction(struct cairn_asker *asker, bool on, struct cairn_redact *ret_redact)
{
    const char *home = getenv("HOME");

    *ret_redact = (struct cairn_redact){.on = on};
    if (cairn_owner_find(&asker->owner)) {
        ret_redact->home = asker->owner.home;
        ret_redact->user = asker->owner.name;
        return;
    }
    if (getpwuid_r(getuid(), &asker->entry, asker->text, sizeof(asker->text), &asker->found) == 0 &&
        asker->found != NULL) {
        ret_redact->home = asker->found->pw_dir;
        ret_redact->user = asker->found->pw_name;
    }
    if (home != NULL && home[0] == '/')
        ret_redact->home = home;
}

/* asker.h: who asks, be it through sudo: what --redact leaves out. */
#ifndef CAIRN_ASKER_H
#define CAIRN_ASKER_H

#include <pwd.h>

#include "owner.h"
#include "redact.h"

#define CAIRN_ASKER_ENTRY_BYTES 4096

struct cairn_asker {
    struct cairn_owner owner;
    struct passwd entry, *found;
    char text[CAIRN_ASKER_ENTRY_BYTES];
};

/* Looks who it is, if `on`; `redact` borrows from `asker` and the environment. */
void cairn_asker_redaction(struct cairn_asker *asker, bool on, struct cairn_redact *ret_redact);

#endif

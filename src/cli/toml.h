/* toml.h: as much of TOML as [tool.cairn] in pyproject.toml needs.
 *
 * Reads `key = value` lines of one table, values being a string on one line, a number, true or
 * false; passes over all other tables, with whatever they hold. What it hands out are strings in
 * the caller's text, which it changes: escapes are resolved and NULs put where they end.
 */
#ifndef CAIRN_TOML_H
#define CAIRN_TOML_H

#include <stdbool.h>

#include "err.h"

struct cairn_toml {
    char *next;        /* NUL-terminated */
    const char *table; /* "tool.cairn" */
    bool inside;       /* of the table */
    unsigned line;     /* of what came last, from 1 */
};

void cairn_toml_init(struct cairn_toml *toml, char *text, const char *table);

/* 0; -CAIRN_EEND; -CAIRN_EUSAGE when a line of the table is none of the above: *ret_value then
 * says why, in words. */
int cairn_toml_next(struct cairn_toml *toml, const char **ret_key, const char **ret_value);

#endif

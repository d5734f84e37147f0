/* browser.h: how the page of a local server gets in front of who asked for it. */
#ifndef CAIRN_BROWSER_H
#define CAIRN_BROWSER_H

#include <stdbool.h>

#include "buf.h"

/* Whether this is a desktop at which the user sits: there is a display, and no ssh between. */
bool cairn_browser_is_here(void);

/* Has `browser`, or for NULL the desktop, open `link`; does not wait. False when there is nothing
 * that would. Others see the words of a command line: what they could do with `link` is for the
 * caller to limit. */
bool cairn_browser_open(const char *browser, const char *link);

/* Over ssh: appends the command that, run where the user sits, brings `port` there; else nothing.
 * `address`: where it is listened on. */
void cairn_browser_tunnel(const char *address, unsigned port, struct cairn_buf *out);

#endif

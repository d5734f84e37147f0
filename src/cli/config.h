/* config.h: settings from [tool.cairn] in pyproject.toml, then from the environment. */
#ifndef CAIRN_CONFIG_H
#define CAIRN_CONFIG_H

#include "buf.h"
#include "option.h"

/* Reads both into `settings`. The pyproject.toml is the nearest one, in the current folder or one
 * above it; `text` (initialised by this call) holds the strings that settings borrow from it, and
 * is the caller's to release, also after a failure. The environment's strings stay its own.
 * 0; -CAIRN_EUSAGE with file and line, or the variable, in `err`. */
int cairn_config_read(struct cairn_settings *settings, struct cairn_buf *text,
                      struct cairn_err *err);

/* The same from a given text, which `name` calls; for tests. The text is changed. */
int cairn_config_text(char *text, const char *name, struct cairn_settings *settings,
                      struct cairn_err *err);

#endif

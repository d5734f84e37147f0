/* help.h: help, manual and completions, printed from the tables of commands and options.
 *
 * All of these append to a buffer whose `code` tells afterwards whether there was memory.
 */
#ifndef CAIRN_HELP_H
#define CAIRN_HELP_H

#include <stdbool.h>

#include "buf.h"
#include "command.h"

#define CAIRN_HELP_COLUMNS 80

/* `cairn --help`: every command in a line. */
void cairn_help_overview(struct cairn_buf *out);

/* One command: a line an option, or with `whole` all there is to say, and examples. */
void cairn_help_command(const struct cairn_command *command, bool whole, struct cairn_buf *out);

/* A page of the manual in roff: cairn-NAME(1), or cairn(1) with NULL. */
void cairn_man_page(const struct cairn_command *command, struct cairn_buf *out);

/* A completion script; -CAIRN_EUSAGE for a shell that is not bash, zsh or fish. */
int cairn_completions(const char *shell, struct cairn_buf *out);

/* Whether an option's line should name its default: not for flags and not for zero. */
bool cairn_help_has_default(const struct cairn_option *option);

#endif

/* program.h: what people call a program, told from its command line. Pure functions. */
#ifndef CAIRN_PROGRAM_H
#define CAIRN_PROGRAM_H

#include "cursor.h"

/* The word people call it by: the script that Python runs, the module behind its -m, "-c", else the
 * command without its folder. Words behind a command that is not Python are its own business, up to
 * a Python that it starts, in a text in quotes as well. A part of `command`, whose words stand as
 * one types them into a shell, single quotes being the only ones, or with blanks between them and
 * no quotes, as older recordings have them; a quote within a name is left as it is quoted. Empty
 * when there is none. */
struct cairn_span cairn_program_of(struct cairn_span command);

/* The text behind Python's -c in a command line; {NULL, 0} when it runs none. */
struct cairn_span cairn_program_code(struct cairn_span command);

#endif

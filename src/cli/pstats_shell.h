/* pstats_shell.h: the statistics browser of `python -m pstats`, line by line.
 *
 * Reads commands from stdin and writes prompts and answers to stdout, in Python's words.
 */
#ifndef CAIRN_PSTATS_SHELL_H
#define CAIRN_PSTATS_SHELL_H

#include "command.h"

/* Opens `files`, the first one read and the others added, then the browser. `settings`: of
 * recordings among the files. 0, or a negative code with `err` filled: a file on the command line
 * that is damaged or foreign, or what the system refused. */
int cairn_pstats_shell(const struct cairn_words *files, const struct cairn_settings *settings,
                       struct cairn_err *err);

#endif

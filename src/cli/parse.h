/* parse.h: argv into settings and words, by the table of options. */
#ifndef CAIRN_PARSE_H
#define CAIRN_PARSE_H

#include "command.h"

/* Reads the `count` words behind a command's name into `call`, whose command and settings are set
 * before. argv is rearranged: call->words points into it. -CAIRN_EUSAGE with `err` filled. */
int cairn_parse(struct cairn_call *call, int count, char **argv, struct cairn_err *err);

#endif

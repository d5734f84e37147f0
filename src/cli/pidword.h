/* pidword.h: the PID that a command was given, and what to say when it may not be looked at. */
#ifndef CAIRN_PIDWORD_H
#define CAIRN_PIDWORD_H

#include <sys/types.h>

#include "err.h"

/* 0, or -CAIRN_EUSAGE for what is no process number. Whether there is such a process is not
 * looked at. */
int cairn_pid_read(const char *word, pid_t *ret_pid, struct cairn_err *err);

/* Adds to a failure of `command` ("attach") with process `pid` what helps: its name when it is no
 * Python (-CAIRN_ENOTPYTHON), why it could not be looked at and what would allow it
 * (-CAIRN_EPERM). */
void cairn_pid_advise(const char *command, pid_t pid, struct cairn_err *err);

/* Before a program is started: tries whether memory can be read at all here. When it is refused,
 * fills `err` with one line that says why and what would allow it; -CAIRN_EPERM. Else 0. */
int cairn_pid_try_reading(struct cairn_err *err);

#endif

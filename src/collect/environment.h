/* environment.h: what somebody on another machine must know to read a recording.
 *
 * Facts about the host and the observed process as key/value texts: host.* and target.*. Of the
 * process' environment variables only those on a short list are kept. What cannot be read is left
 * out. Threads: one at a time.
 */
#ifndef CAIRN_ENVIRONMENT_H
#define CAIRN_ENVIRONMENT_H

#include <sys/types.h>

#include "writer.h"

int cairn_environment_host(struct cairn_writer *writer);

/* Once the process has loaded what it works with: near its end, or when observing ends. */
int cairn_environment_target(struct cairn_writer *writer, pid_t pid);

/* Processors this process may use at once, in thousandths: affinity, and the quota of its control
 * group. At least 1. */
unsigned cairn_environment_cores_milli(void);

#endif

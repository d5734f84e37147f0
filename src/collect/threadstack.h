/* threadstack.h: what was read of a thread, through all interpreters that it is in, as one stack of
 * the recording.
 *
 * Threads: one at a time.
 */
#ifndef CAIRN_THREADSTACK_H
#define CAIRN_THREADSTACK_H

#include "subject.h"
#include "tasks.h"

/* Sets `last_status` and `settled` by what was just read of its states. What holds only because the
 * thread stood still is torn when it did not. */
void cairn_threadstack_judge(struct cairn_worker *worker);

/* The stack to write for it, judged; 0: it is in no Python code. 0 or a negative code of the
 * writer. */
int cairn_threadstack_write(struct cairn_writer *writer, const struct cairn_tasks_labels *labels,
                            struct cairn_worker *worker, uint32_t *ret_stack);

#endif

/* doing.h: what a worker does beside being on its stack: its state, what lies over that, and what
 * it waits for. Threads: one at a time. */
#ifndef CAIRN_DOING_H
#define CAIRN_DOING_H

#include "subject.h"

/* Fills state, overlays and `on` of `run` for the latest tick. 0, or a negative code of the writer,
 * which the texts go to. */
int cairn_doing_look(struct cairn_subject *subject, struct cairn_worker *worker,
                     struct cairn_writer *writer, uint64_t now_ns, struct cairn_run *run);

#endif

/* processes.h: whom the sampler watches: those of whom the kernel's records told, or lists of
 * children, until they are gone.
 *
 * Owner: the sampler owns its subjects; adding and removing moves them in its list. Threads: one at
 * a time.
 */
#ifndef CAIRN_PROCESSES_H
#define CAIRN_PROCESSES_H

#include "sampler.h"

/* Observes a process from now on. `from_birth`: it starts under our eyes, unless it was there
 * before `since_ns`. `parent`: who made it; 0: as the kernel says, which forgets that when the
 * parent is gone. */
int cairn_processes_add(struct cairn_sampler *sampler, pid_t pid, pid_t parent, bool from_birth,
                        uint64_t now_ns);

/* Ends that of place `at`: its rows, its tracks. Those behind it move up. */
void cairn_processes_remove(struct cairn_sampler *sampler, size_t at);

/* It began another program; `stat`: what the kernel says of it now, when it may be over. */
void cairn_processes_exec(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          const struct cairn_proc_stat *stat, uint64_t now_ns);

/* Writes what a process is called by now. 0 or a negative code of the writer. */
int cairn_processes_write(struct cairn_sampler *sampler, struct cairn_subject *subject);

/* Its Python is read from now on. */
void cairn_processes_add_python(struct cairn_sampler *sampler, struct cairn_subject *subject,
                                uint64_t now_ns);

/* Its Python cannot be read. The first one is told; what its processes do is [unknown] in a
 * recording that has others as well. */
void cairn_processes_refuse(struct cairn_sampler *sampler, const struct cairn_subject *subject);

/* Who was born since the last tick is in the recording by this, or counted as unseen: where no tick
 * will follow. */
void cairn_processes_read_records(struct cairn_sampler *sampler, uint64_t now_ns);

/* As each tick begins: the records, and the lists of those that made children. Adds and removes. */
void cairn_processes_find(struct cairn_sampler *sampler, uint64_t now_ns);

/* No tick will follow: a Python that did not fit so far is not asked again, but `unsupported`. */
void cairn_processes_give_up(struct cairn_sampler *sampler);

#endif

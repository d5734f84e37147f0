/* cagefilter.h: the system calls that a caged child has.
 *
 * An allow-list: what is not in it ends the process. Of mapping memory only what is not executable;
 * of signals only those that a process sends to itself as it aborts.
 */
#ifndef CAIRN_CAGEFILTER_H
#define CAIRN_CAGEFILTER_H

/* From here on, for the calling thread and what it starts; PR_SET_NO_NEW_PRIVS must be set. 0, or
 * an errno: ENOSYS where this processor, or this kernel, is not known. */
int cairn_cagefilter_install(void);

#endif

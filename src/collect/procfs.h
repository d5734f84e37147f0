/* procfs.h: what /proc says of processes and threads.
 *
 * Every number comes from a bounded read of one file; a process that is gone is -CAIRN_EGONE, a
 * file that may not be read -CAIRN_EPERM. Threads: no shared state.
 */
#ifndef CAIRN_PROCFS_H
#define CAIRN_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "vec.h"

#define CAIRN_COMM_BYTES 64

struct cairn_proc_stat {
    char state;     /* R S D T t Z X I */
    bool is_over;   /* of a process: dead or a zombie, and not its first thread alone */
    bool is_ending; /* of a thread (a process' first): it runs no program any more */
    pid_t ppid;
    uint64_t start_ns; /* since boot, in steps of a clock tick; tells incarnations of a pid apart */
    uint64_t start_stack; /* where its first stack begins: drawn by exec, kept by fork. 0: hidden,
                           * or not known yet in the middle of an exec */
    int processor;        /* that it runs on, or last did */
    char comm[CAIRN_COMM_BYTES];
};

CAIRN_VEC_DECLARE(cairn_pids, pid_t);

/* `tid` 0: the process itself. */
int cairn_proc_stat(pid_t pid, pid_t tid, struct cairn_proc_stat *ret_stat);

/* Thread ids of a process, ascending; replaces what `ret_tids` held. While threads end the kernel's
 * list can be cut short: who is missing in it is not gone for that. */
int cairn_proc_threads(pid_t pid, struct cairn_pids *ret_tids);

/* Whether the thread is there still. */
bool cairn_proc_has_thread(pid_t pid, pid_t tid);

/* Children of all threads of a process. */
int cairn_proc_children(pid_t pid, struct cairn_pids *ret_pids);

/* The thread id as the innermost pid namespace of the thread counts it. */
int cairn_proc_ns_tid(pid_t pid, pid_t tid, pid_t *ret_ns_tid);

/* The same of the text of a status file, for tests; where it has no such numbers, `own`. */
int cairn_proc_ns_tid_parse(const char *text, pid_t own, pid_t *ret_ns_tid);

/* Command line as one would type it into a shell, cut at 4 KiB; empty for a kernel thread. A word
 * that stands alone is not quoted: it may be a title that the program gave itself. */
int cairn_proc_cmdline(pid_t pid, struct cairn_buf *out);

/* The same of the text of such a file, for tests. */
int cairn_proc_cmdline_parse(const char *text, size_t size_bytes, struct cairn_buf *out);

/* The file /proc/PID/exe points to, as text. */
int cairn_proc_exe(pid_t pid, struct cairn_buf *out);

/* How much address space it has mapped. */
int cairn_proc_mapped_bytes(pid_t pid, uint64_t *ret_bytes);

/* Highest resident size so far, VmHWM. */
int cairn_proc_peak_bytes(pid_t pid, uint64_t *ret_bytes);

struct cairn_proc_schedstat {
    uint64_t cpu_ns, runq_ns; /* so far: on a processor, and waiting for one */
    uint64_t turns;           /* how often it was put on one; 0: it never ran */
};

/* A thread's book, from the text of a schedstat file that is kept open: exact at every switch, up
 * to a scheduler tick late while the thread runs. */
int cairn_proc_schedstat_open(pid_t pid, pid_t tid);
int cairn_proc_schedstat_read(int fd, struct cairn_proc_schedstat *ret_book);

/* CPU time of all threads that a process has, or had, as their books say; those of a zombie too. */
int cairn_proc_cpu_ns(pid_t pid, uint64_t *ret_cpu_ns);

/* Whether a thread is on a processor or waits for one, from a wchan file that is kept open: the
 * cheapest file that tells. Negative: it cannot be told. */
int cairn_proc_wchan_open(pid_t pid, pid_t tid);
int cairn_proc_wchan_read(int fd, bool *ret_runs);

struct cairn_proc_syscall {
    bool runs;        /* on a processor or waiting for one: nothing else is said */
    int64_t number;   /* -1: blocked outside of any call, in a page fault */
    uint64_t args[2]; /* the first ones */
    uint64_t stack;   /* the stack pointer */
};

/* The system call that a thread is blocked in, from a syscall file that is kept open. */
int cairn_proc_syscall_open(pid_t pid, pid_t tid);
int cairn_proc_syscall_read(int fd, struct cairn_proc_syscall *ret_call);

/* The same of a text, for tests: -CAIRN_EDAMAGED when it is none. */
int cairn_proc_syscall_parse(const char *text, struct cairn_proc_syscall *ret_call);

/* How often the thread gave up its processor by itself: it waited for something. */
int cairn_proc_waits(pid_t pid, pid_t tid, uint64_t *ret_count);

#endif

/* rights.h: why the system refuses to let us look, and what would allow it.
 *
 * Facts are read once; explaining is a pure function of them, so that every kind of machine can be
 * tested on this one. It explains a refusal that has happened: nothing here predicts one.
 * Threads: no shared state.
 */
#ifndef CAIRN_RIGHTS_H
#define CAIRN_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"

enum cairn_container {
    CAIRN_CONTAINER_NONE, /* or of a kind that leaves no mark */
    CAIRN_CONTAINER_DOCKER,
    CAIRN_CONTAINER_PODMAN,
    CAIRN_CONTAINER_KUBERNETES,
};

struct cairn_rights {
    uid_t uid;            /* effective */
    uint64_t caps, bound; /* effective capabilities, and those that can be had at most: bits */
    int seccomp;          /* 2: a filter decides about system calls; … */
    bool reads;           /* … but process_vm_readv is let through: it reads ourselves */
    int yama;             /* kernel.yama.ptrace_scope; -1: there is no Yama */
    int paranoid;         /* kernel.perf_event_paranoid; -2: not known */
    enum cairn_container container;
};

/* Whom we wanted to look at. */
struct cairn_rights_whom {
    pid_t pid;
    uid_t uid;
    char user[64]; /* its account, "uid N" where there is none */
    bool child;    /* it is a child of ours */
    uint64_t caps; /* its capabilities: bits */
};

enum cairn_act {
    CAIRN_ACT_READ, /* process_vm_readv */
    CAIRN_ACT_PERF, /* perf_event_open */
};

enum {                            /* bits: what would have to be given */
       CAIRN_NEED_PTRACE = 1,     /* CAP_SYS_PTRACE, to the container */
       CAIRN_NEED_PERFMON = 2,    /* CAP_PERFMON, to the container */
       CAIRN_NEED_UNFILTERED = 4, /* no seccomp filter */
       CAIRN_NEED_UNCONFINED = 8, /* no security module */
       CAIRN_NEED_YAMA = 16,      /* ptrace_scope 0 */
       CAIRN_NEED_PARANOID = 32,  /* perf_event_paranoid 2 */
       CAIRN_NEED_ROOT = 64,
       CAIRN_NEED_RESTART = 128, /* ptrace_scope 3 stays until then */
};

/* Of the calling process and its system; what cannot be read is taken for not there. */
void cairn_rights_read(struct cairn_rights *ret_rights);

/* Who a process is. -CAIRN_EGONE: there is none. */
int cairn_rights_whom(pid_t pid, struct cairn_rights_whom *ret_whom);

/* A child of ours that is like us. */
void cairn_rights_child(const struct cairn_rights *rights, struct cairn_rights_whom *ret_whom);

/* Appends why `act` on `whom` was refused, as half a sentence. What would have to be given for it,
 * in bits; 0: nothing can be. */
unsigned cairn_rights_explain(const struct cairn_rights *rights, enum cairn_act act,
                              const struct cairn_rights_whom *whom, struct cairn_buf *out);

/* Appends the one command or setting that gives all of `needs`; nothing when `needs` is 0. `words`:
 * what to type behind `sudo cairn`. */
void cairn_rights_allow(const struct cairn_rights *rights, unsigned needs, const char *words,
                        struct cairn_buf *out);

#endif

/* pyruntime.h: finds CPython's runtime in a process by what it is, not by what its file is called.
 *
 * Looks into every mapped ELF file for the .PyRuntime section or the _PyRuntime symbol (both
 * survive strip), and believes what it finds when the structures behind it point to each other.
 * Threads: no shared state.
 */
#ifndef CAIRN_PYRUNTIME_H
#define CAIRN_PYRUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pyfiles.h"
#include "pylayout.h"
#include "pyversion.h"
#include "remote.h"

struct cairn_pyruntime {
    uint64_t address;    /* of _PyRuntime in the target */
    uint32_t hexversion; /* as PY_VERSION_HEX */
    bool told;           /* the layout is the target's own word */
    const struct cairn_pytable *table;
    struct cairn_pylayout layout;
};

/* Where a runtime lies, and of which versions it may be, 0 behind the last; none: it tells. */
struct cairn_pysite {
    uint64_t address; /* 0: nowhere */
    uint32_t versions[CAIRN_PYVERSIONS_MAX];
};

/* Codes as for cairn_pyread_open(). `files`: what is known of mapped files, and learned; may be
 * NULL. *ret_site, which may be NULL too: after -CAIRN_EUNREADABLE, what is not initialised yet;
 * after -CAIRN_EDAMAGED, what does not fit: another build, or memory that the loader or the kernel
 * is about to clear. */
int cairn_pyruntime_find(pid_t pid, struct cairn_remote *remote, struct cairn_pyfiles *files,
                         struct cairn_pysite *ret_site, struct cairn_pyruntime *ret,
                         struct cairn_err *err);

/* The same where it was found before: two small reads while it is not initialised. */
int cairn_pyruntime_check_site(struct cairn_remote *remote, const struct cairn_pysite *site,
                               struct cairn_pyruntime *ret, struct cairn_err *err);

/* The same when the address is known. `hexversion` (0: the target tells) is what Py_Version says
 * before 3.13. */
int cairn_pyruntime_check(struct cairn_remote *remote, uint64_t address, uint32_t hexversion,
                          struct cairn_pyruntime *ret, struct cairn_err *err);

/* The same by a table that the caller has, and keeps. */
int cairn_pyruntime_check_table(struct cairn_remote *remote, uint64_t address, uint32_t hexversion,
                                const struct cairn_pytable *table, struct cairn_pyruntime *ret,
                                struct cairn_err *err);

/* Where a section lies that some mapped ELF file has, and that is data of the target; the first
 * one that is found. 0, -CAIRN_ENOTFOUND, -CAIRN_EGONE, -CAIRN_EPERM or -CAIRN_ENOMEM. */
int cairn_pyruntime_section(pid_t pid, struct cairn_remote *remote, const char *name,
                            uint64_t *ret_address);

#endif

/* err.h: one list of failures, one way to report them.
 *
 * Functions return 0 (or a count) on success and a negated CAIRN_E* number on failure. Functions
 * at a boundary (a file, a process, a command) also fill a struct cairn_err, which says what
 * failed, why and, where the code knows it, what to do. Libraries never print and never exit.
 * Threads: no shared state.
 */
#ifndef CAIRN_ERR_H
#define CAIRN_ERR_H

enum cairn_error {
    CAIRN_OK = 0,
#define X(name, sentence, status) CAIRN_E##name,
#include "err.def"
#undef X
    CAIRN_ERROR_COUNT
};

struct cairn_err {
    int code;          /* negated CAIRN_E*, 0 when nothing failed */
    int sys;           /* errno behind it, 0 when none */
    const char *where; /* static string: the part that failed */
    char text[1280];   /* one sentence of what failed; why and what to do follow, one a line */
};

/* Fills `err` (NULL is allowed) and returns `code`, which must be negative. When `sys` is not 0
 * its text is put behind the formatted one. */
int cairn_err_set(struct cairn_err *err, int code, int sys, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Appends a line, the next sentence (why, what to do); a full text is left as it is. */
void cairn_err_add(struct cairn_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The general sentence for a code (negative or positive): static, never NULL. */
const char *cairn_err_sentence(int code);

/* The exit status for a code: 0 for 0, 125 for one that is not known. */
int cairn_err_status(int code);

/* Maps an errno, of either sign, to the nearest negated code: ENOMEM, EPERM/EACCES, ENOENT,
 * EEXIST, ESRCH, else IO. */
int cairn_err_from_errno(int sys);

/* Forwards a failure. */
#define CAIRN_TRY(call)                                                                            \
    do {                                                                                           \
        int cairn_try_code = (call);                                                               \
        if (cairn_try_code < 0)                                                                    \
            return cairn_try_code;                                                                 \
    } while (0)

#endif

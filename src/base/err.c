#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *sentence;
    int status;
} errors[CAIRN_ERROR_COUNT] = {
    [CAIRN_OK] = {"nothing failed", 0},
#define X(name, text, exit_status) [CAIRN_E##name] = {text, exit_status},
#include "err.def"
#undef X
};

/* The index into `errors`, or -1. Unsigned, so that INT_MIN has an absolute value. */
static int error_index(int code)
{
    unsigned number = code < 0 ? 0u - (unsigned)code : (unsigned)code;

    return number < CAIRN_ERROR_COUNT ? (int)number : -1;
}

int cairn_err_set(struct cairn_err *err, int code, int sys, const char *where, const char *fmt, ...)
{
    char text[sizeof(err->text)]; /* apart, because an argument may be err->text itself */
    va_list args;
    int written;

    if (err == NULL)
        return code;
    va_start(args, fmt);
    written = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (written < 0)
        snprintf(text, sizeof(text), "%s", cairn_err_sentence(code));

    err->code = code;
    err->sys = sys;
    err->where = where;
    memcpy(err->text, text, sizeof(text));
    if (sys != 0) {
        size_t used = strlen(text);
        char sys_text[64];

        snprintf(err->text + used, sizeof(err->text) - used, ": %s",
                 strerror_r(sys, sys_text, sizeof(sys_text)));
    }
    return code;
}

void cairn_err_add(struct cairn_err *err, const char *fmt, ...)
{
    char line[sizeof(err->text)];
    va_list args;
    size_t used;
    int written;

    if (err == NULL)
        return;
    va_start(args, fmt);
    written = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);

    /* All of it or nothing: advice cut short may be other advice. */
    used = strlen(err->text);
    if (written < 0 || (size_t)written + 2 > sizeof(err->text) - used)
        return;
    if (used > 0)
        err->text[used++] = '\n';
    memcpy(err->text + used, line, (size_t)written + 1);
}

const char *cairn_err_sentence(int code)
{
    int index = error_index(code);

    return index < 0 ? "an unknown failure" : errors[index].sentence;
}

int cairn_err_status(int code)
{
    int index = error_index(code);

    return index < 0 ? 125 : errors[index].status;
}

int cairn_err_from_errno(int sys)
{
    switch (sys < 0 && sys > -4096 ? -sys : sys) {
    case ENOMEM:
        return -CAIRN_ENOMEM;
    case EPERM:
    case EACCES:
        return -CAIRN_EPERM;
    case ENOENT:
        return -CAIRN_ENOTFOUND;
    case EEXIST:
        return -CAIRN_EEXISTS;
    case ESRCH:
        return -CAIRN_EGONE;
    default:
        return -CAIRN_EIO;
    }
}

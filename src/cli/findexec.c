#include "findexec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or the errno a shell would name. */
static int judge(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno;
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int refuse(const char *word, int sys, struct cairn_err *err)
{
    if (sys == ENOENT || sys == ENOTDIR)
        return cairn_err_set(err, -CAIRN_ENOTFOUND, 0, "program",
                             strchr(word, '/') != NULL ? "%.300s: there is no such file"
                                                       : "%.300s: not a file here, and no command "
                                                         "of that name is in PATH",
                             word);
    return cairn_err_set(err, -CAIRN_ENOTEXEC, sys, "program", "%.300s cannot be executed", word);
}

int cairn_findexec(const char *word, struct cairn_buf *ret_path, struct cairn_err *err)
{
    const char *path = getenv("PATH"), *candidate;
    int worst = ENOENT;

    cairn_buf_clear(ret_path);
    if (strchr(word, '/') != NULL) {
        int sys = judge(word);

        if (sys != 0)
            return refuse(word, sys, err);
        cairn_buf_add_str(ret_path, word);
        return ret_path->code < 0 ? -CAIRN_ENOMEM : 0;
    }
    if (word[0] == '\0')
        return refuse(word, ENOENT, err);
    /* What execvp(3) takes when there is none. */
    for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
        size_t size_bytes = strcspn(path, ":");
        int sys;

        cairn_buf_clear(ret_path);
        cairn_buf_add(ret_path, size_bytes > 0 ? path : ".", size_bytes > 0 ? size_bytes : 1);
        cairn_buf_u8(ret_path, '/');
        cairn_buf_add_str(ret_path, word);
        candidate = cairn_buf_cstr(ret_path);
        if (ret_path->code < 0)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "program", "%.300s", word);
        sys = judge(candidate);
        if (sys == 0)
            return 0;
        /* A folder of that name is not what was meant. */
        if (sys == EACCES)
            worst = sys;
        path += size_bytes;
        if (*path == '\0')
            return refuse(word, worst, err);
    }
}

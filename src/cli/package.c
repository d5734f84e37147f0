#include "package.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PATH_MAX_BYTES 4096

/* Beside the program: in a build folder, as it is installed, and as pip does that. */
static const char *const places[] = {"python/cairn", "../share/cairn/python/cairn",
                                     "../lib/python3.*/site-packages/cairn"};

/* Whether there is such a file, or one of such a name: then its path stands in place of the
 * pattern.
 */
static bool find(struct cairn_buf *path)
{
    glob_t found;

    if (access(cairn_buf_cstr(path), R_OK) == 0)
        return true;
    if (glob(cairn_buf_cstr(path), 0, NULL, &found) != 0)
        return false;
    cairn_buf_clear(path);
    cairn_buf_add_str(path, found.gl_pathv[0]);
    globfree(&found);
    return path->code == 0 && access(cairn_buf_cstr(path), R_OK) == 0;
}

int cairn_package_find(const char *name, struct cairn_buf *ret_path, struct cairn_err *err)
{
    char own[PATH_MAX_BYTES];
    ssize_t size_bytes = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (size_bytes < 0)
        return cairn_err_set(err, -CAIRN_EIO, errno, "tool", "/proc/self/exe");
    own[size_bytes] = '\0';
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        cairn_buf_clear(ret_path);
        cairn_buf_printf(ret_path, "%s/%s/%s", own, places[i], name);
        if (ret_path->code < 0)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "tool", "the path of the package");
        if (find(ret_path))
            return 0;
    }
    cairn_err_set(err, -CAIRN_ENOTFOUND, 0, "tool", "the package `cairn` is not beside %.300s",
                  own);
    cairn_err_add(err, "Install Cairn with `make install`, or run it from its build folder.");
    return -CAIRN_ENOTFOUND;
}

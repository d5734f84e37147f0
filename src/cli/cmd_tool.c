/* cmd_tool.c: an old tool by its name, `cairn cprofile …`: the package's own, in the Python that is
 * to run the program. It takes this process's place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "buf.h"
#include "command.h"
#include "say.h"
#include "target.h"

#define PATH_MAX_BYTES 4096

/* Beside the program: in a build folder, and as it is installed. */
static const char *const places[] = {"python/cairn/_start.py",
                                     "../share/cairn/python/cairn/_start.py"};

static int find_start(struct cairn_buf *ret_path, struct cairn_err *err)
{
    char own[PATH_MAX_BYTES];
    ssize_t size_bytes = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (size_bytes < 0)
        return cairn_err_set(err, -CAIRN_EIO, errno, "tool", "/proc/self/exe");
    own[size_bytes] = '\0';
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        cairn_buf_clear(ret_path);
        cairn_buf_printf(ret_path, "%s/%s", own, places[i]);
        if (ret_path->code < 0)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "tool", "the path of the package");
        if (access(cairn_buf_cstr(ret_path), R_OK) == 0)
            return 0;
    }
    cairn_err_set(err, -CAIRN_ENOTFOUND, 0, "tool", "the package `cairn` is not beside %.300s",
                  own);
    cairn_err_add(err, "Install Cairn with `make install`, or run it from its build folder.");
    return -CAIRN_ENOTFOUND;
}

static int start(const struct cairn_call *call, struct cairn_buf *python, struct cairn_buf *script,
                 struct cairn_err *err)
{
    size_t count = 0;
    char **argv;

    CAIRN_TRY(cairn_target_python(call->settings.python, python, err));
    CAIRN_TRY(find_start(script, err));
    argv = cairn_calloc(call->words.count + 4, sizeof(*argv));
    if (argv == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "tool", "the words of the tool");
    argv[count++] = (char *)cairn_buf_cstr(python);
    argv[count++] = (char *)cairn_buf_cstr(script);
    argv[count++] = (char *)call->command->name;
    for (size_t i = 0; i < call->words.count; i++)
        argv[count++] = call->words.items[i];
    execv(argv[0], argv);
    cairn_err_set(err, -CAIRN_ENOTEXEC, errno, "tool", "%.300s", argv[0]);
    free(argv);
    return -CAIRN_ENOTEXEC;
}

int cairn_cmd_tool(struct cairn_call *call)
{
    struct cairn_buf python, script;
    struct cairn_err err;
    int code;

    cairn_buf_init(&python, PATH_MAX_BYTES);
    cairn_buf_init(&script, PATH_MAX_BYTES);
    code = start(call, &python, &script, &err);
    cairn_buf_release(&python);
    cairn_buf_release(&script);
    return code < 0 ? cairn_say_err(&err) : 0;
}

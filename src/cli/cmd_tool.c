/* cmd_tool.c: an old tool by its name, `cairn cprofile …`: the package's own, in the Python that is
 * to run the program. It takes this process's place. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc.h"
#include "buf.h"
#include "command.h"
#include "package.h"
#include "say.h"
#include "target.h"

#define PATH_MAX_BYTES 4096

static int start(const struct cairn_call *call, struct cairn_buf *python, struct cairn_buf *script,
                 struct cairn_err *err)
{
    size_t count = 0;
    char **argv;

    CAIRN_TRY(cairn_target_python(call->settings.python, python, err));
    CAIRN_TRY(cairn_package_find("_start.py", script, err));
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

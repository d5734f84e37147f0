/* cmd_cprofilev.c: `cairn cprofilev [-a ADDRESS] [-p PORT] [-f FILE] [SCRIPT.py ARGS]`: the page of
 * a profile, with cProfileV's words; of a script, once that has run. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "say.h"
#include "serving.h"

#define PORT 4000
#define SELF "/proc/self/exe"

extern char **environ;

static void tell(const struct cairn_serving *serving, const struct cairn_server *server,
                 struct cairn_buf *out)
{
    cairn_buf_add_str(out, "[cProfileV]: cProfile output available at ");
    cairn_server_link(server, cairn_serving_host(serving), false, out);
    cairn_buf_u8(out, '\n');
}

/* The script under `cairn cprofile -o FILE`, to its end. Ctrl-C is meant for the script. */
static int run_script(const struct cairn_words *script, const char *file, int *ret_status,
                      struct cairn_err *err)
{
    static const char *const before[] = {"cairn", "cprofile", "-o"};
    size_t count = sizeof(before) / sizeof(before[0]);
    char **argv = cairn_calloc(count + script->count + 2, sizeof(*argv));
    void (*interrupted)(int);
    int sys, status = 0;
    pid_t pid;

    if (argv == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "cprofilev", "the words of the script");
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)(uintptr_t)before[i];
    argv[count++] = (char *)(uintptr_t)file;
    for (size_t i = 0; i < script->count; i++)
        argv[count++] = script->items[i];
    sys = posix_spawn(&pid, SELF, NULL, NULL, argv, environ);
    free(argv);
    if (sys != 0)
        return cairn_err_set(err, -CAIRN_ENOTEXEC, sys, "cprofilev", SELF);
    interrupted = signal(SIGINT, SIG_IGN);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, interrupted);
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (*ret_status != 0)
        cairn_say("the script ended with status %d", *ret_status);
    return 0;
}

static int serve(struct cairn_call *call, const char *file)
{
    const struct cairn_settings *settings = &call->settings;
    const struct cairn_serving serving = {
        .address = settings->address ? settings->address : "127.0.0.1",
        .port = settings->tool_port == CAIRN_CHOICE_NONE ? PORT : (uint16_t)settings->tool_port,
        .fd = STDERR_FILENO,
        .tell = tell,
    };
    char *words[] = {(char *)(uintptr_t)file, NULL};

    call->words = (struct cairn_words){words, 1};
    call->settings.no_open = true; /* as cProfileV, which only says where */
    return cairn_serve(&serving, call);
}

static int refuse_folder(const char *folder)
{
    struct cairn_err err = {0};
    char path[PATH_MAX];
    int size = (int)strlen(folder);
    const char *name;

    while (size > 0 && folder[size - 1] == '/')
        size--;
    snprintf(path, sizeof(path), "%.*s/__main__.py", size, folder);
    name = access(path, F_OK) == 0 ? "__main__" : "script";
    cairn_err_set(&err, -CAIRN_EUSAGE, 0, "cprofilev", "%.300s is a folder", folder);
    cairn_err_add(&err, "`cairn cprofilev` runs a file of Python code, as cProfile does.");
    cairn_err_add(&err, "Name the script in it: cairn cprofilev %.*s/%s.py",
                  size < 300 ? size : 300, folder, name);
    return cairn_say_err(&err);
}

/* S_IFREG, S_IFDIR or another; 0: nothing is there. */
static mode_t kind_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? info.st_mode & S_IFMT : 0;
}

/* The profile lies in a folder of its own, and bears the script's name: the page is called by it.
 */
static int serve_script(struct cairn_call *call)
{
    struct cairn_err err = {0};
    char folder[] = "/tmp/cairn-XXXXXX", file[sizeof(folder) + NAME_MAX + 1];
    const char *script = call->words.items[0], *slash = strrchr(script, '/');
    int status = 0, code;

    if (kind_of(script) == S_IFDIR)
        return refuse_folder(script);
    if (mkdtemp(folder) == NULL) {
        cairn_err_set(&err, -CAIRN_EIO, errno, "cprofilev", "no folder can be made in /tmp");
        return cairn_say_err(&err);
    }
    snprintf(file, sizeof(file), "%s/%.*s", folder, NAME_MAX, slash ? slash + 1 : script);
    code = run_script(&call->words, file, &status, &err);
    if (code < 0)
        status = cairn_say_err(&err);
    else if (status == 0 || kind_of(file) == S_IFREG) /* else it did not begin, and has said why */
        status = serve(call, file);
    unlink(file);
    rmdir(folder);
    return status;
}

int cairn_cmd_cprofilev(struct cairn_call *call)
{
    struct cairn_err err = {0};

    if (call->settings.prof_file != NULL)
        return serve(call, call->settings.prof_file);
    if (call->words.count > 0)
        return serve_script(call);
    cairn_err_set(&err, -CAIRN_EUSAGE, 0, "cprofilev", "there is nothing to show");
    cairn_err_add(&err, "Name a profile with -f, or a script to run.");
    return cairn_say_err(&err);
}

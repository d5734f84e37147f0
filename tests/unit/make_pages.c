/* make_pages: records a page set of a program, see tests/targets/pages.py.
 *
 *     make_pages FILE python3 tests/targets/pages.py
 *
 * The program stops itself at two points; what a reader asks for at each becomes a moment.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "pages.h"
#include "pyread.h"

/* The program is our child, so each of its stops is told once. */
static bool wait_stopped(pid_t pid)
{
    int status;

    return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

static pid_t start(char **command)
{
    pid_t pid = fork();

    if (pid == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    return pid;
}

static size_t this_moment(void *ctx, uint64_t address)
{
    (void)address;
    return *(size_t *)ctx;
}

static void ignore_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    (void)ctx;
    (void)pthread_id;
    (void)native_id;
    (void)name;
}

/* All that two ticks of a new reader ask for, and two of one that was there before. */
static int record(struct pages *pages, const struct cairn_remote *remote, struct cairn_pyread *old,
                  struct cairn_err *err)
{
    struct cairn_pyread *read;

    CAIRN_TRY(cairn_pyread_open_at(remote, pages->runtime, pages->hexversion, &read, err));
    for (int i = 0; i < 2; i++) {
        CAIRN_TRY(cairn_pyread_tick(read, err));
        CAIRN_TRY(cairn_pyread_tick(old, err));
    }
    CAIRN_TRY(cairn_pyread_names(read, NULL, ignore_name, NULL));
    cairn_pyread_free(read);
    return 0;
}

static int make(pid_t pid, const char *path, struct cairn_err *err)
{
    struct cairn_remote live, remote;
    struct cairn_pyread *read;
    struct pages pages;
    size_t moment = 0;

    pages_init(&pages);
    cairn_remote_live(&live, pid);
    if (!wait_stopped(pid))
        return -CAIRN_EGONE;
    CAIRN_TRY(cairn_pyread_open(pid, &live, NULL, NULL, &read, err));
    pages.runtime = cairn_pyread_runtime(read, &pages.hexversion);
    cairn_pyread_free(read);
    pages.behind = &live;
    pages.choose = this_moment;
    pages.choose_ctx = &moment;
    pages.moment_count = 2;
    pages_remote(&pages, &remote);
    CAIRN_TRY(cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, err));
    for (; moment < 2; moment++) {
        CAIRN_TRY(record(&pages, &remote, read, err));
        kill(pid, SIGCONT);
        if (!wait_stopped(pid))
            return -CAIRN_EGONE;
    }
    cairn_pyread_free(read);
    CAIRN_TRY(pages_save(&pages, path));
    pages_release(&pages);
    return 0;
}

int main(int argc, char **argv)
{
    struct cairn_err err = {0};
    pid_t pid;
    int code;

    if (argc < 3) {
        fprintf(stderr, "usage: make_pages FILE COMMAND...\n");
        return 2;
    }
    pid = start(argv + 2);
    code = make(pid, argv[1], &err);
    if (code < 0)
        fprintf(stderr, "make_pages: %s\n", err.code ? err.text : cairn_err_sentence(code));
    kill(pid, SIGKILL);
    return code < 0;
}

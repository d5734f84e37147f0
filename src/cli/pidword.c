#include "pidword.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"
#include "procfs.h"
#include "pyread.h"
#include "rights.h"
#include "text.h"

#define ADVICE_MAX_BYTES 1024

int cairn_pid_read(const char *word, pid_t *ret_pid, struct cairn_err *err)
{
    uint64_t number;

    if (cairn_text_parse_u64(word, &number) == 0 && number > 0 && number <= INT_MAX) {
        *ret_pid = (pid_t)number;
        return 0;
    }
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "pid", "'%.100s' is not the number of a process", word);
    cairn_err_add(err, "`pgrep -a python` lists those that are called python.");
    return -CAIRN_EUSAGE;
}

/* Why reading `whom` was refused, and what would allow it: into two texts of an error. */
static void explain(const struct cairn_rights_whom *whom, const char *words, struct cairn_buf *why,
                    struct cairn_buf *allow)
{
    struct cairn_rights rights;

    cairn_buf_init(why, ADVICE_MAX_BYTES);
    cairn_buf_init(allow, ADVICE_MAX_BYTES);
    cairn_rights_read(&rights);
    cairn_rights_allow(&rights, cairn_rights_explain(&rights, CAIRN_ACT_READ, whom, why), words,
                       allow);
}

static void add_reasons(const char *command, pid_t pid, struct cairn_err *err)
{
    struct cairn_rights_whom whom;
    struct cairn_buf why, allow;
    char words[64];

    if (cairn_rights_whom(pid, &whom) < 0)
        return;
    snprintf(words, sizeof(words), "%s %d", command, (int)pid);
    explain(&whom, words, &why, &allow);
    cairn_err_add(err, "The reason: %s.", cairn_buf_cstr(&why));
    if (allow.size_bytes > 0)
        cairn_err_add(err, "This would allow it: %s", cairn_buf_cstr(&allow));
    cairn_buf_release(&why);
    cairn_buf_release(&allow);
}

void cairn_pid_advise(const char *command, pid_t pid, struct cairn_err *err)
{
    struct cairn_proc_stat stat;

    if (err->code == -CAIRN_ENOTPYTHON && cairn_proc_stat(pid, 0, &stat) == 0)
        cairn_err_add(err, "It is called %s.", stat.comm);
    else if (err->code == -CAIRN_EPERM && strcmp(err->where, "runtime") == 0)
        add_reasons(command, pid, err);
    else if (err->code == -CAIRN_EPERM && strcmp(err->where, CAIRN_PYREAD_FILE) == 0)
        cairn_err_add(err, "This would allow it: sudo cairn %s %d", command, (int)pid);
}

int cairn_pid_try_reading(struct cairn_err *err)
{
    struct cairn_rights_whom child;
    struct cairn_rights rights;
    struct cairn_buf why, allow;

    if (cairn_probe_read_child() != -CAIRN_EPERM)
        return 0; /* what else may have failed will fail again, where it matters */
    cairn_rights_read(&rights);
    cairn_rights_child(&rights, &child);
    explain(&child, "run", &why, &allow);
    cairn_err_set(err, -CAIRN_EPERM, 0, "run",
                  "there will be no profile, the program may not be read: %s%s%s",
                  cairn_buf_cstr(&why), allow.size_bytes > 0 ? "; this would allow it: " : "",
                  cairn_buf_cstr(&allow));
    cairn_buf_release(&why);
    cairn_buf_release(&allow);
    return -CAIRN_EPERM;
}

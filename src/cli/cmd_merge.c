/* cmd_merge.c: `cairn merge FILE FILE … -o OUT` */
#include "merge.h"
#include "say.h"
#include "command.h"

int cairn_cmd_merge(struct cairn_call *call)
{
    const struct cairn_settings *settings = &call->settings;
    struct cairn_merged merged = {0};
    struct cairn_err err = {0};
    int code;

    if (settings->output == NULL) {
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "merge", "`cairn merge` needs a name: -o OUT");
        cairn_err_add(&err, "It becomes OUT, OUT.1, OUT.2 and so on, which are read as one.");
        return cairn_say_err(&err);
    }
    code = cairn_merge((const char *const *)call->words.items, call->words.count, settings->output,
                       settings->force, &merged, &err);
    if (code == -CAIRN_EFOREIGN)
        cairn_err_add(&err, "Of a file of another tool `cairn import` makes one.");
    if (code < 0)
        return cairn_say_err(&err);
    if (merged.again > 0)
        cairn_say("%zu %s there more than once; each is in it once", merged.again,
                  merged.again == 1 ? "recording was" : "recordings were");
    cairn_say("%s: %zu recording%s in %zu file%s", settings->output, merged.recordings,
              merged.recordings == 1 ? "" : "s", merged.files, merged.files == 1 ? "" : "s");
    return 0;
}

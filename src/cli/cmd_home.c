/* cmd_home.c: `cairn` alone: what people need, and what they did last. */
#include <sys/stat.h>
#include <time.h>

#include "command.h"
#include "escape.h"
#include "place.h"
#include "say.h"
#include "text.h"

#define TEXT_MAX_BYTES (1 << 16)

/* How long ago a file changed, in one unit; a clock that was set back makes it now. */
static void add_age(struct cairn_buf *out, const struct stat *info)
{
    static const struct {
        time_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    time_t age = time(NULL) - info->st_mtim.tv_sec;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (age >= units[i].seconds) {
            long count = (long)(age / units[i].seconds);

            cairn_buf_printf(out, "%ld %s%s ago", count, units[i].name, count == 1 ? "" : "s");
            return;
        }
    cairn_buf_add_str(out, "just now");
}

static void add_last(struct cairn_buf *out)
{
    struct cairn_buf path;
    struct stat info;

    cairn_buf_init(&path, TEXT_MAX_BYTES);
    if (cairn_place_newest(&path, NULL) == 0 && stat(cairn_buf_cstr(&path), &info) == 0) {
        cairn_buf_add_str(out, "\nLast recording: ");
        cairn_escape_terminal(out, cairn_buf_span(&path));
        cairn_buf_add_str(out, " (");
        cairn_text_size(out, (uint64_t)info.st_size);
        cairn_buf_add_str(out, ", ");
        add_age(out, &info);
        cairn_buf_add_str(out, ")\n`cairn report` shows it.\n");
    } else {
        cairn_buf_add_str(out, "\nNo recording here yet. Begin with `cairn run script.py`.\n");
    }
    cairn_buf_release(&path);
}

int cairn_cmd_home(void)
{
    struct cairn_buf out;
    int status;

    cairn_buf_init(&out, TEXT_MAX_BYTES);
    cairn_buf_add_str(&out, "Cairn tells where a Python program spends its time.\n\n");
    for (size_t i = 0; i < cairn_command_count; i++)
        if (cairn_commands[i].shown)
            cairn_buf_printf(&out, "  cairn %-8s %s\n", cairn_commands[i].name,
                             cairn_commands[i].brief);
    add_last(&out);
    status = cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

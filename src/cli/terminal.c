#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN 40
#define COLUMNS_MAX 1000

static bool env_is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

static bool env_is(const char *name, const char *expected)
{
    const char *value = getenv(name);

    return value != NULL && strcmp(value, expected) == 0;
}

static unsigned count_columns(int fd)
{
    uint64_t columns = COLUMNS_DEFAULT;
    struct winsize size;

    /* COLUMNS first: who sets it means it. Shells keep theirs to themselves. */
    if (!env_is_set("COLUMNS") || cairn_text_parse_u64(getenv("COLUMNS"), &columns) < 0 ||
        columns == 0)
        columns =
            ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
    if (columns < COLUMNS_MIN)
        return COLUMNS_MIN;
    return columns > COLUMNS_MAX ? COLUMNS_MAX : (unsigned)columns;
}

void cairn_terminal_ask(int fd, struct cairn_terminal *ret_terminal)
{
    bool forced = env_is_set("FORCE_COLOR") && !env_is("FORCE_COLOR", "0");

    ret_terminal->is_tty = isatty(fd) == 1;
    ret_terminal->columns = count_columns(fd);
    ret_terminal->colour =
        !env_is_set("NO_COLOR") && (forced || (ret_terminal->is_tty && !env_is("TERM", "dumb")));
}

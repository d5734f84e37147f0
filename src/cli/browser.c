#include "browser.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "text.h"

#define SSH_PORT 22
#define ENTRY_MAX_BYTES 4096
#define OPENER "xdg-open"

extern char **environ;

static bool has(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

bool cairn_browser_is_here(void)
{
    return !has("SSH_CONNECTION") && (has("DISPLAY") || has("WAYLAND_DISPLAY"));
}

bool cairn_browser_open(const char *browser, const char *link)
{
    const char *opener = browser ? browser : OPENER;
    char *const words[] = {(char *)(uintptr_t)opener, (char *)(uintptr_t)link, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    pid_t pid;
    int sys;

    /* Ctrl-C at our terminal is not the browser's; and nobody waits for it. */
    signal(SIGCHLD, SIG_IGN);
    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&files);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    sys = posix_spawnp(&pid, opener, &files, &how, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return sys == 0;
}

/* SSH_CONNECTION: the client's address and port, then ours. */
static bool read_server(char *text, const char **ret_address, unsigned *ret_port)
{
    const char *parts[4];
    struct in6_addr address;
    char *rest;

    for (size_t i = 0; i < 4; i++) {
        parts[i] = strtok_r(i == 0 ? text : NULL, " ", &rest);
        if (parts[i] == NULL)
            return false;
    }
    *ret_address = parts[2];
    *ret_port = (unsigned)strtoul(parts[3], NULL, 10);
    return inet_pton(AF_INET, parts[2], &address) == 1 ||
           inet_pton(AF_INET6, parts[2], &address) == 1;
}

static void put_user(struct cairn_buf *out)
{
    struct passwd entry, *found = NULL;
    char text[ENTRY_MAX_BYTES];

    if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found != NULL) {
        cairn_text_shell_word(out, cairn_span_of(found->pw_name));
        cairn_buf_u8(out, '@');
    }
}

void cairn_browser_tunnel(const char *address, unsigned port, struct cairn_buf *out)
{
    const char *connection = getenv("SSH_CONNECTION"), *server;
    unsigned server_port;
    char text[256];

    if (connection == NULL || strlen(connection) >= sizeof(text))
        return;
    memcpy(text, connection, strlen(connection) + 1);
    if (!read_server(text, &server, &server_port))
        return;
    cairn_buf_printf(out, "ssh -L %u:%s:%u -N ", port, address, port);
    if (server_port != SSH_PORT)
        cairn_buf_printf(out, "-p %u ", server_port);
    put_user(out);
    cairn_buf_add_str(out, server);
}

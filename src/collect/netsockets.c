#include "netsockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io.h"

#define TABLE_MAX_BYTES ((size_t)32 << 20) /* a line of 150 bytes a socket */
#define TCP_LISTEN 0x0a
#define ADDRESS_TEXT 64

/* "0100007F:1F90", bytes of the address in words of the processor's order. False: it is none. */
static bool address_text(const char *hex, char text[ADDRESS_TEXT], bool *ret_any)
{
    const char *colon = strchr(hex, ':');
    size_t digits = colon ? (size_t)(colon - hex) : 0;
    char name[INET6_ADDRSTRLEN];
    uint32_t words[4] = {0};
    unsigned port;

    if ((digits != 8 && digits != 32) || strspn(hex, "0123456789ABCDEF") != digits ||
        sscanf(colon + 1, "%4x", &port) != 1)
        return false;
    *ret_any = port == 0;
    for (size_t i = 0; i < digits / 8; i++) {
        if (sscanf(hex + 8 * i, "%8" SCNx32, &words[i]) != 1)
            return false;
        *ret_any &= words[i] == 0;
    }
    if (!inet_ntop(digits == 8 ? AF_INET : AF_INET6, words, name, sizeof(name)))
        return false;
    snprintf(text, ADDRESS_TEXT, digits == 8 ? "%s:%u" : "[%s]:%u", name, port);
    return true;
}

static bool parse_inet(const char *line, uint64_t *ret_inode, char *text, size_t text_bytes)
{
    char local_hex[48], remote_hex[48], local[ADDRESS_TEXT], remote[ADDRESS_TEXT];
    bool local_any, remote_any;
    unsigned state;

    if (sscanf(line, " %*u: %47s %47s %x %*s %*s %*s %*u %*u %" SCNu64, local_hex, remote_hex,
               &state, ret_inode) != 4)
        return false;
    if (!address_text(local_hex, local, &local_any) ||
        !address_text(remote_hex, remote, &remote_any))
        return false;
    if (!remote_any)
        snprintf(text, text_bytes, "%s", remote);
    else
        snprintf(text, text_bytes, "%s %s", state == TCP_LISTEN ? "listening on" : "bound to",
                 local);
    return true;
}

static bool parse_unix(const char *line, uint64_t *ret_inode, char *text, size_t text_bytes)
{
    size_t length = strcspn(line, "\n");
    int path = -1;

    if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 "%n", ret_inode, &path) != 1 || path < 0 ||
        (size_t)path > length)
        return false;
    while (line[path] == ' ')
        path++;
    snprintf(text, text_bytes, "%.*s", (int)(length - (size_t)path), line + path);
    if (text[0] == '\0') /* it has none: one of a pair, or the end that connected */
        snprintf(text, text_bytes, "unix");
    return true;
}

void cairn_netsockets_parse(const char *table, bool unix_table,
                            void (*found)(void *ctx, uint64_t inode, const char *text), void *ctx)
{
    for (const char *line = strchr(table, '\n'); line && line[1]; line = strchr(line, '\n')) {
        char text[256];
        uint64_t inode;

        line++; /* the first line is the head */
        if ((unix_table ? parse_unix : parse_inet)(line, &inode, text, sizeof(text)) && inode)
            found(ctx, inode, text);
    }
}

void cairn_netsockets_each(pid_t pid, void (*found)(void *ctx, uint64_t inode, const char *text),
                           void *ctx)
{
    static const char *const tables[] = {"tcp", "tcp6", "unix", "udp", "udp6"};
    struct cairn_buf text;
    char path[64];

    cairn_buf_init(&text, TABLE_MAX_BYTES);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
        cairn_buf_clear(&text);
        if (cairn_io_read_file(AT_FDCWD, path, &text) >= 0)
            cairn_netsockets_parse(cairn_buf_cstr(&text), !strcmp(tables[i], "unix"), found, ctx);
    }
    cairn_buf_release(&text);
}

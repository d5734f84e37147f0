#include "redact.h"

#include <ctype.h>
#include <string.h>

/* Whether `text` has `part` at `at`. */
static bool stands(struct cairn_span text, size_t at, const char *part)
{
    size_t size_bytes = strlen(part);

    return size_bytes <= text.size_bytes - at && memcmp(text.data + at, part, size_bytes) == 0;
}

static bool is_letter(struct cairn_span text, size_t at)
{
    return at < text.size_bytes && (isalnum(text.data[at]) || text.data[at] == '_');
}

/* Bytes of a home folder at `at`: the user's own, or one that lies where they usually do. */
static size_t home_bytes(const struct cairn_redact *redact, struct cairn_span text, size_t at)
{
    static const char *const folders[] = {"/home/", "/Users/"};
    size_t size_bytes = redact->home ? strlen(redact->home) : 0;

    if (size_bytes > 1 && stands(text, at, redact->home) && !is_letter(text, at + size_bytes))
        return size_bytes;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        size_t end = at + strlen(folders[i]);

        if (!stands(text, at, folders[i]))
            continue;
        while (end < text.size_bytes && text.data[end] != '/' && !isspace(text.data[end]))
            end++;
        return end - at;
    }
    return 0;
}

static size_t name_bytes(const struct cairn_redact *redact, struct cairn_span text, size_t at)
{
    size_t size_bytes = redact->user ? strlen(redact->user) : 0;

    if (size_bytes == 0 || strcmp(redact->user, "root") == 0 || !stands(text, at, redact->user) ||
        (at > 0 && is_letter(text, at - 1)) || is_letter(text, at + size_bytes))
        return 0;
    return size_bytes;
}

void cairn_redact_text(const struct cairn_redact *redact, struct cairn_span text,
                       struct cairn_buf *out)
{
    size_t at = 0, size_bytes;

    if (!redact->on) {
        cairn_buf_add(out, text.data, text.size_bytes);
        return;
    }
    while (at < text.size_bytes) {
        if ((size_bytes = home_bytes(redact, text, at)) > 0)
            cairn_buf_u8(out, '~');
        else if ((size_bytes = name_bytes(redact, text, at)) > 0)
            cairn_buf_add_str(out, "user");
        else
            cairn_buf_u8(out, text.data[at]);
        at += size_bytes > 0 ? size_bytes : 1;
    }
}

/* Where the part of a path begins that says which file it is. */
static size_t telling_part(struct cairn_span path)
{
    size_t library = 0, last = 0;

    for (size_t i = 0; i < path.size_bytes; i++) {
        const uint8_t *slash;

        if (path.data[i] != '/')
            continue;
        last = i + 1;
        if (stands(path, i, "/site-packages/") || stands(path, i, "/dist-packages/"))
            library = i + strlen("/site-packages/");
        slash = stands(path, i, "/lib/python") ? memchr(path.data + i + strlen("/lib/python"), '/',
                                                        path.size_bytes - i - strlen("/lib/python"))
                                               : NULL;
        if (slash)
            library = (size_t)(slash + 1 - path.data);
    }
    return library > 0 ? library : last;
}

void cairn_redact_path(const struct cairn_redact *redact, struct cairn_span path,
                       struct cairn_buf *out)
{
    size_t skip_bytes = redact->on ? telling_part(path) : 0;

    if (skip_bytes > 0) {
        path.data += skip_bytes;
        path.size_bytes -= skip_bytes;
    }
    cairn_redact_text(redact, path, out);
}

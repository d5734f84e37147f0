#include "redact.h"

#include <ctype.h>
#include <string.h>

#include "model_rewrite.h"
#include "program.h"

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

static bool is(struct cairn_span text, const char *word)
{
    return text.size_bytes == strlen(word) && stands(text, 0, word);
}

/* What a recording's numbers are, and nothing of the machine. */
static bool tells_numbers(struct cairn_span key)
{
    static const char *const kept[] = {
        "counting.costs_ns", "counting.max_overhead", "counting.text_hook", "import.format",
        "import.samples",    "import.stacks",         "import.times",       "import.values",
        "run.mode",          "sampler.interval_ns"};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (is(key, kept[i]))
            return true;
    return false;
}

/* What was waited for is a word and a path. */
static void redact_words(const struct cairn_redact *redact, struct cairn_span text,
                         struct cairn_buf *out)
{
    size_t at = 0;

    while (at < text.size_bytes && !(text.data[at] == '/' && (at == 0 || text.data[at - 1] == ' ')))
        at++;
    cairn_redact_text(redact, (struct cairn_span){text.data, at}, out);
    cairn_redact_path(redact, (struct cairn_span){text.data + at, text.size_bytes - at}, out);
}

static void redact_told(const void *ctx, const struct cairn_told *told, struct cairn_buf *out)
{
    const struct cairn_redact *redact = ctx;

    if (told->kind == CAIRN_TOLD_PATH)
        cairn_redact_path(redact, told->text, out);
    else if (told->kind == CAIRN_TOLD_COMMAND ||
             (told->kind == CAIRN_TOLD_SETTING && is(told->key, "run.command")))
        cairn_redact_path(redact, cairn_program_of(told->text), out);
    else if (told->kind == CAIRN_TOLD_TEXT)
        redact_words(redact, told->text, out);
    else if (told->kind == CAIRN_TOLD_NAME || tells_numbers(told->key))
        cairn_redact_text(redact, told->text, out);
}

int cairn_redact_model(const struct cairn_redact *redact, struct cairn_model *model)
{
    return redact->on ? cairn_model_rewrite(model, redact_told, redact) : 0;
}

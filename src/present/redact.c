#include "redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

static bool is_slash(uint8_t byte)
{
    return byte == '/' || byte == '\\';
}

/* Whether `word` stands at `at`, in capitals or not: Windows does not tell them apart. */
static bool stands_anyhow(struct cairn_span text, size_t at, const char *word)
{
    size_t size_bytes = strlen(word);

    return at <= text.size_bytes && size_bytes <= text.size_bytes - at &&
           strncasecmp((const char *)text.data + at, word, size_bytes) == 0;
}

static bool has_drive(struct cairn_span text, size_t at)
{
    return text.size_bytes - at >= 3 && isalpha(text.data[at]) && text.data[at + 1] == ':' &&
           is_slash(text.data[at + 2]) && (at == 0 || !is_letter(text, at - 1));
}

/* Behind the slashes at `at`, which are doubled where a text was written as code has it. */
static size_t behind_slashes(struct cairn_span text, size_t at)
{
    while (at < text.size_bytes && is_slash(text.data[at]))
        at++;
    return at;
}

/* Where a user's name ends. With blanks in it, only if a path goes on behind them. */
static size_t windows_name_end(struct cairn_span text, size_t at)
{
    size_t word = at, end;

    while (word < text.size_bytes && !is_slash(text.data[word]) && !isspace(text.data[word]) &&
           !strchr("\"'<>|:;,*?()", text.data[word]))
        word++;
    for (end = word; end < text.size_bytes && (isalnum(text.data[end]) || text.data[end] == ' ');)
        end++;
    return end < text.size_bytes && text.data[end] == '\\' ? end : word;
}

/* Bytes of a home folder of Windows at `at`, as in C:\Users\NAME or \\server\Users\NAME. */
static size_t windows_home_bytes(struct cairn_span text, size_t at)
{
    static const char *const folders[] = {"Users", "Documents and Settings"};
    size_t begin = at + (has_drive(text, at) ? 2 : 0), end;

    if (begin == at && text.data[at] != '\\')
        return 0;
    begin = behind_slashes(text, begin);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        size_t name = begin + strlen(folders[i]);

        if (!stands_anyhow(text, begin, folders[i]) || name == text.size_bytes ||
            !is_slash(text.data[name]))
            continue;
        name = behind_slashes(text, name);
        end = windows_name_end(text, name);
        if (end > name)
            return end - at;
    }
    return 0;
}

/* Bytes of ~NAME at `at`, where a word begins: within one it is no home (a destructor's name). */
static size_t tilde_bytes(struct cairn_span text, size_t at)
{
    size_t end = at + 1;

    if (text.data[at] != '~' ||
        (at > 0 && !isspace(text.data[at - 1]) && !strchr("\"'`=(,[", text.data[at - 1])))
        return 0;
    while (is_letter(text, end) ||
           (end < text.size_bytes && (text.data[end] == '.' || text.data[end] == '-')))
        end++;
    return end > at + 1 ? end - at : 0;
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
    size_bytes = windows_home_bytes(text, at);
    return size_bytes > 0 ? size_bytes : tilde_bytes(text, at);
}

/* A short name is a part of too many words. */
#define NAME_LEAST_BYTES 4

static size_t name_bytes(const struct cairn_redact *redact, struct cairn_span text, size_t at)
{
    size_t size_bytes = redact->user ? strlen(redact->user) : 0;

    if (size_bytes == 0 || strcmp(redact->user, "root") == 0 || !stands(text, at, redact->user))
        return 0;
    if (size_bytes < NAME_LEAST_BYTES &&
        ((at > 0 && is_letter(text, at - 1)) || is_letter(text, at + size_bytes)))
        return 0;
    return size_bytes;
}

static void redact_plain(const struct cairn_redact *redact, struct cairn_span text,
                         struct cairn_buf *out)
{
    size_t at = 0, size_bytes;

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

static struct cairn_span behind(struct cairn_span text, size_t size_bytes)
{
    return (struct cairn_span){text.data + size_bytes, text.size_bytes - size_bytes};
}

/* Bytes of "Process 12" that a text begins with, and of what parts it from the command line that
 * other tools write behind it. */
static size_t numbered_bytes(struct cairn_span text, bool *ret_command)
{
    size_t at = strlen("process "), digits = at;

    *ret_command = false;
    if (!stands_anyhow(text, 0, "process "))
        return 0;
    while (at < text.size_bytes && isdigit(text.data[at]))
        at++;
    if (at == digits)
        return 0;
    *ret_command = at < text.size_bytes && text.data[at] == ':';
    at += *ret_command;
    while (at < text.size_bytes && text.data[at] == ' ')
        at++;
    return at;
}

/* Of a command line, in quotes or not, the program. */
static void redact_command(const struct cairn_redact *redact, struct cairn_span command,
                           struct cairn_buf *out)
{
    if (command.size_bytes > 0 && command.data[0] == '"')
        command = behind(command, 1);
    if (command.size_bytes > 0 && command.data[command.size_bytes - 1] == '"')
        command.size_bytes--;
    cairn_redact_path(redact, cairn_program_of(command), out);
}

void cairn_redact_text(const struct cairn_redact *redact, struct cairn_span text,
                       struct cairn_buf *out)
{
    bool command;
    size_t head_bytes;

    if (!redact->on) {
        cairn_buf_add(out, text.data, text.size_bytes);
        return;
    }
    head_bytes = numbered_bytes(text, &command);
    if (!command) {
        redact_plain(redact, text, out);
        return;
    }
    cairn_buf_add(out, text.data, head_bytes);
    redact_command(redact, behind(text, head_bytes), out);
}

void cairn_redact_process(const struct cairn_redact *redact, struct cairn_span name,
                          struct cairn_buf *out)
{
    bool command;
    size_t head_bytes = redact->on ? numbered_bytes(name, &command) : name.size_bytes;

    cairn_buf_add(out, name.data, head_bytes);
    if (head_bytes < name.size_bytes)
        redact_command(redact, behind(name, head_bytes), out);
}

static bool is_windows_path(struct cairn_span path)
{
    return (path.size_bytes > 0 && has_drive(path, 0)) || stands(path, 0, "\\\\") ||
           (path.size_bytes > 0 && memchr(path.data, '\\', path.size_bytes) &&
            !memchr(path.data, '/', path.size_bytes));
}

/* Whether the part of a path that begins at `at` is the folder of a Python, whose library lies in
 * its Lib. A number has to follow, or it is anybody's folder. */
static bool is_python_folder(struct cairn_span path, size_t at)
{
    static const char *const names[] = {
        "python",    "cpython-",  "PythonSoftwareFoundation.Python.", "anaconda", "miniconda",
        "miniforge", "mambaforge"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t end = at + strlen(names[i]);

        if (stands_anyhow(path, at, names[i]) && end < path.size_bytes &&
            (isdigit(path.data[end]) || is_slash(path.data[end])))
            return true;
    }
    return false;
}

/* telling_part() of a path of Windows. */
static size_t telling_windows_part(struct cairn_span path)
{
    size_t library = 0, part = 0;
    bool python = false;

    for (size_t i = 0; i < path.size_bytes; i++) {
        if (!is_slash(path.data[i]))
            continue;
        if ((i - part == strlen("site-packages") && stands_anyhow(path, part, "site-packages")) ||
            (python && i - part == strlen("Lib") && stands_anyhow(path, part, "Lib")))
            library = i + 1;
        python = is_python_folder(path, part);
        part = i + 1;
    }
    return library > 0 ? library : part;
}

/* Where the part of a path begins that says which file it is. */
static size_t telling_part(struct cairn_span path)
{
    size_t library = 0, last = 0;

    if (is_windows_path(path))
        return telling_windows_part(path);
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

    if (skip_bytes > 0)
        path = behind(path, skip_bytes);
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

static bool begins_path(struct cairn_span text, size_t at)
{
    return text.data[at] == '/' || has_drive(text, at) || stands(text, at, "\\\\");
}

/* What was waited for is a word and a path. */
static void redact_words(const struct cairn_redact *redact, struct cairn_span text,
                         struct cairn_buf *out)
{
    size_t at = 0;

    while (at < text.size_bytes &&
           !((at == 0 || text.data[at - 1] == ' ') && begins_path(text, at)))
        at++;
    cairn_redact_text(redact, (struct cairn_span){text.data, at}, out);
    cairn_redact_path(redact, (struct cairn_span){text.data + at, text.size_bytes - at}, out);
}

static void redact_told(const void *ctx, const struct cairn_told *told, struct cairn_buf *out)
{
    const struct cairn_redact *redact = ctx;

    if (told->kind == CAIRN_TOLD_PATH)
        cairn_redact_path(redact, told->text, out);
    else if (told->kind == CAIRN_TOLD_PROCESS)
        cairn_redact_process(redact, told->text, out);
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

#include "source.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"

#define FILE_MAX_BYTES ((size_t)8 << 20)
#define PATH_MAX_BYTES 4096
#define NS_PER_S 1000000000u

static bool equals(struct cairn_span a, struct cairn_span b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

/* When the recording ended, in the time of files; 0 when it was before this boot, or elsewhere. */
static uint64_t end_real_ns(const struct cairn_model *model)
{
    const struct cairn_process *processes;
    size_t count = cairn_model_processes(model, &processes);
    uint64_t first_ns, last_ns, now_ns = cairn_clock_mono_ns();
    char boot_id[37];

    cairn_clock_boot_id(boot_id);
    cairn_model_span(model, &first_ns, &last_ns);
    if (count == 0 || last_ns > now_ns ||
        !equals(processes[0].boot_id,
                (struct cairn_span){(const uint8_t *)boot_id, strlen(boot_id)}))
        return 0;
    return cairn_clock_real_ns() - (now_ns - last_ns);
}

void cairn_source_init(struct cairn_source *source, const struct cairn_model *model)
{
    *source = (struct cairn_source){.newest_real_ns = end_real_ns(model)};
    cairn_buf_init(&source->text, FILE_MAX_BYTES);
}

void cairn_source_release(struct cairn_source *source)
{
    cairn_buf_release(&source->text);
}

static bool ends_in(struct cairn_span text, const char *end)
{
    size_t some = strlen(end);

    return text.size_bytes >= some && memcmp(text.data + text.size_bytes - some, end, some) == 0;
}

/* lib/python3.12/, and what pip puts elsewhere. */
static bool is_of_library(const char *path)
{
    static const char *const folders[] = {"/lib/python3.", "/lib64/python3.", "/site-packages/",
                                          "/dist-packages/"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (strstr(path, folders[i]))
            return true;
    return false;
}

/* In the current folder, but not where programs keep what is nobody's business. */
static bool is_here(const char *path)
{
    char here[PATH_MAX_BYTES];
    size_t some;

    if (!getcwd(here, sizeof(here)) || strcmp(here, "/") == 0)
        return false;
    some = strlen(here);
    return strncmp(path, here, some) == 0 && path[some] == '/' && !strstr(path + some, "/.");
}

/* Whether a file, by where it really lies, may be shown: a recording can name any, a key as well.
 */
static bool is_allowed(int fd)
{
    static const char *const ends[] = {".py", ".pyw", ".pyi", ".pyx", ".pxd", ".pxi"};
    char name[32], path[PATH_MAX_BYTES];
    ssize_t some;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    some = readlink(name, path, sizeof(path) - 1);
    if (some <= 0)
        return false;
    path[some] = '\0';
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (ends_in((struct cairn_span){(const uint8_t *)path, (size_t)some}, ends[i]))
            return true;
    return is_of_library(path) || is_here(path);
}

/* Appends a file that has not changed since. */
static void read_believed(struct cairn_source *source, const char *path)
{
    int fd = cairn_io_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat facts;

    if (fd < 0)
        return;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 && is_allowed(fd) &&
        (uint64_t)facts.st_size <= FILE_MAX_BYTES &&
        (uint64_t)facts.st_mtim.tv_sec * NS_PER_S + (uint64_t)facts.st_mtim.tv_nsec <=
            source->newest_real_ns &&
        cairn_buf_reserve(&source->text, (size_t)facts.st_size) == 0) {
        ssize_t got = cairn_io_read(fd, source->text.data, (size_t)facts.st_size);

        source->text.size_bytes = got > 0 ? (size_t)got : 0;
    }
    cairn_io_close(&fd);
}

static void load(struct cairn_source *source, struct cairn_span file)
{
    char path[PATH_MAX_BYTES];

    if (equals(source->file, file))
        return;
    source->file = file;
    cairn_buf_clear(&source->text);
    if (source->newest_real_ns == 0 || file.size_bytes == 0 || file.size_bytes >= sizeof(path) ||
        memchr(file.data, '\0', file.size_bytes))
        return;
    memcpy(path, file.data, file.size_bytes);
    path[file.size_bytes] = '\0';
    read_believed(source, path);
}

/* The line without its end; empty when there are not so many. */
static struct cairn_span whole_line(const struct cairn_source *source, uint32_t line)
{
    const uint8_t *at = source->text.data, *end = at + source->text.size_bytes, *newline;

    for (; line > 1 && at < end; line--) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return (struct cairn_span){NULL, 0};
        at = newline + 1;
    }
    if (line == 0 || at >= end)
        return (struct cairn_span){NULL, 0};
    newline = memchr(at, '\n', (size_t)(end - at));
    if (newline)
        end = newline;
    while (at < end && isspace(end[-1]))
        end--;
    return (struct cairn_span){at, (size_t)(end - at)};
}

static struct cairn_span line_of(const struct cairn_source *source, uint32_t line)
{
    struct cairn_span text = whole_line(source, line);

    while (text.size_bytes > 0 && isspace(*text.data)) {
        text.data++;
        text.size_bytes--;
    }
    return text;
}

/* The function begins with its name, or with a decorator; names like <module> stand nowhere. */
static bool is_defined(const struct cairn_source *source, struct cairn_span name,
                       uint32_t first_line)
{
    struct cairn_span text = line_of(source, first_line);

    if (name.size_bytes > 0 && name.data[0] == '<')
        return true;
    if (text.size_bytes == 0 || name.size_bytes == 0)
        return false;
    return text.data[0] == '@' ||
           memmem(text.data, text.size_bytes, name.data, name.size_bytes) != NULL;
}

struct cairn_span cairn_source_line(struct cairn_source *source, struct cairn_span file,
                                    struct cairn_span name, uint32_t first_line, uint32_t line)
{
    load(source, file);
    if (source->text.size_bytes == 0 || !is_defined(source, name, first_line))
        return (struct cairn_span){NULL, 0};
    return line_of(source, line);
}

struct cairn_span cairn_source_whole_line(struct cairn_source *source, struct cairn_span file,
                                          struct cairn_span name, uint32_t first_line,
                                          uint32_t line)
{
    load(source, file);
    if (source->text.size_bytes == 0 || !is_defined(source, name, first_line))
        return (struct cairn_span){NULL, 0};
    return whole_line(source, line);
}

#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "nearest.h"
#include "toml.h"

#define PROJECT_FILE "pyproject.toml"
#define PROJECT_MAX_BYTES (1 << 20)
#define FOLDERS_MAX 64

static int refuse_key(const char *key, const char *origin, const struct cairn_option *option,
                      struct cairn_err *err)
{
    struct cairn_nearest nearest;

    if (option != NULL) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "config", "%s: --%s is only for the command line%s",
                      origin, option->name,
                      option->sources & CAIRN_FROM_ENV ? " and the environment" : "");
        return -CAIRN_EUSAGE;
    }
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "config", "%s: there is no such setting", origin);
    cairn_nearest_init(&nearest, key);
    for (size_t i = 0; i < cairn_option_count; i++)
        if (cairn_options[i].sources & CAIRN_FROM_PROJECT)
            cairn_nearest_try(&nearest, cairn_options[i].name);
    if (cairn_nearest_best(&nearest) != NULL)
        cairn_err_add(err, "Did you mean %s?", cairn_nearest_best(&nearest));
    return -CAIRN_EUSAGE;
}

int cairn_config_text(char *text, const char *name, struct cairn_settings *settings,
                      struct cairn_err *err)
{
    const char *key, *value;
    struct cairn_toml toml;
    char origin[256];
    int code;

    cairn_toml_init(&toml, text, "tool.cairn");
    while ((code = cairn_toml_next(&toml, &key, &value)) != -CAIRN_EEND) {
        const struct cairn_option *option;

        if (code < 0)
            return cairn_err_set(err, code, 0, "config", "%s:%u: %s", name, toml.line, value);
        option = cairn_option_find(key, strlen(key), ~0u);
        snprintf(origin, sizeof(origin), "%s:%u: %.60s", name, toml.line, key);
        if (option == NULL || !(option->sources & CAIRN_FROM_PROJECT))
            return refuse_key(key, origin, option, err);
        CAIRN_TRY(cairn_option_set(option, value, origin, settings, err));
    }
    return 0;
}

/* The environment's name of an option: CAIRN_ONLY_MY_CODE. */
static void env_name(const struct cairn_option *option, char *text, size_t size_bytes)
{
    snprintf(text, size_bytes, "CAIRN_%s", option->name);
    for (char *p = text; *p != '\0'; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

static int read_env(struct cairn_settings *settings, struct cairn_err *err)
{
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];
        const char *value;
        char name[64];

        if (!(option->sources & CAIRN_FROM_ENV))
            continue;
        env_name(option, name, sizeof(name));
        value = getenv(name);
        /* Empty means the same as not there, as with NO_COLOR. */
        if (value != NULL && value[0] != '\0')
            CAIRN_TRY(cairn_option_set(option, value, name, settings, err));
    }
    return 0;
}

/* Opens the nearest pyproject.toml; -ENOENT when there is none. */
static int open_project(char *path, size_t size_bytes)
{
    size_t used = 0;
    int fd = -ENOENT;

    /* By "../", not by name: the name of a folder may be longer than any buffer. */
    for (unsigned up = 0; up < FOLDERS_MAX && used + 32 < size_bytes; up++) {
        snprintf(path + used, size_bytes - used, "%s", PROJECT_FILE);
        fd = cairn_io_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd != -ENOENT)
            break;
        snprintf(path + used, size_bytes - used, "../");
        used += 3;
    }
    return fd;
}

static int read_project(struct cairn_settings *settings, struct cairn_buf *text,
                        struct cairn_err *err)
{
    char path[FOLDERS_MAX * 3 + 32];
    int fd = open_project(path, sizeof(path));
    ssize_t size_bytes;

    /* A folder above that may not be entered, or a file that is not ours to read, is no concern
     * of a profiler: there is no configuration then. */
    if (fd < 0)
        return 0;
    if (cairn_buf_reserve(text, PROJECT_MAX_BYTES + 1) < 0) {
        cairn_io_close(&fd);
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "config", "%s cannot be read", path);
    }
    size_bytes = cairn_io_read(fd, text->data, PROJECT_MAX_BYTES);
    cairn_io_close(&fd);
    if (size_bytes < 0)
        return 0;
    if (size_bytes == PROJECT_MAX_BYTES)
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "config", "%s is larger than 1 MiB", path);
    text->data[size_bytes] = '\0';
    return cairn_config_text((char *)text->data, path, settings, err);
}

int cairn_config_read(struct cairn_settings *settings, struct cairn_buf *text,
                      struct cairn_err *err)
{
    cairn_buf_init(text, PROJECT_MAX_BYTES + 1);
    CAIRN_TRY(read_project(settings, text, err));
    cairn_settings_outrank(settings);
    CAIRN_TRY(read_env(settings, err));
    cairn_settings_outrank(settings);
    return 0;
}

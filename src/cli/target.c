#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "escape.h"
#include "findexec.h"
#include "io.h"
#include "nearest.h"
#include "text.h"

#define SHOWN_MAX_BYTES (1 << 20)
#define SHEBANG_MAX_BYTES 512

enum shape { /* of a word */
             SHAPE_OTHER,
             SHAPE_SCRIPT,     /* .py, .pyz, or a folder with __main__.py: a Python is to run it */
             SHAPE_ENV,        /* first line: env NAME, so a Python from PATH is to run it */
             SHAPE_EXECUTABLE, /* first line: a Python by its path, which the kernel finds by itself
                                */
};

static bool ends_with(const char *text, const char *end)
{
    size_t size_bytes = strlen(text), end_bytes = strlen(end);

    return size_bytes > end_bytes && strcmp(text + size_bytes - end_bytes, end) == 0;
}

static bool has_main(const char *folder)
{
    int fd = cairn_io_open(folder, O_PATH | O_DIRECTORY, 0);
    bool found = fd >= 0 && faccessat(fd, "__main__.py", F_OK, 0) == 0;

    cairn_io_close(&fd);
    return found;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* python, python3, python3.12 */
static bool names_python(const char *word)
{
    const char *name = base_name(word);

    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.t")] == '\0';
}

/* What the first line of a file says. `name` gets the word behind env, of at most `size_bytes`. */
static enum shape read_shebang(const char *path, char *name, size_t size_bytes)
{
    char line[SHEBANG_MAX_BYTES], *word, *left = NULL;
    int fd = cairn_io_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    ssize_t got = fd < 0 ? -1 : cairn_io_read(fd, line, sizeof(line) - 1);
    bool by_env;

    cairn_io_close(&fd);
    if (got < 2 || line[0] != '#' || line[1] != '!')
        return SHAPE_OTHER;
    line[got] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    word = strtok_r(line + 2, " \t", &left);
    if (word == NULL)
        return SHAPE_OTHER;
    by_env = strcmp(base_name(word), "env") == 0;
    if (by_env)
        do /* options, and variables to set */
            word = strtok_r(NULL, " \t", &left);
        while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
    if (word == NULL || !names_python(word) || strlen(word) >= size_bytes)
        return SHAPE_OTHER;
    snprintf(name, size_bytes, "%s", word);
    if (!by_env && access(path, X_OK) == 0 && access(word, X_OK) == 0)
        return SHAPE_EXECUTABLE;
    return SHAPE_ENV;
}

static enum shape shape_of(const char *word, char *name, size_t size_bytes)
{
    struct stat info;

    snprintf(name, size_bytes, "python3");
    if (stat(word, &info) < 0)
        return SHAPE_OTHER;
    if (S_ISDIR(info.st_mode))
        return has_main(word) ? SHAPE_SCRIPT : SHAPE_OTHER;
    if (ends_with(word, ".py") || ends_with(word, ".pyz"))
        return SHAPE_SCRIPT;
    return S_ISREG(info.st_mode) ? read_shebang(word, name, size_bytes) : SHAPE_OTHER;
}

bool cairn_target_is_script(const char *word)
{
    char name[SHEBANG_MAX_BYTES];

    return shape_of(word, name, sizeof(name)) != SHAPE_OTHER;
}

/* Called by its path in a virtual environment, the command means the Python there, as what else pip
 * puts there does. Found in PATH, or by a link that lies there, it may be a tool in a place of its
 * own, which has no modules of the program. 0, -CAIRN_ENOTFOUND or -CAIRN_ENOMEM. */
static int find_beside(struct cairn_buf *ret_path)
{
    const char *slash = strrchr(program_invocation_name, '/');
    int size = slash == NULL ? 0 : (int)(slash - program_invocation_name);

    if (slash == NULL)
        return -CAIRN_ENOTFOUND;
    cairn_buf_clear(ret_path);
    cairn_buf_printf(ret_path, "%.*s/../pyvenv.cfg", size, program_invocation_name);
    if (ret_path->code < 0)
        return -CAIRN_ENOMEM;
    if (access(cairn_buf_cstr(ret_path), F_OK) != 0)
        return -CAIRN_ENOTFOUND;
    cairn_buf_clear(ret_path);
    cairn_buf_printf(ret_path, "%.*s/python3", size, program_invocation_name);
    if (ret_path->code < 0)
        return -CAIRN_ENOMEM;
    return access(cairn_buf_cstr(ret_path), X_OK) == 0 ? 0 : -CAIRN_ENOTFOUND;
}

/* Finds the Python that is to run something: --python, the venv's, else `name` from PATH. */
static int find_python(const char *python, const char *name, struct cairn_buf *ret_path,
                       struct cairn_err *err)
{
    const char *venv = getenv("VIRTUAL_ENV");
    int code;

    if (python != NULL)
        return cairn_findexec(python, ret_path, err);
    if (venv != NULL && venv[0] != '\0' && strncmp(name, "python3.", 8) != 0) {
        cairn_buf_clear(ret_path);
        cairn_buf_printf(ret_path, "%s/bin/python3", venv);
        if (ret_path->code < 0)
            return -CAIRN_ENOMEM;
        if (access(cairn_buf_cstr(ret_path), X_OK) == 0)
            return 0;
    }
    if (strncmp(name, "python3.", 8) != 0) {
        code = find_beside(ret_path);
        if (code != -CAIRN_ENOTFOUND)
            return code;
    }
    if (strcmp(name, "python3") != 0) {
        code = cairn_findexec(name, ret_path, NULL);
        if (code == 0 || code == -CAIRN_ENOMEM)
            return code;
    }
    code = cairn_findexec("python3", ret_path, err);
    if (code < 0)
        cairn_err_add(err, "Name a Python with --python PATH.");
    return code;
}

int cairn_target_python(const char *python, struct cairn_buf *ret_path, struct cairn_err *err)
{
    return find_python(python, "python3", ret_path, err);
}

/* script.py -> script, folder/ -> folder, -m module -> module, -c -> code. */
static void set_name(struct cairn_target *target, const struct cairn_words *words)
{
    const char *word = words->items[0], *start, *end;

    if (word[0] == '-' && word[1] == 'c') {
        cairn_buf_add_str(&target->name, "code");
        return;
    }
    if (word[0] == '-' && word[1] == 'm')
        word = word[2] != '\0' ? word + 2 : words->items[1];
    end = word + strlen(word);
    while (end > word + 1 && end[-1] == '/')
        end--;
    for (start = end; start > word && start[-1] != '/';)
        start--;
    if (ends_with(start, ".py"))
        end -= 3;
    else if (ends_with(start, ".pyz"))
        end -= 4;
    cairn_buf_add(&target->name, start, (size_t)(end - start));
}

/* argv: target->program when `first`, then the words from `skip` on. */
static int set_argv(struct cairn_target *target, const struct cairn_words *words, bool first,
                    size_t skip)
{
    size_t used = 0;

    target->argv = cairn_calloc(words->count + 2, sizeof(*target->argv));
    if (target->argv == NULL)
        return -CAIRN_ENOMEM;
    if (first)
        target->argv[used++] = (char *)cairn_buf_cstr(&target->program);
    for (size_t i = skip; i < words->count; i++)
        target->argv[used++] = words->items[i];
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            cairn_buf_u8(&target->shown, ' ');
        cairn_text_shell_word(&target->shown, cairn_span_of(words->items[i]));
    }
    set_name(target, words);
    /* What is too long to be shown is cut: the program is run all the same. */
    return target->name.code == -CAIRN_ENOMEM    ? target->name.code
           : target->shown.code == -CAIRN_ENOMEM ? target->shown.code
                                                 : 0;
}

static int refuse_words(const struct cairn_words *words, struct cairn_err *err)
{
    if (words->count == 0)
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "run", "`cairn run` needs a program to run");
    else
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "run", "%s needs %s behind it", words->items[0],
                      words->items[0][1] == 'm' ? "a module" : "code");
    cairn_err_add(err, "For instance: cairn run script.py");
    return -CAIRN_EUSAGE;
}

static int resolve_file(struct cairn_target *target, const struct cairn_words *words,
                        const char *python, struct cairn_err *err)
{
    const char *word = words->items[0];
    char name[SHEBANG_MAX_BYTES];
    enum shape shape = shape_of(word, name, sizeof(name));
    int code;

    if (shape == SHAPE_OTHER) {
        code = cairn_findexec(word, &target->program, err);
        if (code < 0) {
            cairn_target_hint(word, err);
            return code;
        }
        return set_argv(target, words, false, 0);
    }
    if (shape == SHAPE_EXECUTABLE && python == NULL) {
        /* execvp() would look for a bare name in PATH. */
        cairn_buf_printf(&target->program, "%s%s", strchr(word, '/') == NULL ? "./" : "", word);
        if (target->program.code < 0)
            return -CAIRN_ENOMEM;
        return set_argv(target, words, true, 1);
    }
    CAIRN_TRY(find_python(python, name, &target->program, err));
    return set_argv(target, words, true, 0);
}

static int resolve(const struct cairn_words *words, const char *python, struct cairn_target *target,
                   struct cairn_err *err)
{
    const char *word = words->count > 0 ? words->items[0] : "";
    bool is_module = word[0] == '-' && word[1] == 'm', is_code = word[0] == '-' && word[1] == 'c';
    int code;

    if (words->count == 0 || ((is_module || is_code) && word[2] == '\0' && words->count == 1))
        return refuse_words(words, err);
    if (!is_module && !is_code)
        return resolve_file(target, words, python, err);
    code = find_python(python, "python3", &target->program, err);
    return code < 0 ? code : set_argv(target, words, true, 0);
}

int cairn_target_resolve(const struct cairn_words *words, const char *python,
                         struct cairn_target *ret_target, struct cairn_err *err)
{
    int code;

    *ret_target = (struct cairn_target){.argv = NULL};
    cairn_buf_init(&ret_target->name, SHOWN_MAX_BYTES);
    cairn_buf_init(&ret_target->program, SHOWN_MAX_BYTES);
    cairn_buf_init(&ret_target->shown, SHOWN_MAX_BYTES);
    code = resolve(words, python, ret_target, err);
    if (code == -CAIRN_ENOMEM)
        cairn_err_set(err, code, 0, "run", "there is no memory to start the program");
    return code;
}

void cairn_target_release(struct cairn_target *target)
{
    if (target == NULL)
        return;
    free(target->argv);
    cairn_buf_release(&target->name);
    cairn_buf_release(&target->program);
    cairn_buf_release(&target->shown);
    target->argv = NULL;
}

void cairn_target_hint(const char *word, struct cairn_err *err)
{
    char folder[4096] = ".";
    const char *base = base_name(word);
    size_t folder_bytes = (size_t)(base - word);
    struct cairn_nearest nearest;
    struct dirent *entry;
    DIR *dir;

    if (folder_bytes >= sizeof(folder) || base[0] == '\0')
        return;
    if (folder_bytes > 0) {
        memcpy(folder, word, folder_bytes);
        folder[folder_bytes] = '\0';
    }
    dir = opendir(folder);
    if (dir == NULL)
        return;
    cairn_nearest_init(&nearest, base);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, base) != 0)
            cairn_nearest_try(&nearest, entry->d_name);
    closedir(dir);
    if (cairn_nearest_best(&nearest) != NULL)
        cairn_err_add(err, "Did you mean %.*s%s?", (int)folder_bytes, word,
                      cairn_nearest_best(&nearest));
}

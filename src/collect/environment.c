#include "environment.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "err.h"
#include "io.h"
#include "procfs.h"

#define FILE_MAX (8u << 20)

/* Variables that change how fast a Python program runs, and tell nothing about who runs it. */
static const char *const kept_variables[] = {
    "PYTHONHASHSEED",
    "PYTHONOPTIMIZE",
    "PYTHONUNBUFFERED",
    "PYTHONMALLOC",
    "PYTHONDEVMODE",
    "PYTHON_GIL",
    "PYTHON_JIT",
    "PYTHONPROFILEIMPORTTIME",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "MALLOC_ARENA_MAX",
    "LANG",
    "LC_ALL",
};

/* Import name, and the names its distribution goes by. */
static const struct {
    const char *folder;
    const char *distributions[3];
} libraries[] = {
    {"numpy", {"numpy", NULL}},
    {"torch", {"torch", NULL}},
    {"tensorflow", {"tensorflow", "tensorflow_cpu", NULL}},
    {"cv2", {"opencv_python", "opencv_python_headless", "opencv_contrib_python"}},
    {"numba", {"numba", NULL}},
    {"Cython", {"Cython", "cython", NULL}},
};

static int add(struct cairn_writer *writer, const char *key, const char *value, size_t length)
{
    while (length && isspace((unsigned char)value[length - 1]))
        length--;
    if (!length)
        return 0;
    return cairn_writer_env(writer, key, (struct cairn_span){(const uint8_t *)value, length});
}

static int add_number(struct cairn_writer *writer, const char *key, uint64_t value)
{
    char text[32];

    return add(writer, key, text,
               (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)value));
}

/* Reads a file whole; NULL when it cannot be read. Borrows `buf`. */
static const char *slurp(struct cairn_buf *buf, const char *path)
{
    cairn_buf_clear(buf);
    if (cairn_io_read_file(AT_FDCWD, path, buf) < 0)
        return NULL;
    return cairn_buf_cstr(buf);
}

/* The text behind `name` and any of " \t:=\"" up to the end of the line or the closing quote. */
static int add_field(struct cairn_writer *writer, const char *key, const char *text,
                     const char *name)
{
    const char *at = text ? strstr(text, name) : NULL;

    if (!at)
        return 0;
    at += strlen(name);
    at += strspn(at, " \t:=\"");
    return add(writer, key, at, strcspn(at, "\"\n"));
}

static int add_file(struct cairn_writer *writer, struct cairn_buf *buf, const char *key,
                    const char *path)
{
    const char *text = slurp(buf, path);

    return text ? add(writer, key, text, strcspn(text, "\n")) : 0;
}

/* "QUOTA PERIOD" of the control group, in thousandths of a processor; 0: no limit. */
static unsigned cgroup_cores_milli(void)
{
    struct cairn_buf buf;
    const char *text;
    long long quota, period;
    unsigned milli = 0;

    cairn_buf_init(&buf, 4096);
    text = slurp(&buf, "/sys/fs/cgroup/cpu.max");
    if (text && sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
        milli = (unsigned)(quota * 1000 / period);
    cairn_buf_release(&buf);
    return milli;
}

unsigned cairn_environment_cores_milli(void)
{
    cpu_set_t set;
    unsigned milli = 1000, quota = cgroup_cores_milli();

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        milli = (unsigned)CPU_COUNT(&set) * 1000;
    else if (sysconf(_SC_NPROCESSORS_ONLN) > 0)
        milli = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    if (quota && quota < milli)
        milli = quota;
    return milli ? milli : 1;
}

static int add_host(struct cairn_writer *writer, struct cairn_buf *buf)
{
    struct utsname names;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    char cores[32];
    unsigned milli = cairn_environment_cores_milli();

    if (uname(&names) == 0) {
        CAIRN_TRY(add(writer, "host.kernel", names.release, strlen(names.release)));
        CAIRN_TRY(add(writer, "host.arch", names.machine, strlen(names.machine)));
    }
    CAIRN_TRY(add_field(writer, "host.cpu", slurp(buf, "/proc/cpuinfo"), "model name"));
    CAIRN_TRY(add_field(writer, "host.os", slurp(buf, "/etc/os-release"), "PRETTY_NAME"));
    CAIRN_TRY(add_number(writer, "host.cores", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)));
    snprintf(cores, sizeof(cores), "%u.%03u", milli / 1000, milli % 1000);
    CAIRN_TRY(add(writer, "host.cores_usable", cores, strlen(cores)));
    if (pages > 0 && page_bytes > 0)
        CAIRN_TRY(add_number(writer, "host.memory_bytes", (uint64_t)pages * (uint64_t)page_bytes));
    CAIRN_TRY(add_file(writer, buf, "host.cgroup_memory_max", "/sys/fs/cgroup/memory.max"));
    CAIRN_TRY(add_file(writer, buf, "host.cgroup_cpu_max", "/sys/fs/cgroup/cpu.max"));
    CAIRN_TRY(
        add_file(writer, buf, "host.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"));
    CAIRN_TRY(add_file(writer, buf, "host.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope"));
    return add_file(writer, buf, "host.clocksource",
                    "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

int cairn_environment_host(struct cairn_writer *writer)
{
    struct cairn_buf buf;
    int code;

    cairn_buf_init(&buf, FILE_MAX);
    code = add_host(writer, &buf);
    cairn_buf_release(&buf);
    return code;
}

static int add_variables(struct cairn_writer *writer, const char *variables, size_t size)
{
    const char *end = variables + size;

    for (const char *at = variables; at < end; at += strlen(at) + 1) {
        const char *equals = strchr(at, '=');

        for (size_t i = 0; equals && i < sizeof(kept_variables) / sizeof(*kept_variables); i++) {
            char key[64];

            if (strlen(kept_variables[i]) != (size_t)(equals - at) ||
                strncmp(at, kept_variables[i], (size_t)(equals - at)))
                continue;
            snprintf(key, sizeof(key), "target.env.%s", kept_variables[i]);
            CAIRN_TRY(add(writer, key, equals + 1, strlen(equals + 1)));
        }
    }
    return 0;
}

/* Looks in `folder` (where the library's own folder lies) for NAME-VERSION.dist-info. */
static int add_version(struct cairn_writer *writer, const char *folder, size_t library)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);
    int code = 0;

    while (dir && code == 0 && (entry = readdir(dir))) {
        const char *suffix = strstr(entry->d_name, ".dist-info");
        const char *dash = strchr(entry->d_name, '-');

        for (size_t i = 0; suffix && dash && dash < suffix && i < 3; i++) {
            const char *name = libraries[library].distributions[i];
            char key[64];

            if (!name)
                break;
            if (strlen(name) != (size_t)(dash - entry->d_name) ||
                strncasecmp(entry->d_name, name, strlen(name)))
                continue;
            snprintf(key, sizeof(key), "target.library.%s", libraries[library].folder);
            code = add(writer, key, dash + 1, (size_t)(suffix - dash - 1));
        }
    }
    if (dir)
        closedir(dir);
    return code;
}

/* A library is loaded when one of its extension modules is mapped. */
static int add_libraries(struct cairn_writer *writer, pid_t pid, const char *maps)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        char needle[64], folder[4200];
        const char *at, *line;

        snprintf(needle, sizeof(needle), "/%s/", libraries[i].folder);
        at = strstr(maps, needle);
        if (!at)
            continue;
        for (line = at; line > maps && line[-1] != '\n'; line--)
            ;
        line += strcspn(line, "/\n");
        if (line > at || at - line > 4096)
            continue;
        snprintf(folder, sizeof(folder), "/proc/%d/root%.*s", (int)pid, (int)(at - line), line);
        CAIRN_TRY(add_version(writer, folder, i));
    }
    return 0;
}

/* How the Python was configured stands beside its library: _sysconfigdata_*.py, a dict with one
 * entry that may go over several lines, each a piece of it in quotes of either kind. */
static int add_configuration(struct cairn_writer *writer, const char *text)
{
    static const char name[] = "'CONFIG_ARGS':", blanks[] = " \n";
    const char *at = strstr(text, name);
    struct cairn_buf value;
    int code = 0;

    if (!at)
        return 0;
    at += sizeof(name) - 1;
    cairn_buf_init(&value, CAIRN_STRING_MAX_BYTES);
    at += strspn(at, blanks);
    while (code == 0 && (*at == '"' || *at == '\'')) {
        char quote = *at++;

        for (; *at && *at != quote && code == 0; at++) {
            at += *at == '\\' && at[1];
            code = cairn_buf_u8(&value, (uint8_t)*at);
        }
        at += *at == quote;
        at += strspn(at, blanks);
    }
    code = add(writer, "target.python_build", (const char *)value.data, value.size_bytes);
    cairn_buf_release(&value);
    return code;
}

/* The folder of the standard library, seen from here: where its extension modules are mapped from,
 * or, when none is, beside the program: BIN/../lib/pythonX.Y. False: neither. */
static bool library_folder(pid_t pid, const char *maps, const char *exe, char *ret, size_t size)
{
    const char *at = strstr(maps, "/lib-dynload/"), *line = at, *name = strrchr(exe, '/');

    while (line && line > maps && line[-1] != '\n')
        line--;
    if (line)
        line += strcspn(line, "/\n");
    if (line && line < at && at - line < 4096) {
        snprintf(ret, size, "/proc/%d/root%.*s", (int)pid, (int)(at - line), line);
        return true;
    }
    if (!name || strncmp(name, "/python3.", 9) != 0)
        return false;
    snprintf(ret, size, "/proc/%d/root%.*s/../lib/%.16s", (int)pid, (int)(name - exe), exe,
             name + 1);
    return true;
}

static int add_build(struct cairn_writer *writer, const char *folder, struct cairn_buf *buf)
{
    char path[4800] = "";
    struct dirent *entry;
    DIR *dir = opendir(folder);

    while (dir && !*path && (entry = readdir(dir)))
        if (!strncmp(entry->d_name, "_sysconfigdata_", 15) && strstr(entry->d_name, ".py"))
            snprintf(path, sizeof(path), "%s/%.255s", folder, entry->d_name);
    if (dir)
        closedir(dir);
    return *path && slurp(buf, path) ? add_configuration(writer, cairn_buf_cstr(buf)) : 0;
}

static int add_target(struct cairn_writer *writer, pid_t pid, struct cairn_buf *buf)
{
    char path[64], exe[4096] = "", folder[4500];
    const char *text;

    cairn_buf_clear(buf);
    if (cairn_proc_exe(pid, buf) == 0) {
        snprintf(exe, sizeof(exe), "%s", cairn_buf_cstr(buf));
        CAIRN_TRY(add(writer, "target.exe", exe, strlen(exe)));
    }
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if ((text = slurp(buf, path)))
        CAIRN_TRY(add_variables(writer, text, buf->size_bytes));
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    text = slurp(buf, path);
    if (!text)
        return 0;
    CAIRN_TRY(
        add(writer, "target.python_linked", strstr(text, "/libpython3.") ? "shared" : "static", 6));
    CAIRN_TRY(add_libraries(writer, pid, text));
    if (!library_folder(pid, text, exe, folder, sizeof(folder)))
        return 0;
    return add_build(writer, folder, buf); /* last: it reuses the buffer */
}

int cairn_environment_target(struct cairn_writer *writer, pid_t pid)
{
    struct cairn_buf buf;
    int code;

    cairn_buf_init(&buf, FILE_MAX);
    code = add_target(writer, pid, &buf);
    cairn_buf_release(&buf);
    return code;
}

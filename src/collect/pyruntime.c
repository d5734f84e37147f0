#include "pyruntime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "elffile.h"
#include "err.h"
#include "io.h"
#include "maps.h"
#include "pyframe.h"
#include "pyverify.h"
#include "vec.h"

#define LINK_TRIES 4
#define INTERPS_MAX 4096
#define MAPS_MAX_BYTES ((size_t)64 << 20)
#define WINDOW_BYTES ((size_t)256 << 10)
#define HEAD_BYTES 64 /* of a file and its mapping, to see that they are the same */
#define LONG_READ_BYTES 4096
/* What one search may cost: bytes read from files, and each time something is asked for. The
 * interpreters of today take 15 MB; what a file that was made to keep us busy gets, a second or
 * two.
 */
#define WORK_MAX_BYTES ((uint64_t)4 << 30)
#define ASK_BYTES 256

/* A file read through one window, since symbol names are many and short. */
struct source {
    int fd;
    uint8_t *window;
    uint64_t start;
    size_t filled;
    bool failed;         /* a read of this file did: what was found in it may not be all */
    uint64_t left_bytes; /* of WORK_MAX_BYTES: for this file, half of what the others left */
    uint64_t rest_bytes; /* for the files behind it */
};

static bool spend(struct source *src, uint64_t bytes)
{
    if (bytes > src->left_bytes)
        return false;
    src->left_bytes -= bytes;
    return true;
}

static int read_failed(struct source *src)
{
    src->failed = true;
    return -CAIRN_EIO;
}

static int source_read(void *ctx, uint64_t offset, void *data, size_t size_bytes)
{
    struct source *src = ctx;
    ssize_t got;

    if (offset > INT64_MAX || size_bytes > WINDOW_BYTES)
        return -CAIRN_ESHORT;
    if (!spend(src, ASK_BYTES))
        return -CAIRN_ELIMIT;
    if (size_bytes >= LONG_READ_BYTES) {
        if (!spend(src, size_bytes))
            return -CAIRN_ELIMIT;
        got = cairn_io_pread(src->fd, data, size_bytes, offset);
        if (got < 0)
            return read_failed(src);
        return (size_t)got == size_bytes ? 0 : -CAIRN_ESHORT;
    }
    if (offset < src->start || offset - src->start + size_bytes > src->filled) {
        if (!spend(src, WINDOW_BYTES))
            return -CAIRN_ELIMIT;
        got = cairn_io_pread(src->fd, src->window, WINDOW_BYTES, offset);
        src->start = offset;
        src->filled = got < 0 ? 0 : (size_t)got;
        if (got < 0)
            return read_failed(src);
    }
    if (size_bytes > src->filled - (size_t)(offset - src->start))
        return -CAIRN_ESHORT;
    memcpy(data, src->window + (offset - src->start), size_bytes);
    return 0;
}

/* Whether the file is what stands mapped at `range`: by its first bytes, since device and inode
 * of a file differ from its mapping's on overlay and copy-on-write file systems. */
static bool is_mapped(int fd, struct cairn_remote *remote, const struct cairn_map_range *range)
{
    uint8_t here[HEAD_BYTES], there[HEAD_BYTES];

    return cairn_io_pread(fd, here, sizeof(here), range->offset) == HEAD_BYTES &&
           cairn_remote_get(remote, range->start, there, sizeof(there)) == 0 &&
           memcmp(here, there, sizeof(here)) == 0;
}

/* The path may be the target's own (another root or mount namespace) or carry the prefix of a
 * chroot; a deleted file is reached through map_files, or exe, alone. */
static int open_mapped(pid_t pid, struct cairn_remote *remote, const struct cairn_map_range *range)
{
    char paths[4][4096 + 64];

    snprintf(paths[0], sizeof(paths[0]), "/proc/%d/map_files/%llx-%llx", (int)pid,
             (unsigned long long)range->start, (unsigned long long)range->end);
    snprintf(paths[1], sizeof(paths[1]), "/proc/%d/root%.*s", (int)pid,
             range->path.size_bytes > 4096 ? 0 : (int)range->path.size_bytes,
             (const char *)range->path.data);
    snprintf(paths[2], sizeof(paths[2]), "%.*s",
             range->path.size_bytes > 4096 ? 0 : (int)range->path.size_bytes,
             (const char *)range->path.data);
    snprintf(paths[3], sizeof(paths[3]), "/proc/%d/exe", (int)pid);
    for (size_t i = 0; i < 4; i++) {
        /* O_NONBLOCK: what now stands at the path may be a pipe. */
        int fd = cairn_io_open(paths[i], O_RDONLY | O_NONBLOCK, 0);

        if (fd < 0)
            continue;
        if (is_mapped(fd, remote, range))
            return fd;
        cairn_io_close(&fd);
    }
    return -CAIRN_ENOTFOUND;
}

static int misfit(const struct cairn_pyruntime *runtime, const char *what, struct cairn_err *err)
{
    char version[32];

    cairn_pylayout_version_text(runtime->hexversion, version);
    return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "runtime",
                         "Python %s has a layout other than the one known, of %s (a debug build?)",
                         version, what);
}

/* The pointer at `address`. -CAIRN_EUNSUPPORTED: none can stand there; -CAIRN_EGONE and
 * -CAIRN_EPERM say nothing about that. */
static int follow(struct cairn_remote *remote, uint64_t address, uint64_t *ret_pointer)
{
    int code =
        address % 8 != 0 ? -CAIRN_EUNSUPPORTED : cairn_remote_get(remote, address, ret_pointer, 8);

    return code == 0 || code == -CAIRN_EGONE || code == -CAIRN_EPERM ? code : -CAIRN_EUNSUPPORTED;
}

/* From the runtime to a thread and back, and to the code that it runs where that is to be judged.
 * An interpreter that nobody is in may have no thread (3.13 on), or one that runs nothing.
 * -CAIRN_EUNSUPPORTED: `ret_what` does not fit. */
static int walk_links(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                      const char **ret_what, struct cairn_err *err)
{
    const struct cairn_pylayout *l = &runtime->layout;
    const char *lacking = "is not initialised";
    uint64_t interp, thread, back;

    CAIRN_TRY(cairn_remote_get(remote, runtime->address + l->runtime_interpreters_head, &interp,
                               sizeof(interp)));
    for (size_t i = 0; interp && i < INTERPS_MAX; i++) {
        *ret_what = "its runtime";
        CAIRN_TRY(follow(remote, interp + l->interp_threads_head, &thread));
        lacking = "runs no thread";
        if (thread) {
            int code = 0;

            *ret_what = "its threads";
            CAIRN_TRY(follow(remote, thread + l->thread_interp, &back));
            if (back != interp)
                return -CAIRN_EUNSUPPORTED;
            if (!runtime->told)
                code = cairn_pyverify(remote, runtime, thread, ret_what);
            if (code != -CAIRN_ENOTFOUND)
                return code;
            lacking = "runs no code";
        }
        *ret_what = "its runtime";
        CAIRN_TRY(follow(remote, interp + l->interp_next, &interp));
    }
    return cairn_err_set(err, -CAIRN_EUNREADABLE, 0, "runtime", "Python %s there (yet)", lacking);
}

static int check_links(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                       struct cairn_err *err)
{
    const char *what;
    int code = -CAIRN_EUNSUPPORTED;

    /* A thread may end between two reads. */
    for (int i = 0; i < LINK_TRIES && code == -CAIRN_EUNSUPPORTED; i++)
        code = walk_links(remote, runtime, &what, err);
    return code == -CAIRN_EUNSUPPORTED ? misfit(runtime, what, err) : code;
}

/* The runtime may be smaller than what is read of a newer one. */
static int read_head(struct cairn_remote *remote, uint64_t address, uint8_t *head,
                     size_t *ret_bytes)
{
    int code = cairn_remote_get(remote, address, head, CAIRN_PYLAYOUT_TOLD_BYTES);

    *ret_bytes = CAIRN_PYLAYOUT_TOLD_BYTES;
    if (code == -CAIRN_ESHORT) {
        *ret_bytes = 512;
        code = cairn_remote_get(remote, address, head, *ret_bytes);
    }
    return code;
}

int cairn_pyruntime_check_table(struct cairn_remote *remote, uint64_t address, uint32_t hexversion,
                                const struct cairn_pytable *table, struct cairn_pyruntime *ret,
                                struct cairn_err *err)
{
    struct cairn_pyruntime runtime = {.address = address, .hexversion = hexversion, .table = table};
    uint8_t head[CAIRN_PYLAYOUT_TOLD_BYTES];
    struct cairn_span told = {head, 0};

    runtime.told = table->told != NULL;
    if (runtime.told) {
        CAIRN_TRY(read_head(remote, address, head, &told.size_bytes));
        CAIRN_TRY(cairn_pylayout_told(told, hexversion, table, &runtime.layout, err));
    } else {
        CAIRN_TRY(cairn_pylayout_from_table(table, &runtime.layout, err));
    }
    CAIRN_TRY(check_links(remote, &runtime, err));
    *ret = runtime;
    return 0;
}

int cairn_pyruntime_check(struct cairn_remote *remote, uint64_t address, uint32_t hexversion,
                          struct cairn_pyruntime *ret, struct cairn_err *err)
{
    struct cairn_pyruntime runtime = {.address = address, .hexversion = hexversion, .told = true};
    uint8_t head[CAIRN_PYLAYOUT_TOLD_BYTES];
    size_t head_bytes;
    int code;

    CAIRN_TRY(read_head(remote, address, head, &head_bytes));
    code = cairn_pylayout_from_target((struct cairn_span){head, head_bytes}, &runtime.hexversion,
                                      &runtime.table, &runtime.layout, err);
    if (code == -CAIRN_ENOTPYTHON) {
        const struct cairn_pytable *table =
            hexversion >> 24 == 3 ? cairn_pytable_find(hexversion >> 16 & 0xff) : NULL;
        char version[32];

        if (!hexversion)
            return code;
        cairn_pylayout_version_text(hexversion, version);
        if (!table || table->told)
            return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "runtime",
                                 "Python %s is not one this Cairn knows", version);
        return cairn_pyruntime_check_table(remote, address, hexversion, table, ret, err);
    }
    CAIRN_TRY(code);
    CAIRN_TRY(check_links(remote, &runtime, err));
    *ret = runtime;
    return 0;
}

/* What there is of CPython in a file, which may be none at all. */
static void look_into(struct cairn_elffile *file, const struct cairn_map_range *range,
                      struct cairn_pyfile *ret)
{
    struct cairn_elfsymbol symbols[] = {
        {"_PyRuntime", 0, 0}, {"Py_Version", 0, 0}, {"Py_InitializeEx", 0, 0}};
    uint64_t offset, size_bytes;

    *ret = (struct cairn_pyfile){0};
    if (cairn_elffile_open(file) < 0 ||
        cairn_elffile_page_address(file, range->offset, (uint64_t)sysconf(_SC_PAGESIZE),
                                   &ret->base) < 0)
        return;
    cairn_elffile_symbols(file, symbols, sizeof(symbols) / sizeof(symbols[0]));
    if (cairn_elffile_section(file, ".PyRuntime", &ret->runtime, &offset, &size_bytes) < 0)
        ret->runtime = symbols[0].address;
    ret->hexversion = symbols[1].address;
    ret->initialize = symbols[2].address;
    if (!ret->hexversion && (ret->runtime || ret->initialize))
        cairn_pyversions_find(file, ret->versions);
}

int cairn_pyruntime_check_site(struct cairn_remote *remote, const struct cairn_pysite *site,
                               struct cairn_pyruntime *ret, struct cairn_err *err)
{
    struct cairn_err here = {0};
    int best = 0, code;

    for (size_t i = 0; i == 0 || (i < CAIRN_PYVERSIONS_MAX && site->versions[i]); i++) {
        code = cairn_pyruntime_check(remote, site->address, site->versions[i], ret, &here);
        if (code == 0)
            return 0;
        /* One that may yet start there says more than one that does not fit. */
        if (best == 0 || (code == -CAIRN_EUNREADABLE && best != code)) {
            best = code;
            if (err)
                *err = here;
        }
    }
    return best;
}

/* Where the file says that a runtime stands in this process; address 0: nowhere. */
static int find_site(const struct cairn_pyfile *found, struct cairn_remote *remote,
                     const struct cairn_map_range *range, struct cairn_pysite *ret)
{
    uint64_t bias = range->start - found->base, hexversion;

    *ret = (struct cairn_pysite){.address = found->runtime ? bias + found->runtime : 0};
    memcpy(ret->versions, found->versions, sizeof(ret->versions));
    if (!found->hexversion)
        return 0;
    CAIRN_TRY(cairn_remote_get(remote, bias + found->hexversion, &hexversion, sizeof(hexversion)));
    ret->versions[0] = (uint32_t)hexversion;
    return 0;
}

/* Judges what stands there. -CAIRN_ENOTPYTHON: there is no runtime, or it is of a Python that is
 * too old to tell its layout. */
static int judge(const struct cairn_pyfile *found, struct cairn_remote *remote,
                 const struct cairn_map_range *range, struct cairn_pysite *ret_site,
                 struct cairn_pyruntime *ret, struct cairn_err *err)
{
    CAIRN_TRY(find_site(found, remote, range, ret_site));
    if (!ret_site->address)
        return -CAIRN_ENOTPYTHON;
    return cairn_pyruntime_check_site(remote, ret_site, ret, err);
}

/* Looks for a runtime in one file. -CAIRN_ENOTPYTHON: there is none in it; -CAIRN_ENOTFOUND: it
 * cannot be opened, or not be read whole, now. */
static int look_at(pid_t pid, struct cairn_remote *remote, struct cairn_pyfiles *files,
                   const struct cairn_map_range *range, struct source *src,
                   struct cairn_pysite *ret_site, struct cairn_pyruntime *ret,
                   struct cairn_err *err)
{
    struct cairn_elffile file = {.read = source_read, .ctx = src};
    struct cairn_pyfile found;
    char version[32] = "before 3.8";
    int code;

    if (files && cairn_pyfiles_get(files, range, &found)) {
        code = judge(&found, remote, range, ret_site, ret, err);
        if (code != -CAIRN_ENOTPYTHON || (!found.runtime && !found.initialize))
            return code;
    }
    src->fd = open_mapped(pid, remote, range);
    src->filled = 0;
    src->failed = false;
    if (src->fd < 0)
        return -CAIRN_ENOTFOUND;
    src->left_bytes = src->rest_bytes / 2;
    src->rest_bytes -= src->left_bytes;
    look_into(&file, range, &found);
    src->rest_bytes += src->left_bytes;
    if (files && !src->failed)
        cairn_pyfiles_put(files, range, &found);
    code = judge(&found, remote, range, ret_site, ret, err);
    if (code < 0 && src->failed) {
        code = -CAIRN_ENOTFOUND;
    } else if (code == -CAIRN_ENOTPYTHON && (found.runtime || found.initialize)) {
        if (found.versions[0])
            cairn_pylayout_version_text(found.versions[0], version);
        code = cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "runtime",
                             "Python %s is not one this Cairn knows", version);
    }
    cairn_io_close(&src->fd);
    return code;
}

/* The first mapping of each file that is also mapped for writing somewhere: data lives there. */
struct candidates {
    CAIRN_VEC(struct cairn_map_range) files;
};

static bool same_file(const struct cairn_map_range *a, const struct cairn_map_range *b)
{
    return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
           a->path.size_bytes == b->path.size_bytes &&
           memcmp(a->path.data, b->path.data, a->path.size_bytes) == 0;
}

static int collect(struct cairn_span text, struct candidates *ret)
{
    struct cairn_cursor cur;
    struct cairn_map_range range;
    int code;

    cairn_cursor_init(&cur, text);
    while ((code = cairn_maps_next(&cur, &range)) != -CAIRN_EEND) {
        struct cairn_map_range *last = NULL;

        if (code < 0 || !range.inode || !range.path.size_bytes)
            continue;
        if (ret->files.count)
            last = &ret->files.items[ret->files.count - 1];
        if (last && same_file(last, &range)) {
            last->writable |= range.writable;
            continue;
        }
        CAIRN_TRY(cairn_vec_reserve(&ret->files, ret->files.count + 1, 1 << 16));
        ret->files.items[ret->files.count++] = range;
    }
    return 0;
}

/* Whether a file that is not there any more is called as one that a Python runs from. */
static bool was_python(const struct cairn_map_range *range)
{
    const uint8_t *slash = memrchr(range->path.data, '/', range->path.size_bytes);
    size_t at = slash ? (size_t)(slash + 1 - range->path.data) : 0;

    return range->deleted && (memmem(range->path.data + at, range->path.size_bytes - at,
                                     "libpython", strlen("libpython")) != NULL);
}

/* Looks into all candidates and keeps the answer that says most. */
static int look(pid_t pid, struct cairn_remote *remote, struct cairn_pyfiles *files,
                const struct candidates *candidates, struct source *src,
                struct cairn_pysite *ret_site, struct cairn_pyruntime *ret, struct cairn_err *err)
{
    const struct cairn_map_range *hidden = NULL;
    struct cairn_err why = {0};
    int best = -CAIRN_ENOTPYTHON;

    for (size_t i = 0; i < candidates->files.count; i++) {
        const struct cairn_map_range *range = &candidates->files.items[i];
        struct cairn_err here = {0};
        struct cairn_pysite site;
        int code;

        if (!range->writable)
            continue;
        code = look_at(pid, remote, files, range, src, &site, ret, &here);
        if (code == -CAIRN_ENOTFOUND && was_python(range))
            hidden = range;
        if (code == -CAIRN_ENOTFOUND)
            continue;
        if (code == 0)
            return 0;
        if ((code == -CAIRN_EUNREADABLE || code == -CAIRN_EDAMAGED) && ret_site)
            *ret_site = site;
        /* An initialised runtime of another kind says more than one that nobody uses. */
        if (best == -CAIRN_ENOTPYTHON || (code == -CAIRN_EUNSUPPORTED && best != code) ||
            (code == -CAIRN_EDAMAGED && best == -CAIRN_EUNREADABLE)) {
            best = code;
            why = here;
        }
    }
    if (best == -CAIRN_ENOTPYTHON && hidden)
        return cairn_err_set(err, -CAIRN_EPERM, 0, CAIRN_PYREAD_FILE,
                             "%.*s, which process %d runs, is deleted or replaced: root alone may "
                             "look into it",
                             hidden->path.size_bytes > 1000 ? 0 : (int)hidden->path.size_bytes,
                             (const char *)hidden->path.data, (int)pid);
    if (best == -CAIRN_ENOTPYTHON || !why.code)
        return cairn_err_set(err, best, 0, "runtime", "no Python runtime is mapped in process %d",
                             (int)pid);
    if (err)
        *err = why;
    return best;
}

static int read_maps(pid_t pid, struct cairn_buf *buf, struct cairn_err *err)
{
    char path[64];
    int sys;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    sys = -cairn_io_read_file(AT_FDCWD, path, buf);
    if (!sys)
        return 0;
    if (sys == ENOENT || sys == ESRCH)
        return cairn_err_set(err, -CAIRN_EGONE, 0, "runtime", "there is no process %d", (int)pid);
    return cairn_err_set(err, cairn_err_from_errno(sys), sys, "runtime",
                         "the memory map of process %d cannot be read", (int)pid);
}

/* May we read its memory at all? Asked first: without, every file just looks foreign. */
static int check_access(struct cairn_remote *remote, const struct candidates *candidates, pid_t pid,
                        struct cairn_err *err)
{
    uint8_t byte;
    int code = 0;

    if (candidates->files.count)
        code = cairn_remote_get(remote, candidates->files.items[0].start, &byte, 1);
    if (code == -CAIRN_EPERM)
        return cairn_err_set(err, code, EPERM, "runtime",
                             "the memory of process %d may not be read", (int)pid);
    if (code == -CAIRN_EGONE)
        return cairn_err_set(err, code, 0, "runtime", "process %d is gone", (int)pid);
    return 0;
}

int cairn_pyruntime_find(pid_t pid, struct cairn_remote *remote, struct cairn_pyfiles *files,
                         struct cairn_pysite *ret_site, struct cairn_pyruntime *ret,
                         struct cairn_err *err)
{
    struct candidates candidates = {0};
    struct source src = {
        .fd = -1, .window = cairn_malloc(WINDOW_BYTES), .rest_bytes = WORK_MAX_BYTES};
    struct cairn_buf text;
    int code = src.window ? 0 : -CAIRN_ENOMEM;

    if (ret_site)
        *ret_site = (struct cairn_pysite){0};
    cairn_buf_init(&text, MAPS_MAX_BYTES);
    if (code == 0)
        code = read_maps(pid, &text, err);
    if (code == 0)
        code = collect(cairn_buf_span(&text), &candidates);
    if (code == 0)
        code = check_access(remote, &candidates, pid, err);
    if (code == 0)
        code = look(pid, remote, files, &candidates, &src, ret_site, ret, err);
    cairn_vec_release(&candidates.files);
    cairn_buf_release(&text);
    free(src.window);
    return code;
}

/* The address of a section in the file that is mapped at `range`. */
static int section_in(pid_t pid, struct cairn_remote *remote, const struct cairn_map_range *range,
                      const char *name, struct source *src, uint64_t *ret_address)
{
    struct cairn_elffile file = {.read = source_read, .ctx = src};
    uint64_t base, address, offset, size_bytes;
    int code;

    src->fd = open_mapped(pid, remote, range);
    src->filled = 0;
    if (src->fd < 0)
        return -CAIRN_ENOTFOUND;
    code = cairn_elffile_open(&file);
    if (code == 0)
        code = cairn_elffile_section(&file, name, &address, &offset, &size_bytes);
    if (code == 0)
        code = cairn_elffile_page_address(&file, range->offset, (uint64_t)sysconf(_SC_PAGESIZE),
                                          &base);
    if (code == 0)
        *ret_address = range->start - base + address;
    cairn_io_close(&src->fd);
    return code;
}

int cairn_pyruntime_section(pid_t pid, struct cairn_remote *remote, const char *name,
                            uint64_t *ret_address)
{
    struct candidates candidates = {0};
    struct source src = {
        .fd = -1, .window = cairn_malloc(WINDOW_BYTES), .left_bytes = WORK_MAX_BYTES};
    struct cairn_buf text;
    int code = src.window ? 0 : -CAIRN_ENOMEM;

    cairn_buf_init(&text, MAPS_MAX_BYTES);
    if (code == 0)
        code = read_maps(pid, &text, NULL);
    if (code == 0)
        code = collect(cairn_buf_span(&text), &candidates);
    if (code == 0)
        code = -CAIRN_ENOTFOUND;
    for (size_t i = 0; i < candidates.files.count && code == -CAIRN_ENOTFOUND; i++)
        if (candidates.files.items[i].writable &&
            section_in(pid, remote, &candidates.files.items[i], name, &src, ret_address) == 0)
            code = 0;
    cairn_vec_release(&candidates.files);
    cairn_buf_release(&text);
    free(src.window);
    return code;
}

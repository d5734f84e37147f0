#include "pstats_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "format.h"
#include "io.h"
#include "model.h"
#include "prof_rows.h"
#include "show.h"

#define HEAD_MAX_BYTES ((size_t)1 << 16)

static int refuse(const char *path, int sys, struct cairn_err *err)
{
    return cairn_err_set(err, cairn_err_from_errno(sys), sys, "pstats", "%.300s cannot be read",
                         path);
}

static int look(const char *path, bool *ret_recording, struct stat *ret_info, struct cairn_err *err)
{
    char magic[CAIRN_MAGIC_BYTES];
    int fd = cairn_io_open(path, O_RDONLY | O_NOCTTY, 0);
    ssize_t size_bytes;

    if (fd < 0)
        return refuse(path, -fd, err);
    size_bytes = fstat(fd, ret_info) < 0 ? -errno : cairn_io_pread(fd, magic, sizeof(magic), 0);
    cairn_io_close(&fd);
    if (size_bytes < 0)
        return refuse(path, (int)-size_bytes, err);
    *ret_recording =
        (size_t)size_bytes == sizeof(magic) && memcmp(magic, CAIRN_MAGIC, sizeof(magic)) == 0;
    return 0;
}

static int load_recording(const char *path, const struct cairn_settings *settings,
                          struct cairn_prof *prof, struct cairn_err *err)
{
    struct cairn_model *model;
    struct cairn_filter filter;
    struct cairn_tally tally;
    int code;

    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    CAIRN_TRY(cairn_model_load(&path, 1, &model, err));
    filter.threads_joined = true;
    code = cairn_tally_make(model, &filter, &tally, err);
    if (code == 0) {
        cairn_show_what_is_whole(&tally);
        if (tally.known)
            code = cairn_prof_rows(&tally, prof);
        else
            code = cairn_err_set(err, -CAIRN_EUSAGE, 0, "pstats", "the metric %s is not in %.300s",
                                 cairn_metric_name(filter.metric), path);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
    return code;
}

/* "Sun Nov 22 09:57:38 2026    a.prof": when it was written, and its name. */
static void put_head(const struct stat *info, const char *path, struct cairn_buf *out)
{
    char text[64];
    struct tm when;

    localtime_r(&info->st_mtime, &when);
    strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &when);
    cairn_buf_printf(out, "%s    %s", text, path);
}

static int load(const char *path, bool recording, const struct cairn_settings *settings,
                struct cairn_prof *prof, struct cairn_err *err)
{
    return recording ? load_recording(path, settings, prof, err) : cairn_prof_load(prof, path, err);
}

int cairn_pstats_prof(const char *path, const struct cairn_settings *settings,
                      struct cairn_prof *prof, bool *ret_recording, struct cairn_err *err)
{
    struct stat info;

    *err = (struct cairn_err){0};
    CAIRN_TRY(look(path, ret_recording, &info, err));
    return load(path, *ret_recording, settings, prof, err);
}

int cairn_pstats_file(const char *path, const struct cairn_settings *settings,
                      struct cairn_pstats *ret_stats, bool *ret_recording, struct cairn_err *err)
{
    struct cairn_prof prof;
    struct cairn_buf head;
    struct stat info;
    int code;

    *err = (struct cairn_err){0};
    CAIRN_TRY(look(path, ret_recording, &info, err));
    cairn_buf_init(&head, HEAD_MAX_BYTES);
    put_head(&info, path, &head);
    code = cairn_prof_init(&prof);
    if (code == 0)
        code = load(path, *ret_recording, settings, &prof, err);
    if (code == 0) {
        code = cairn_pstats_init(ret_stats, &prof, cairn_buf_cstr(&head));
        if (code < 0)
            cairn_pstats_release(ret_stats);
    }
    if (code < 0 && err->code == 0)
        cairn_err_set(err, code, 0, "pstats", "%.300s: %s", path, cairn_err_sentence(code));
    cairn_prof_release(&prof);
    cairn_buf_release(&head);
    return code;
}
